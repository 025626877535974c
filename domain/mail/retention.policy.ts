/** The retention time of mail events (CAMP-17). */
const day = 86_400_000;

/**
 * The service keeps each record of a visit or a notice for this time. A visit that comes later than this time after its mail is not
 * recorded. A notice that comes later than this time after its event is not recorded.
 */
export const eventRetentionMs = 90 * day;
