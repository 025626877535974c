/** The retention time of mail events (CAMP-17). */
const day = 86_400_000;

/**
 * A visit is recorded up to this time after its mail was sent, and a notice up to this time after its event. Each record is removed
 * after the same time.
 */
export const eventRetentionMs = 90 * day;
