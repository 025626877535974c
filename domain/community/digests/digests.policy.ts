/** Defines when digests are sent, which posts are new, and how much text of a post a mail shows (COMM-17, COMM-18). */
const minute = 60_000;
const day = 24 * 60 * minute;

export const digestRules = {
  /** The minute of the club's local day at which digests begin. */
  minuteOfDay: 8 * 60,
  /** Posts of the last minute wait for the next digest, because their transactions may not be committed yet. */
  marginMs: minute,
  /** The maximum age of the posts in a digest. */
  lookBackMs: 7 * day,
  pageSize: 1_000,
  /** The maximum number of spaces in a mail, and of posts for each space. Further spaces and posts are only counted. */
  spaces: 10,
  posts: 5,
  /** New posts are counted exactly only up to this number. */
  counted: 100,
  /** The maximum number of graphemes of a post's excerpt. */
  excerpt: 280,
  /**
   * The time for which the rows of a digest are stored. For the same time, the service accepts a mail provider's events about the mails of
   * the digest (CAMP-14).
   */
  retentionMs: 90 * day,
} as const;
