/** Sends e-mails over SMTP, on a few connections that stay open. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createTransport } from 'nodemailer';
import { icalendarOf, type CalendarEvent } from '../../core/time/calendar.policy.ts';
import type { Secret } from '../../core/secret.ts';
import { describeError } from '../describe-error.ts';

/** The time limits for connecting, for the greeting, and for each silence. */
export const smtpTimeLimits = { connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 25_000 };
/** The e-mail's row in Postgres schedules the next try. */
const maxRequeues = 0;

export const smtpConnections = 4;
/** This limit is shorter than the lease of an e-mail (60 s). */
const messageLimitMs = 45_000;

export interface SmtpSettings {
  smtpUrl: Secret;
  /** `Name <address>`. */
  from: string;
}

export interface SmtpMessage {
  to: string;
  subject: string;
  text: string;
  html: string;
  /** The local part of the Message-ID. */
  messageKey: string;
  /** If absent, replies go to the sender's address. */
  replyTo?: string;
  calendar?: CalendarEvent;
}

export interface SmtpSender {
  /** Rejects with an error that names the reply code. */
  sendMail: (message: SmtpMessage) => Promise<void>;
  close(): void;
}

/** @param from `Name <address>`, or only an address @returns the address */
export function addressIn(from: string): string {
  return /<([^<>]+)>\s*$/.exec(from)?.[1] ?? from.trim();
}

export function createSmtpSender({ smtpUrl, from }: SmtpSettings): SmtpSender {
  const pool = { pool: true, maxConnections: smtpConnections, maxRequeues, ...smtpTimeLimits } as const;
  const open = () => createTransport({ url: smtpUrl.reveal(), ...pool });
  let transport = open();
  const sender = addressIn(from);
  const domain = sender.split('@')[1] ?? 'localhost';
  return {
    async sendMail({ to, subject, text, html, messageKey, replyTo, calendar }) {
      const icalEvent = calendar && {
        method: calendar.method,
        filename: 'session.ics',
        content: icalendarOf(calendar, sender, to),
      };
      const messageId = `<${messageKey}@${domain}>`;
      const own = transport;
      try {
        await Promise.race([
          own.sendMail({
            from,
            to,
            subject,
            text,
            html,
            messageId,
            ...(replyTo !== undefined && { replyTo }),
            ...(icalEvent && { icalEvent }),
          }),
          tooSlow(),
        ]);
      } catch (error) {
        // The connection is still busy with the message. A slow server must not block the whole pool.
        if (error instanceof TooSlow && transport === own) {
          transport = open();
          own.close();
        }
        throw error;
      }
    },
    close: () => transport.close(),
  };
}

class TooSlow extends Error {
  readonly code = 'ETIMEDOUT';
}

async function tooSlow(): Promise<never> {
  await sleep(messageLimitMs, undefined, { ref: false });
  throw new TooSlow('The SMTP server is too slow');
}

/**
 * Signs in if the address contains a user. Sends no message.
 * @returns a mistake and its remedy
 */
export async function smtpMistakes(smtpUrl: Secret, variable: string): Promise<string[]> {
  const transport = createTransport({ url: smtpUrl.reveal(), ...smtpTimeLimits });
  try {
    await transport.verify();
    return [];
  } catch (error) {
    const { code, name } = describeError(error);
    return [
      code?.startsWith('EAUTH')
        ? `The mail server refuses the user and password of ${variable} (${code}): correct them.`
        : `The mail server of ${variable} cannot be used (${code ?? name}): is the address right, and TLS (smtps:// speaks it from the first byte)?`,
    ];
  } finally {
    transport.close();
  }
}
