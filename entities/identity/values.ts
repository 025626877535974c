/** The values that columns of accounts may hold. */

/** The source of an account. A purchase, an import or an invitation takes a pending sign-up over. */
export const accountOpeners = ['sign_up', 'club', 'sale'] as const;
export type AccountOpener = (typeof accountOpeners)[number];
