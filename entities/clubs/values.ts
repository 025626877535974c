/** The values that columns of clubs and their members may hold. */

/** What a person may be in a club, from the one who may do everything down. */
export const roles = ['owner', 'admin', 'editor', 'support'] as const;
export type Role = (typeof roles)[number];

/** The languages that material is indexed in, as two-letter codes. */
export const languages = ['en', 'pt', 'es', 'fr', 'de', 'it'] as const;
export type Language = (typeof languages)[number];
