/** How long events of mails are accepted and kept (CAMP-17). */
const day = 86_400_000;

/** Visits are noted so long after a mail was sent, and notices so long after their event; each is removed after as long. */
export const noticedMs = 90 * day;
