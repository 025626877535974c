/** Defines the mails about a person's own account, and about the keys of a club. */
import { aboutRecipient, type MailKinds } from '../mail/kinds.ts';

export const accountMails = {
  student_verify_email: aboutRecipient,
  student_already_registered: aboutRecipient,
  student_invitation: aboutRecipient,
  student_reset_password: aboutRecipient,
  student_code: aboutRecipient,
  student_address_changed: aboutRecipient,
  administrator_verify_email: aboutRecipient,
  administrator_already_registered: aboutRecipient,
  administrator_reset_password: aboutRecipient,
  administrator_factor_added: aboutRecipient,
  administrator_factor_removed: aboutRecipient,
  administrator_recovery_code_used: aboutRecipient,
  administrator_recovery_codes_replaced: aboutRecipient,
  administrator_identity_code: aboutRecipient,
  administrator_identity_joined: aboutRecipient,
  administrator_identity_removed: aboutRecipient,
  api_key_created: aboutRecipient,
} as const satisfies MailKinds;
