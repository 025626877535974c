/** The values that columns of accounts may hold. */

/** The purposes of one-time tokens. The first word names the kind of owner. */
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

/** The openers of accounts. A purchase, an import or an invitation takes over a pending sign-up. */
export const accountOpeners = ['sign_up', 'club', 'sale'] as const;
export type AccountOpener = (typeof accountOpeners)[number];
