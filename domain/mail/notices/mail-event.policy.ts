/** What a mail provider tells of one mail, and by what the mail is recognized (CAMP-15). Pure. */
import type { Id } from '../../../platform/core/ids.ts';

export const mailEventKinds = ['delivered', 'bounced', 'soft_bounced', 'complained'] as const;

export interface MailEvent {
  /** `bounced`: refused for good; `soft_bounced`: for now. */
  kind: (typeof mailEventKinds)[number];
  at: Date;
  /** From a tag or a header of ours; it counts more than the provider's id. */
  mailId: Id | undefined;
  /** The provider's own id, as it stood in the reply to the mail. */
  providerId: string | undefined;
}

/** Headers by which providers give a mail back to us: SES, which replaces the Message-ID, returns the first as a tag. */
export const identifyingHeaders = (mailId: Id): Readonly<Record<string, string>> => ({
  'X-SES-MESSAGE-TAGS': `mail_id=${mailId}`,
  'X-Club-Mail-Id': mailId,
});

/** A mail's id alone, or in front of the `@` of a Message-ID. */
const idPattern = /^\s*<?([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})(?:@[^<>\s]*>?)?\s*$/i;

/** @returns the id that the first of these texts holds */
export function mailIdIn(...texts: readonly (string | undefined)[]): Id | undefined {
  const found = texts.map((text) => idPattern.exec(text ?? '')?.[1]).find((id) => id !== undefined);
  return found?.toLowerCase();
}

/** What stands before the id at the end of a reply: SES says `250 Ok <id>`, Postfix `250 2.0.0 Ok: queued as <id>`. */
const beforeId = /\b(?:ok|queued as|id=)/gi;
const idAtEnd = /^[:\s]*(?:queued as\s+)?<?([\w.+-]{8,200})>?$/i;

/** @param reply of the mail server that has taken a mail @returns the provider's id for the mail, where the reply names one */
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
