/** The values that columns of community may hold. */

/** Who posts in a space: its members and the administrators, or the administrators alone. */
export const spacePostings = ['members', 'admins'] as const;
export type SpacePosting = (typeof spacePostings)[number];
