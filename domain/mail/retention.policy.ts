/** The retention time of mail events (CAMP-17). */
const day = 86_400_000;

/**
 * The service keeps each record of a visit or a notice for this time. If a mail was sent more than this time ago, the service does not
 * record a visit of the mail. If an event happened more than this time ago, the service does not record a notice of the event.
 */
export const eventRetentionMs = 90 * day;
