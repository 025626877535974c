/** Reads the events that mail providers report, and finds out which mail an event is about (CAMP-15). The functions are pure. */
import type { Id } from '../../../platform/core/ids.ts';

export const mailEventKinds = ['delivered', 'bounced', 'soft_bounced', 'complained'] as const;

export interface MailEvent {
  /** `bounced`: refused permanently. `soft_bounced`: refused temporarily. */
  kind: (typeof mailEventKinds)[number];
  at: Date;
  /** The id in our tag or header. It has priority over the provider's id. */
  mailId: Id | undefined;
  /** The id in the mail server's reply when it accepted the mail. */
  providerId: string | undefined;
}

/** The id of a mail, alone or before the `@` of a Message-ID. */
const idPattern = /^\s*<?([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})(?:@[^<>\s]*>?)?\s*$/i;

/** @returns the first id in these texts */
export function mailIdIn(...texts: readonly (string | undefined)[]): Id | undefined {
  const mailId = texts.map((text) => idPattern.exec(text ?? '')?.[1]).find((id) => id !== undefined);
  return mailId?.toLowerCase();
}

/** The parts of a report that can name a mail. */
interface Names {
  /** The id in our own tag, header or address. */
  ownId: Id | undefined;
  messageId: string | undefined;
  providerId: string | undefined;
}

/**
 * Says which mail an event is about. Our own id alone decides if it is present: if it names no mail here, the event belongs to another
 * environment, whose other ids mean nothing here (BNC-4).
 */
export function namedMail({ ownId, messageId, providerId }: Names): Pick<MailEvent, 'mailId' | 'providerId'> {
  return ownId === undefined ? { mailId: mailIdIn(messageId), providerId } : { mailId: ownId, providerId: undefined };
}

/** The words before the id in a mail server's reply. SES replies `250 Ok <id>`, and Postfix replies `250 2.0.0 Ok: queued as <id>`. */
const beforeId = /\b(?:ok|queued as|id=)/gi;
const idAtEnd = /^[:\s]*(?:queued as\s+)?<?([\w.+-]{8,200})>?$/i;

/**
 * @param reply the mail server's reply after it accepted a mail
 * @returns the provider's id for the mail; undefined if the reply has none
 */
export function providerIdIn(reply: string): string | undefined {
  if (!/^250\b/.test(reply)) return undefined;
  const [firstLine = ''] = reply.split(/[\n\r\u2028\u2029]/, 1);
  const whole = reply.trimEnd();
  for (const { 0: words, index } of firstLine.matchAll(beforeId)) {
    const id = idAtEnd.exec(whole.slice(index + words.length))?.[1];
    if (id !== undefined) return id;
  }
  return undefined;
}
