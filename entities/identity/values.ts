/** The values that columns of accounts may hold. */

/** The purposes of a one-time token. The first word names the kind of owner. */
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

/** The source of an account. A purchase, an import or an invitation takes a pending sign-up over. */
export const accountOpeners = ['sign_up', 'club', 'sale'] as const;
export type AccountOpener = (typeof accountOpeners)[number];
