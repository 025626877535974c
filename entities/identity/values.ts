/** The values that columns of accounts may hold. */

/**
 * The ways in which an account can be opened. If a purchase, an import or an invitation names the address of a pending sign-up, it becomes
 * the way in which this account was opened.
 */
export const accountOpeners = ['sign_up', 'club', 'sale'] as const;
export type AccountOpener = (typeof accountOpeners)[number];
