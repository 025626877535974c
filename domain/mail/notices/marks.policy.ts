/** Marks a mail with its id, so that the report of a provider or of a mail server names the mail (BNC-5). The functions are pure. */
import type { Id } from '../../../platform/core/ids.ts';
import { mailIdIn } from './mail-event.policy.ts';
import type { MailProvider } from './providers/words.policy.ts';

export interface MailMarks {
  /** The configured providers. Their headers are added to each bulk mail. */
  providers: readonly MailProvider[];
  /** The address to which mail servers send reports; undefined if reports go to the sender's address. */
  returnAddress: string | undefined;
}

/** The header that each provider returns in its notices. Resend returns the header `X-Club-Mail-Id` itself. */
const headersOf: Record<MailProvider, (mailId: Id) => Readonly<Record<string, string>>> = {
  postmark: (mailId) => ({ 'X-PM-Metadata-mail-id': mailId }),
  mailgun: (mailId) => ({ 'X-Mailgun-Variables': JSON.stringify({ mail_id: mailId }) }),
  sendgrid: (mailId) => ({ 'X-SMTPAPI': JSON.stringify({ unique_args: { mail_id: mailId } }) }),
  resend: () => ({}),
  brevo: (mailId) => ({ 'X-Mailin-custom': mailId }),
};

/** @returns the headers that identify a mail. SES replaces the Message-ID, and returns the first of these headers as a tag */
export function identifyingHeaders(mailId: Id, { providers }: MailMarks): Readonly<Record<string, string>> {
  return {
    'X-SES-MESSAGE-TAGS': `mail_id=${mailId}`,
    'X-Club-Mail-Id': mailId,
    ...Object.fromEntries(providers.flatMap((provider) => Object.entries(headersOf[provider](mailId)))),
  };
}

/**
 * @param fromAddress used if no address for reports is configured
 * @returns the sender of the envelope: `bounces+<mail id>@example.com` for the address `bounces@example.com`
 */
export function envelopeSenderOf(mailId: Id, { returnAddress }: MailMarks, fromAddress: string): string {
  const at = returnAddress?.lastIndexOf('@') ?? -1;
  if (returnAddress === undefined || at === -1) return fromAddress;
  return `${returnAddress.slice(0, at)}+${mailId}${returnAddress.slice(at)}`;
}

/** @param address an address from {@link envelopeSenderOf} @returns the id of the mail; undefined for any other address */
export function mailIdOfAddress(address: string): Id | undefined {
  const plus = address.lastIndexOf('+');
  return plus === -1 ? undefined : mailIdIn(address.slice(plus + 1));
}
