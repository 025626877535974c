/** The values that columns of accounts may hold. */

/** The openers of accounts. A purchase, an import or an invitation takes over a pending sign-up. */
export const accountOpeners = ['sign_up', 'club', 'sale'] as const;
export type AccountOpener = (typeof accountOpeners)[number];
