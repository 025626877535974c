/** Sending over SMTP, on a few connections that stay open. */
import { createTransport } from 'nodemailer';
import type { Config } from '../config.ts';
import type { SendMail } from '../domain/mail/send.ts';

/** Shorter than the lease of a mail (60 s): connecting, greeting and each silence on the wire together stay below it. */
const timeLimitsMs = { connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 25_000 };

export interface SmtpSender {
  sendMail: SendMail;
  close(): void;
}

export function createSmtpSender({ smtpUrl, from }: Config['mail']): SmtpSender {
  const transport = createTransport({ url: smtpUrl.reveal(), pool: true, maxConnections: 4, ...timeLimitsMs });
  const domain = /@([^\s>]+)/.exec(from)?.[1] ?? 'localhost';
  return {
    async sendMail({ to, subject, text, html, messageKey }) {
      await transport.sendMail({ from, to, subject, text, html, messageId: `<${messageKey}@${domain}>` });
    },
    close: () => transport.close(),
  };
}
