/** The values that columns of accounts may hold. */

/**
 * How an account can be opened. If a purchase, an import or an invitation names the address of a pending sign-up, the value of that account
 * changes.
 */
export const accountOpeners = ['sign_up', 'club', 'sale'] as const;
export type AccountOpener = (typeof accountOpeners)[number];
