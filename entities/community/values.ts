/** The values that columns of community may hold. */

/** The people who may post in a space: either members and administrators, or only administrators. */
export const spacePostings = ['members', 'admins'] as const;
export type SpacePosting = (typeof spacePostings)[number];

/**
 * `emptied`: the text was deleted, but other people have replied below it, so lists still show the row without text. `deleted`: no list
 * shows the row, but its id stays reserved.
 */
export const writingStates = ['published', 'emptied', 'deleted'] as const;
export type WritingState = (typeof writingStates)[number];

export const reactionKinds = ['like', 'love', 'celebrate', 'insightful', 'support', 'laugh'] as const;
export type ReactionKind = (typeof reactionKinds)[number];

/** The acts of administrators on posts and comments of other authors. The last four acts apply only to posts. */
export const moderationActions = ['hide', 'restore', 'delete', 'pin', 'unpin', 'lock', 'unlock'] as const;
export type ModerationAction = (typeof moderationActions)[number];

/** The outcomes of a report: an action against the reported post or comment, or no action. */
export const reportOutcomes = ['upheld', 'dismissed'] as const;
export type ReportOutcome = (typeof reportOutcomes)[number];
