/** Defines the mails about a person's own account, and about the keys of a club. */
import { sql } from '../../platform/infra/postgres/sql.ts';
import { aboutRecipient, type MailKind, type MailKinds } from '../mail/kinds.ts';

/**
 * A mail about a sign-in from a new device (SES-11). Its data is in the row of the mail, because the session may have ended meanwhile. A
 * student reads the time in the club's time zone.
 */
const aboutSignIn: MailKind = async (db, { clubId, device, network, createdAt }) => {
  const club = await db.one<{ timeZone: string }>(sql`SELECT time_zone AS "timeZone" FROM clubs WHERE id = ${clubId}`);
  return { signIn: { device, network, at: createdAt, timeZone: club?.timeZone ?? 'UTC' } };
};

export const accountMails = {
  student_verify_email: aboutRecipient,
  student_already_registered: aboutRecipient,
  student_invitation: aboutRecipient,
  student_reset_password: aboutRecipient,
  student_code: aboutRecipient,
  student_address_changed: aboutRecipient,
  student_password_changed: aboutRecipient,
  student_new_device: aboutSignIn,
  student_passkey_added: aboutRecipient,
  student_passkey_removed: aboutRecipient,
  administrator_verify_email: aboutRecipient,
  administrator_already_registered: aboutRecipient,
  administrator_reset_password: aboutRecipient,
  administrator_factor_added: aboutRecipient,
  administrator_factor_removed: aboutRecipient,
  administrator_recovery_code_used: aboutRecipient,
  administrator_recovery_codes_replaced: aboutRecipient,
  administrator_password_changed: aboutRecipient,
  administrator_new_device: aboutSignIn,
  administrator_identity_code: aboutRecipient,
  administrator_identity_joined: aboutRecipient,
  administrator_identity_removed: aboutRecipient,
  api_key_created: aboutRecipient,
} as const satisfies MailKinds;
