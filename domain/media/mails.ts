/** Defines the mail about videos that expire. It links to the library, and names no video. */
import { aboutRecipient, type MailKinds } from '../mail/kinds.ts';

export const mediaMails = { media_expiring: aboutRecipient } as const satisfies MailKinds;
