/** The values that columns of accounts may hold. */

/**
 * The ways in which an account can be opened. A purchase, an import or an invitation that names the address of a pending sign-up takes the
 * sign-up over.
 */
export const accountOpeners = ['sign_up', 'club', 'sale'] as const;
export type AccountOpener = (typeof accountOpeners)[number];
