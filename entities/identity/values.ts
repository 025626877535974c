/** The values that columns of accounts may hold. */

/**
 * How an account can be opened. If a purchase, an import or an invitation names the address of a pending sign-up, the value of that account
 * changes.
 */
export const accountOpeners = ['sign_up', 'club', 'sale'] as const;
export type AccountOpener = (typeof accountOpeners)[number];

/** How a session was opened: by a password, a mailed token or code, an identity provider, a passkey, or a link of the club's own site. */
export const sessionOpeners = ['password', 'mail', 'provider', 'passkey', 'link'] as const;
export type SessionOpener = (typeof sessionOpeners)[number];

/** The kinds of second factors. Recovery codes are no factor of their own, because they only replace a lost one. */
export const factorKinds = ['totp', 'passkey'] as const;
export type FactorKind = (typeof factorKinds)[number];
/** The statuses of a code that is sent to a telephone number. */
export const phoneCodeStatuses = ['pending', 'sent', 'failed', 'canceled'] as const;
export type PhoneCodeStatus = (typeof phoneCodeStatuses)[number];
