/** When digests go out, what is new in one, and how much of it is shown (COMM-17, COMM-18). */
const minute = 60_000;
const day = 24 * 60 * minute;

export const digestRules = {
  /** Minute of the club's local day. */
  minuteOfDay: 8 * 60,
  /** Posts of the last minute wait for the next digest: a transaction that is in progress cannot be missed. */
  marginMs: minute,
  /** No post is told that is older. */
  lookBackMs: 7 * day,
  /** Members that a page looks at. */
  pageSize: 1_000,
  /** Spaces of a mail, and posts of a space in it. The rest is counted. */
  spaces: 10,
  posts: 5,
  /** New posts of a space are counted up to here. */
  counted: 100,
  /** Graphemes of a post's words that are shown. */
  excerpt: 280,
  /** For so long rows of a digest are kept, as notices of its mails are accepted (CAMP-14). */
  keptMs: 90 * day,
} as const;
