/** The ceiling of a campaign: a loop with a nodemailer pool that only sends one message to `count` addresses. */
import { createTransport } from 'nodemailer';
import { smtpTimeLimits } from '../../platform/infra/smtp/smtp.ts';
import type { HandedMessage } from '../../platform/infra/smtp/smtp-hand-over.ts';
import { connections } from './scene.ts';

export async function sendBare(smtpUrl: string, message: HandedMessage, count: number): Promise<void> {
  const transport = createTransport({ url: smtpUrl, pool: true, maxConnections: connections, ...smtpTimeLimits });
  const { envelopeFrom, from, subject, text, html, headers } = message;
  let remaining = count;
  const lane = async () => {
    while (remaining-- > 0) {
      const to = `${remaining}-00000000-0000-0000-0000@example.com`;
      const messageId = `<${remaining}@example.com>`;
      await transport.sendMail({
        envelope: { from: envelopeFrom, to },
        from,
        to,
        subject,
        text,
        html,
        headers,
        messageId,
      });
    }
  };
  await Promise.all(Array.from({ length: connections }, lane));
  transport.close();
}
