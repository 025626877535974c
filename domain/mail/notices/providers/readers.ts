/** Makes the reader of each configured provider (BNC-2). */
import type { Secret } from '../../../../platform/core/secret.ts';
import type { ReadNotice } from './adapter.ts';
import { readBrevoNotice } from './brevo.ts';
import { mailgunReader } from './mailgun.ts';
import { readPostmarkNotice } from './postmark.ts';
import { resendReader } from './resend.ts';
import { sendgridKeyIn, sendgridReader } from './sendgrid.ts';
import type { MailProvider } from './words.policy.ts';

interface ProviderSettings {
  providers: readonly MailProvider[];
  mailgunSigningKey: Secret | undefined;
  /** In base64. */
  sendgridVerificationKey: string | undefined;
  resendWebhookSecret: Secret | undefined;
}

/** @throws Error if a configured provider has no usable key, which the configuration already refuses */
export function noticeReaders(settings: ProviderSettings): Partial<Record<MailProvider, ReadNotice>> {
  const makers: Record<MailProvider, () => ReadNotice> = {
    postmark: () => readPostmarkNotice,
    brevo: () => readBrevoNotice,
    mailgun: () => mailgunReader(present(settings.mailgunSigningKey)),
    sendgrid: () => sendgridReader(present(sendgridKeyIn(settings.sendgridVerificationKey ?? ''))),
    resend: () => resendReader(present(settings.resendWebhookSecret)),
  };
  return Object.fromEntries(settings.providers.map((provider) => [provider, makers[provider]()]));
}

function present<T>(key: T | undefined): T {
  if (key === undefined) throw new Error('A configured mail provider has no usable key');
  return key;
}
