/** The values that columns of clubs and their members may hold. */

/** The roles in a club. The first role has the most rights, and the last role has the fewest. */
export const roles = ['owner', 'admin', 'editor', 'support'] as const;
export type Role = (typeof roles)[number];

/** The languages whose rules the search in material supports, as two-letter codes. */
export const languages = ['en', 'pt', 'es', 'fr', 'de', 'it'] as const;

/** The BCP 47 tag of a club's language: one of these codes, or a language of the service (domain/language/languages.ts). */
export type Language = string;
