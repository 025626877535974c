/** Handing messages over to an SMTP server, with an exact answer of what became of each: for mail that must not go out twice. */
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { createTransport, type SendMailOptions } from 'nodemailer';
import Dkim from 'nodemailer/lib/dkim/index.js';
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
  /** Further headers, each on one line: programs that unsubscribe in one click read no folded ones. */
  headers: Readonly<Record<string, string>>;
  /** The key of the sender's domain; without one the message is not signed here. */
  signWith?: SigningKey;
}

/** A key for DKIM signatures (RSA). */
export interface SigningKey {
  domain: string;
  /** Its name in the domain's DNS. */
  selector: string;
  /** In PEM. */
  privateKey: string;
}

/** What became of a message. */
export type HandOver =
  /** The server has taken it over. */
  | { kind: 'accepted'; reply: string }
  /** The server has said no: to this message for good (5xx), or for now (4xx, and every refusal before the message was announced). */
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
  /** As `onConnection`; where no connection becomes idle in time, it does nothing and answers undefined. */
  onConnectionWithin: <T>(limitMs: number, work: () => Promise<T>) => Promise<T | undefined>;
  handOver: (message: HandedMessage) => Promise<HandOver>;
  close(): void;
}

/**
 * Connections for campaigns, in one process. A server far away takes a tenth of a second for a message: ten of them carry the 100 a
 * second that a club may send. A worker that is killed leaves as many mails unknown at most.
 */
export const campaignConnections = 10;

/** For a whole message, however slowly the server takes it: shorter than the lease of a mail (90 s). */
const messageLimitMs = 60_000;
/** A server's answer is kept so long at most. */
const longestReply = 300;

/** @param settings `limit`: ends what is handed over; unless a test does, each message is ended after a minute */
export function createSmtpHandOver({ smtpUrl, connections, limit }: HandOverSettings): SmtpHandOver {
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
  let idle = connections;
  const waiting = new Set<() => void>();
  /** @returns whether the caller has a connection now */
  const takeConnection = (limitMs?: number) => {
    if (idle > 0) {
      idle -= 1;
      return true;
    }
    return new Promise<boolean>((resolve) => {
      const timer = limitMs === undefined ? undefined : setTimeout(() => give(false), limitMs);
      const take = () => give(true);
      const give = (taken: boolean) => {
        clearTimeout(timer);
        waiting.delete(take);
        resolve(taken);
      };
      waiting.add(take);
    });
  };
  const giveConnectionOn = () => {
    const [next] = waiting; // the one that waits the longest
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
      // Closes the connection, and so cuts the message off: none goes on after it was said not to be sent.
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

/** Errors of nodemailer with a reply to the envelope or the message. Any other reply is to the connection: greeting, TLS, password. */
const aboutMessage: ReadonlySet<string> = new Set(['EENVELOPE', 'EMESSAGE']);

interface Message extends SendMailOptions {
  bytes: Buffer;
  /** Called when the connection has taken all of it, so that its end may be on its way. */
  onWritten: () => void;
}

/**
 * Not among them: Message-ID and Date, which some providers write anew. The headers of the way out are: else mailbox providers do
 * not offer it.
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

/** @throws Error where the key cannot sign: a message of the domain must not go out without its signature */
async function signed(message: Buffer, { domain, selector, privateKey }: SigningKey): Promise<Buffer> {
  const keys = [{ domainName: domain, keySelector: selector, privateKey }];
  const whole = await buffer(new Dkim({ keys, headerFieldNames: signedHeaders }).sign(message));
  if (!whole.toString('latin1', 0, 15).startsWith('DKIM-Signature:')) throw new Error('A message was not signed.');
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

/** `prepared`: not folded, and so without a way to begin a header of its own. */
const onOneLine = (value: string) => ({ prepared: true, value: value.replaceAll(/[\r\n]+/g, ' ') });

const pieceBytes = 16_384;
function* inPieces(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
}

/** A server's words may repeat whom the message was for. */
export const withoutAddresses = (reply: string) =>
  reply
    .replaceAll(/\S+/g, (word) => (word.slice(1, -1).includes('@') ? '<address>' : word))
    .replaceAll(/\s+/g, ' ')
    .slice(0, longestReply);
