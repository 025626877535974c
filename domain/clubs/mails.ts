/** The mail that invites a person to administer a club. The token of the mail is deleted together with the invitation. */
import { aboutRecipient, type MailKinds } from '../mail/kinds.ts';

export const clubMails = { administrator_invitation: aboutRecipient } as const satisfies MailKinds;
