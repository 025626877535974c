/** The retention time of mail events (CAMP-17). */
const day = 86_400_000;

/**
 * A visit is recorded only within this time after its mail was sent. A notice is recorded only within this time after its event. Each
 * record is removed after the same time.
 */
export const eventRetentionMs = 90 * day;
