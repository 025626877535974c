/** The values that columns of clubs and their members may hold. */

/** What a person may be in a club, from the one who may do everything down. */
export const roles = ['owner', 'admin', 'editor', 'support'] as const;
export type Role = (typeof roles)[number];

/** The languages whose rules a search in material knows, as two-letter codes. */
export const languages = ['en', 'pt', 'es', 'fr', 'de', 'it'] as const;

/** BCP 47 tag of a club's language: one of these, or one that the service speaks (domain/language/languages.ts). */
export type Language = string;
