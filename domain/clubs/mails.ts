/** The mail that invites somebody to administer a club. Its token is its invitation: an accepted or withdrawn one has none. */
import { aboutRecipient, type MailKinds } from '../mail/kinds.ts';

export const clubMails = { administrator_invitation: aboutRecipient } as const satisfies MailKinds;
