/** The ceiling: a pooled nodemailer loop that sends the same message to so many addresses, and does nothing else. */
import { createTransport } from 'nodemailer';
import { smtpTimeLimits } from '../../platform/infra/smtp.ts';
import type { HandedMessage } from '../../platform/infra/smtp-hand-over.ts';
import { connections } from './scene.ts';

export async function sendBare(smtpUrl: string, message: HandedMessage, count: number): Promise<void> {
  const transport = createTransport({ url: smtpUrl, pool: true, maxConnections: connections, ...smtpTimeLimits });
  const { envelopeFrom, from, subject, text, html, headers } = message;
  let left = count;
  const lane = async () => {
    while (left-- > 0) {
      const to = `${left}-00000000-0000-0000-0000@example.com`;
      const messageId = `<${left}@example.com>`;
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
