/** Makes the keys of mail providers, and the configuration with which the service accepts their notices. */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import {
  brevoNotice,
  mailgunNotice,
  postmarkNotice,
  resendNotice,
  resendSignature,
  sendgridNotice,
  sendgridSignature,
  type PostedNotice,
  type ReportedMail,
} from '../../../dev/clients/mail-providers.ts';
import type { MailProvider } from '../../../domain/mail/notices/providers/words.policy.ts';

export const noticeToken = 'a-token-of-the-operator';

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });

export const providerKeys = {
  mailgun: randomBytes(16).toString('hex'),
  sendgrid: privateKey,
  resend: `whsec_${randomBytes(24).toString('base64')}`,
};

export const providerSettings = {
  MAIL_NOTICE_TOKEN: noticeToken,
  MAIL_PROVIDERS: 'postmark,mailgun,sendgrid,resend,brevo',
  MAILGUN_SIGNING_KEY: providerKeys.mailgun,
  SENDGRID_VERIFICATION_KEY: publicKey.export({ format: 'der', type: 'spki' }).toString('base64'),
  RESEND_WEBHOOK_SECRET: providerKeys.resend,
};

/** @returns the notice of one mail's event, as the provider posts it now */
export function providerNoticeOf(provider: MailProvider, mail: ReportedMail, signedAt = new Date()): PostedNotice {
  const notices: Record<MailProvider, () => PostedNotice> = {
    postmark: () => postmarkNotice(mail),
    brevo: () => brevoNotice(mail),
    mailgun: () => mailgunNotice(mail, providerKeys.mailgun, { signedAt }),
    sendgrid: () => sendgridNotice([mail], providerKeys.sendgrid, signedAt),
    resend: () => resendNotice(mail, providerKeys.resend, { signedAt }),
  };
  return notices[provider]();
}

/** @returns the headers with which the provider signs this body now; none if the provider signs without headers */
export function signatureHeaders(provider: string, raw: string): Record<string, string> {
  if (provider === 'sendgrid') return sendgridSignature(raw, providerKeys.sendgrid);
  return provider === 'resend'
    ? resendSignature(raw, providerKeys.resend, { signedAt: new Date(), id: `msg_${randomBytes(8).toString('hex')}` })
    : {};
}
