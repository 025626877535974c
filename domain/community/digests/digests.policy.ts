/** The rules of digests: when they are sent, which posts are new, and how much text of a post a mail shows (COMM-17, COMM-18). */
const minute = 60_000;
const day = 24 * 60 * minute;

export const digestRules = {
  /** The minute of the club's local day at which digests begin. */
  minuteOfDay: 8 * 60,
  /** Posts of the last minute wait for the next digest, so that a post in an uncommitted transaction is not missed. */
  marginMs: minute,
  /** The maximum age of a post in a digest. */
  lookBackMs: 7 * day,
  /** The number of members of one page. */
  pageSize: 1_000,
  /** The maximum number of spaces of a mail, and of posts of a space. Further spaces and posts are only counted. */
  spaces: 10,
  posts: 5,
  /** The highest number of new posts in a space that is counted exactly. */
  counted: 100,
  /** The maximum number of graphemes of a post's excerpt. */
  excerpt: 280,
  /** The time for which a digest's rows are stored. Provider events about its mails are accepted for the same time (CAMP-14). */
  retentionMs: 90 * day,
} as const;
