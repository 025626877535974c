/** The values that columns of accounts may hold. */

/** Who opened an account, or stands for it since: a purchase, an import and an invitation take a pending sign-up over. */
export const accountOpeners = ['sign_up', 'club', 'sale'] as const;
export type AccountOpener = (typeof accountOpeners)[number];
