/** Sends messages to an SMTP server, and reports the exact outcome, for e-mails that must not be sent twice. */
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { createTransport, type SendMailOptions } from 'nodemailer';
import Dkim from 'nodemailer/lib/dkim/index.js';
import MailComposer from 'nodemailer/lib/mail-composer/index.js';
import type { Secret } from '../../core/secret.ts';
import { smtpTimeLimits } from './smtp.ts';

export interface HandedMessage {
  /** Bounces go to this address. */
  envelopeFrom: string;
  from: { name: string; address: string };
  to: string;
  replyTo?: string;
  subject: string;
  text: string;
  html: string;
  messageId: string;
  /** The headers are not folded, because mail programs with one-click unsubscribe do not read folded headers. */
  headers: Readonly<Record<string, string>>;
  /** Without a key the message is not signed here. */
  signWith?: SigningKey;
}

export interface SigningKey {
  domain: string;
  /** The name of the key in the domain's DNS. */
  selector: string;
  /** In PEM. */
  privateKey: string;
}

export type HandOver =
  | { kind: 'accepted'; reply: string }
  /** A reply 5xx is permanent, and 4xx is temporary. A refusal before the message was announced is always temporary. */
  | { kind: 'refused'; permanent: boolean; reply: string }
  /** An error came before the last byte was written. */
  | { kind: 'not_sent'; reply: string }
  /** The connection failed after the last byte and before the answer. */
  | { kind: 'unknown' };

export interface SmtpHandOver {
  /** The number of messages that are sent at the same time. */
  connections: number;
  /** Runs the work when a connection is idle. It may make one `handOver`. */
  onConnection: <T>(work: () => Promise<T>) => Promise<T>;
  /** If no connection becomes idle in time, does nothing and returns undefined. */
  onConnectionWithin: <T>(limitMs: number, work: () => Promise<T>) => Promise<T | undefined>;
  handOver: (message: HandedMessage) => Promise<HandOver>;
  close(): void;
}

/**
 * The number of connections in one process. A distant server takes a tenth of a second for each message. So ten connections send 100
 * e-mails a second, the maximum
 * rate of a club. A killed worker leaves at most this many e-mails with an unknown outcome.
 */
export const campaignConnections = 10;

/** This limit is shorter than the lease of an e-mail (90 s). */
const messageLimitMs = 60_000;
const longestReply = 300;

/** @param settings only tests set `limit`; by default a message is aborted after a minute */
export function createSmtpHandOver({ smtpUrl, connections, limit }: HandOverSettings): SmtpHandOver {
  const transport = createTransport({
    url: smtpUrl.reveal(),
    pool: true,
    maxConnections: connections,
    maxRequeues: 0,
    ...smtpTimeLimits,
  });
  // The connection reads the message itself, not a copy. So the end of the message shows that all of it is written.
  transport.use('stream', (mail, callback) => {
    const { bytes, onWritten } = mail.data as Message;
    mail.message.createReadStream = () => Readable.from(inPieces(bytes)).once('end', onWritten);
    callback();
  });
  let idle = connections;
  const waiting = new Set<() => void>();
  const takeConnection = (limitMs?: number) => {
    if (idle > 0) {
      idle -= 1;
      return true;
    }
    return new Promise<boolean>((resolve) => {
      const timer = limitMs === undefined ? undefined : setTimeout(() => give(false), limitMs);
      const take = () => give(true);
      const give = (isIdle: boolean) => {
        clearTimeout(timer);
        waiting.delete(take);
        resolve(isIdle);
      };
      waiting.add(take);
    });
  };
  const giveConnectionOn = () => {
    const [next] = waiting; // the oldest waiter
    if (next) next();
    else idle += 1;
  };
  const working = async <T>(work: () => Promise<T>) => {
    try {
      return await work();
    } finally {
      giveConnectionOn();
    }
  };
  return {
    connections,
    async onConnection(work) {
      await takeConnection();
      return working(work);
    },
    async onConnectionWithin(limitMs, work) {
      return (await takeConnection(limitMs)) ? working(work) : undefined;
    },
    async handOver(message) {
      let isWritten = false;
      const onWritten = () => {
        isWritten = true;
      };
      // Without this signal, a message that was reported as not sent could still be sent later.
      const tooLate = new AbortController();
      let timer: NodeJS.Timeout | undefined;
      try {
        const bytes = await compose(message);
        timer = setTimeout(() => tooLate.abort(), messageLimitMs);
        const { response } = await transport.sendMail({
          envelope: { from: message.envelopeFrom, to: message.to },
          raw: bytes,
          bytes,
          onWritten,
          signal: limit ?? tooLate.signal,
        } as Message);
        return { kind: 'accepted', reply: withoutAddresses(response) };
      } catch (error) {
        const { responseCode, response, code = 'not_composed' } = error as SmtpError;
        if (responseCode === undefined) return isWritten ? { kind: 'unknown' } : { kind: 'not_sent', reply: code };
        const permanent = responseCode >= 500 && aboutMessage.has(code);
        return { kind: 'refused', permanent, reply: withoutAddresses(response ?? String(responseCode)) };
      } finally {
        clearTimeout(timer);
      }
    },
    close: () => transport.close(),
  };
}

