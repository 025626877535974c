/** Defines the mail that invites a person to administer a club. When the invitation is deleted, the token of its mail is deleted too. */
import { aboutRecipient, type MailKinds } from '../mail/kinds.ts';

export const clubMails = { administrator_invitation: aboutRecipient } as const satisfies MailKinds;
