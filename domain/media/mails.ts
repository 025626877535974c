/** The mail about videos that expire. It leads to the library, and names none of them. */
import { aboutRecipient, type MailKinds } from '../mail/kinds.ts';

export const mediaMails = { media_expiring: aboutRecipient } as const satisfies MailKinds;
