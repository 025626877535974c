/** The mail that invites a person to administer a club. The token goes with its invitation. */
import { aboutRecipient, type MailKinds } from '../mail/kinds.ts';

export const clubMails = { administrator_invitation: aboutRecipient } as const satisfies MailKinds;
