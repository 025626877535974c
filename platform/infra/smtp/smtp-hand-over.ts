/** Sends messages to an SMTP server, and reports the exact outcome of each message. It is for e-mails that must not be sent twice. */
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { createTransport, type SendMailOptions } from 'nodemailer';
import Dkim from 'nodemailer/lib/dkim/index.js';
import MailComposer from 'nodemailer/lib/mail-composer/index.js';
import type { Secret } from '../../core/secret.ts';
import { smtpTimeLimits } from './smtp.ts';

export interface HandedMessage {
  /** The sender's address in the envelope, to which bounces go. */
  envelopeFrom: string;
  from: { name: string; address: string };
  to: string;
  replyTo?: string;
  subject: string;
  text: string;
  html: string;
  messageId: string;
  /** Further headers. Each header stays on one line, because mail programs that offer one-click unsubscribe do not read folded headers. */
  headers: Readonly<Record<string, string>>;
  /** The DKIM key of the sender's domain; without a key the message is not signed here. */
  signWith?: SigningKey;
}

/** A key for DKIM signatures (RSA). */
export interface SigningKey {
  domain: string;
  /** The name of the key in the domain's DNS. */
  selector: string;
  /** In PEM. */
  privateKey: string;
}

/** The outcome of a message. */
export type HandOver =
  /** The server has accepted the message. */
  | { kind: 'accepted'; reply: string }
  /**
   * The server has refused the message. A reply 5xx is permanent, and a reply 4xx is temporary. A refusal before the message was announced
   * is always temporary.
   */
  | { kind: 'refused'; permanent: boolean; reply: string }
  /** The message did not reach the server: an error came before its last byte was written. */
  | { kind: 'not_sent'; reply: string }
  /** The connection failed after the last byte and before the answer, so the outcome is unknown. */
  | { kind: 'unknown' };

export interface SmtpHandOver {
  /** The number of connections. It is also the maximum number of messages that are sent at the same time. */
  connections: number;
  /** Runs the work when a connection is idle, and reserves the connection for it. The work may make one `handOver`. */
  onConnection: <T>(work: () => Promise<T>) => Promise<T>;
  /** Works like `onConnection`, but if no connection becomes idle in time, it does nothing and returns undefined. */
  onConnectionWithin: <T>(limitMs: number, work: () => Promise<T>) => Promise<T | undefined>;
  handOver: (message: HandedMessage) => Promise<HandOver>;
  close(): void;
}

/**
 * The connections for campaigns in one process. A distant server takes a tenth of a second for each message. So ten connections send 100
 * e-mails a second, which is the maximum rate of a club. A killed worker leaves at most this many e-mails with an unknown outcome.
 */
export const campaignConnections = 10;

/** The time limit of a whole message, however slow the server is. It is shorter than the lease of an e-mail (90 s). */
const messageLimitMs = 60_000;
/** The maximum number of characters of a server's reply that are stored. */
const longestReply = 300;

/**
 * @param settings the settings. Only tests set `limit`, a signal that aborts each message. Without `limit`, a message is aborted after a
 * minute
 */
export function createSmtpHandOver({ smtpUrl, connections, limit }: HandOverSettings): SmtpHandOver {
  const transport = createTransport({
    url: smtpUrl.reveal(),
    pool: true,
    maxConnections: connections,
    maxRequeues: 0,
    ...smtpTimeLimits,
  });
  // The connection reads the message itself, not a copy that is buffered in advance. So the end of the message shows that the connection
  // has written all of it.
  transport.use('stream', (mail, callback) => {
    const { bytes, onWritten } = mail.data as Message;
    mail.message.createReadStream = () => Readable.from(inPieces(bytes)).once('end', onWritten);
    callback();
  });
  let idle = connections;
  const waiting = new Set<() => void>();
  /** @returns whether the caller has got a connection */
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
      // Closes the connection to abort the message. Otherwise a message that was reported as not sent could still be sent later.
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
 * The codes of nodemailer's errors that contain a reply about the envelope or the message. A reply in any other error is about the
 * connection: its greeting, TLS or the password.
 */
const aboutMessage: ReadonlySet<string> = new Set(['EENVELOPE', 'EMESSAGE']);

interface Message extends SendMailOptions {
  bytes: Buffer;
  /** A function that is called when the connection has read the whole message. From then on, the last byte may have been sent. */
  onWritten: () => void;
}

/**
 * Message-ID and Date are not signed, because some providers replace them. The unsubscribe headers are signed, because mailbox providers
 * otherwise show no unsubscribe button.
 */
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

/** @throws Error, when the key cannot sign. A message of the domain must not be sent without a signature */
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

/**
 * Returns a header that stays on one line, because nodemailer does not fold a `prepared` header. Line breaks in the value become blanks, so
 * the value cannot begin another header.
 */
const onOneLine = (value: string) => ({ prepared: true, value: value.replaceAll(/[\r\n]+/g, ' ') });

const pieceBytes = 16_384;
function* inPieces(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
}

/** Removes addresses from a server's reply, because the reply may repeat the recipient's address. */
export const withoutAddresses = (reply: string) =>
  reply
    .replaceAll(/\S+/g, (word) => (word.slice(1, -1).includes('@') ? '<address>' : word))
    .replaceAll(/\s+/g, ' ')
    .slice(0, longestReply);
