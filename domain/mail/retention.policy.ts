/** The retention time of mail events (CAMP-17). */
const day = 86_400_000;

/**
 * The service keeps each record of a visit or a notice for this time. If a visit happens later than this time after its mail was sent, the
 * service does not record the visit. If a notice arrives later than this time after its event, the service does not record the notice.
 */
export const eventRetentionMs = 90 * day;
