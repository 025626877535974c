/** The retention time of mail events (CAMP-17). */
const day = 86_400_000;

/**
 * Records of visits and notices are kept for this time. A visit so long after its mail, or a notice so long after its event, is not
 * recorded.
 */
export const eventRetentionMs = 90 * day;