interface HandOverSettings {
  smtpUrl: Secret;
  connections: number;
  limit?: AbortSignal;
}

interface SmtpError {
  responseCode?: number;
  response?: string;
  code?: string;
}

/**
 * In these errors of nodemailer the reply is about the envelope or the message, otherwise about the connection: its greeting, TLS or the
 * password.
 */
const aboutMessage: ReadonlySet<string> = new Set(['EENVELOPE', 'EMESSAGE']);

interface Message extends SendMailOptions {
  bytes: Buffer;
  /** The connection has read the whole message, so the last byte may have been sent. */
  onWritten: () => void;
}

/** Some providers replace Message-ID and Date. Without signed unsubscribe headers, mailbox providers show no unsubscribe button. */
const signedHeaders = [
  'From',
  'Reply-To',
  'Subject',
  'To',
  'MIME-Version',
  'Content-Type',
  'Content-Transfer-Encoding',
  'List-Id',
  'List-Unsubscribe',
  'List-Unsubscribe-Post',
  'Feedback-ID',
].join(':');

/** @throws Error if the key cannot sign: a message of the domain must not be sent without a signature */
async function signed(message: Buffer, { domain, selector, privateKey }: SigningKey): Promise<Buffer> {
  const keys = [{ domainName: domain, keySelector: selector, privateKey }];
  const whole = await buffer(new Dkim({ keys, headerFieldNames: signedHeaders }).sign(message));
  if (!whole.toString('latin1', 0, 15).startsWith('DKIM-Signature:'))
    throw new Error('The message could not be signed.');
  return whole;
}

async function compose(message: HandedMessage): Promise<Buffer> {
  const bytes = await composeUnsigned(message);
  return message.signWith === undefined ? bytes : signed(bytes, message.signWith);
}

function composeUnsigned({
  from,
  to,
  replyTo,
  subject,
  text,
  html,
  messageId,
  headers,
}: HandedMessage): Promise<Buffer> {
  return new MailComposer({
    from,
    to,
    subject,
    text,
    html,
    messageId,
    headers: Object.entries(headers).map(([key, value]) => ({ key, value: onOneLine(value) })) as never,
    ...(replyTo !== undefined && { replyTo }),
  })
    .compile()
    .build();
}

/** nodemailer does not fold a `prepared` header. Line breaks become blanks, so the value cannot begin another header. */
const onOneLine = (value: string) => ({ prepared: true, value: value.replaceAll(/[\r\n]+/g, ' ') });

const pieceBytes = 16_384;
function* inPieces(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
}

/** Removes addresses, because the reply may repeat the recipient's address. */
export const withoutAddresses = (reply: string) =>
  reply
    .replaceAll(/\S+/g, (word) => (word.slice(1, -1).includes('@') ? '<address>' : word))
    .replaceAll(/\s+/g, ' ')
    .slice(0, longestReply);
