/** What a person may be in a club, from the one who may do everything down. */
export const roles = ['owner', 'admin', 'editor', 'support'] as const;
export type Role = (typeof roles)[number];
