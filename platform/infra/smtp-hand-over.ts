/** Handing messages over to an SMTP server, with an exact answer of what became of each: for mail that must not go out twice. */
import { Readable } from 'node:stream';
import { createTransport, type SendMailOptions } from 'nodemailer';
import MailComposer from 'nodemailer/lib/mail-composer/index.js';
import type { Secret } from '../core/secret.ts';
import { smtpTimeLimits } from './smtp.ts';

export interface HandedMessage {
  /** The address of the sender in the envelope, to which bounces go. */
  envelopeFrom: string;
  from: { name: string; address: string };
  to: string;
  replyTo?: string;
  subject: string;
  text: string;
  html: string;
  messageId: string;
  /** Further headers, each on one line. */
  headers: Readonly<Record<string, string>>;
}

/** What became of a message. */
export type HandOver =
  /** The server has taken it over. */
  | { kind: 'accepted'; reply: string }
  /** The server has said no: for good (5xx), or for now (4xx). */
  | { kind: 'refused'; permanent: boolean; reply: string }
  /** It did not reach the server: something failed before its last byte was written. */
  | { kind: 'not_sent'; reply: string }
  /** The connection failed after the last byte and before the answer: nobody knows. */
  | { kind: 'unknown' };

export interface SmtpHandOver {
  /** Connections, and so messages that are handed over at a time. */
  connections: number;
  /** Does the work as soon as a connection is idle, and keeps it for that: one `handOver` may be made meanwhile. */
  onConnection: <T>(work: () => Promise<T>) => Promise<T>;
  handOver: (message: HandedMessage) => Promise<HandOver>;
  close(): void;
}

/** For a whole message, however slowly the server takes it: shorter than the lease of a mail (90 s). */
const messageLimitMs = 60_000;
/** A server's answer is kept so long at most. */
const longestReply = 300;

export function createSmtpHandOver({ smtpUrl, connections }: { smtpUrl: Secret; connections: number }): SmtpHandOver {
  const open = () => {
    const transport = createTransport({
      url: smtpUrl.reveal(),
      pool: true,
      maxConnections: connections,
      maxRequeues: 0,
      ...smtpTimeLimits,
    });
    // The connection gets the message itself, not a copy that fills up beforehand: so its end tells what was written.
    transport.use('stream', (mail, done) => {
      const { bytes, onWritten } = mail.data as Message;
      mail.message.createReadStream = () => Readable.from(inPieces(bytes)).once('end', onWritten);
      done();
    });
    return transport;
  };
  let transport = open();
  let idle = connections;
  const waiting: (() => void)[] = [];
  return {
    connections,
    async onConnection(work) {
      if (idle > 0) idle -= 1;
      else await new Promise<void>((resolve) => waiting.push(resolve));
      try {
        return await work();
      } finally {
        const next = waiting.shift();
        if (next) next();
        else idle += 1;
      }
    },
    async handOver(message) {
      const bytes = await compose(message);
      let isWritten = false;
      const onWritten = () => {
        isWritten = true;
      };
      const own = transport;
      const limit = timeLimit();
      try {
        const { response } = await Promise.race([
          own.sendMail({
            envelope: { from: message.envelopeFrom, to: message.to },
            raw: bytes,
            bytes,
            onWritten,
          } as Message),
          limit.reached,
        ]);
        return { kind: 'accepted', reply: withoutAddresses(response) };
      } catch (error) {
        const { responseCode, response, code } = error as { responseCode?: number; response?: string; code?: string };
        // The connection is still busy with the message: a server that goes on like that must not use the pool up.
        if (error instanceof TooSlow && transport === own) {
          transport = open();
          own.close();
        }
        if (responseCode !== undefined)
          return {
            kind: 'refused',
            permanent: responseCode >= 500,
            reply: withoutAddresses(response ?? String(responseCode)),
          };
        return isWritten ? { kind: 'unknown' } : { kind: 'not_sent', reply: code ?? 'ECONNECTION' };
      } finally {
        limit.clear();
      }
    },
    close: () => transport.close(),
  };
}

interface Message extends SendMailOptions {
  bytes: Buffer;
  /** Called when the connection has taken all of it, so that its end may be on its way. */
  onWritten: () => void;
}

function compose({ from, to, replyTo, subject, text, html, messageId, headers }: HandedMessage): Promise<Buffer> {
  return new MailComposer({
    from,
    to,
    subject,
    text,
    html,
    messageId,
    headers,
    ...(replyTo !== undefined && { replyTo }),
  })
    .compile()
    .build();
}

const pieceBytes = 16_384;
function* inPieces(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
}

/** A server's words may repeat whom the message was for. */
const withoutAddresses = (reply: string) =>
  reply
    .replaceAll(/\S+@\S+/g, '<address>')
    .replaceAll(/\s+/g, ' ')
    .slice(0, longestReply);

class TooSlow extends Error {}

function timeLimit(): { reached: Promise<never>; clear: () => void } {
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => undefined);
  const timer = setTimeout(() => reject(new TooSlow('The SMTP server is too slow')), messageLimitMs);
  return { reached: promise, clear: () => clearTimeout(timer) };
}
