/** The values that columns of community may hold. */

/** Who posts in a space: its members and the administrators, or the administrators alone. */
export const spacePostings = ['members', 'admins'] as const;
export type SpacePosting = (typeof spacePostings)[number];

/** `emptied`: deleted, but others have written below it, so it stays without words. `deleted`: gone from every list; its id stays taken. */
export const writingStates = ['published', 'emptied', 'deleted'] as const;
export type WritingState = (typeof writingStates)[number];

export const reactionKinds = ['like', 'love', 'celebrate', 'insightful', 'support', 'laugh'] as const;
export type ReactionKind = (typeof reactionKinds)[number];

/** What administrators do to posts and comments of others; the last four to posts alone. */
export const moderationActions = ['hide', 'restore', 'delete', 'pin', 'unpin', 'lock', 'unlock'] as const;
export type ModerationAction = (typeof moderationActions)[number];

/** How a report ended: something was done about what it reports, or nothing. */
export const reportOutcomes = ['upheld', 'dismissed'] as const;
export type ReportOutcome = (typeof reportOutcomes)[number];
