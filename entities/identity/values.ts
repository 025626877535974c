/** The values that columns of accounts may hold. */

/** What a one-time token lets its bearer do; its first word says whose it is. */
export const tokenPurposes = [
  'student_verify_email',
  'student_invitation',
  'student_reset_password',
  'student_code',
  'student_sign_up_again',
  'administrator_verify_email',
  'administrator_reset_password',
  'administrator_sign_up_again',
  'administrator_invitation',
] as const;
export type TokenPurpose = (typeof tokenPurposes)[number];

/** Who opened an account, or stands for it since: a purchase, an import and an invitation take a pending sign-up over. */
export const accountOpeners = ['sign_up', 'club', 'sale'] as const;
export type AccountOpener = (typeof accountOpeners)[number];
