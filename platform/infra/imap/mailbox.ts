/** Opens a folder of an IMAP server. The server may be slow or broken, so every answer has a limit of time and of size. */
import { ImapFlow } from 'imapflow';
import type { Secret } from '../../core/secret.ts';

export interface Mailbox {
  /** If it changes, the server has numbered the messages again. */
  validity: string;
  /** @returns at most `limit` UIDs above `uid`, the lowest first */
  uidsAbove(uid: number, limit: number): Promise<number[]>;
  /**
   * Reads a message without marking it as read.
   * @returns its first bytes; undefined if it is gone, or if the server can never read it
   */
  read(uid: number, mostBytes: number): Promise<Buffer | undefined>;
  delete(uid: number): Promise<void>;
}

export interface MailboxAddress {
  /** `imaps://user:password@host:port/folder`, or `imap://` for STARTTLS. */
  url: Secret;
  /** A further certificate authority, in PEM. */
  extraCa?: string | undefined;
}

/** The server could not be reached, refused the login, or did not answer in time. The message has no words of the server. */
export class MailboxUnreachable extends Error {
  readonly code = 'mailbox_unreachable';

  constructor(cause: unknown) {
    const { code } = cause as { code?: unknown };
    super(`The mailbox of reports could not be used${typeof code === 'string' ? ` (${code})` : ''}`);
    this.name = 'MailboxUnreachable';
  }
}

const [connectMs, answerMs] = [10_000, 20_000];
/** A search in a folder with 100,000 messages answers with 700 KB. */
const mostAnswerBytes = 2_097_152;

/** A server on this machine needs no TLS, but uses it if it can. */
const isLoopback = (host: string) => /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(host);

/** The codes of RFC 5530, and of some servers, for refusals that pass. */
const passing: ReadonlySet<string> = new Set(['UNAVAILABLE', 'INUSE', 'LIMIT', 'THROTTLED', 'CONTACTADMIN']);

/**
 * A server refuses a message that is damaged in its store, each time. Such a message must not hold up the messages after it.
 * @throws the error, unless the server has refused this message
 */
function noMessageIfRefused(error: unknown): false {
  const { responseStatus, response } = error as {
    responseStatus?: unknown;
    response?: { attributes?: readonly { section?: readonly { value?: unknown }[] }[] };
  };
  const code = String(response?.attributes?.[0]?.section?.[0]?.value).toUpperCase();
  if (responseStatus === 'NO' && !passing.has(code)) return false;
  throw error;
}

/**
 * Runs the work with the opened folder, and closes the connection afterwards.
 * @param signal closes the connection
 * @throws MailboxUnreachable; the errors of the work
 */
export async function withMailbox<T>(
  { url: secretUrl, extraCa }: MailboxAddress,
  signal: AbortSignal,
  work: (mailbox: Mailbox) => Promise<T>,
): Promise<T> {
  const url = new URL(secretUrl.reveal());
  const secure = url.protocol === 'imaps:';
  const client = new ImapFlow({
    host: url.hostname.replaceAll(/[[\]]/g, ''),
    port: url.port === '' ? (secure ? 993 : 143) : Number(url.port),
    secure,
    ...(!secure && !isLoopback(url.hostname) && { doSTARTTLS: true }),
    auth: { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) },
    logger: false,
    disableAutoIdle: true,
    connectionTimeout: connectMs,
    greetingTimeout: connectMs,
    socketTimeout: answerMs,
    maxLineLength: mostAnswerBytes,
    maxLiteralSize: mostAnswerBytes,
    maxResponseSize: 2 * mostAnswerBytes,
    ...(extraCa !== undefined && { tls: { ca: extraCa } }),
  });
  client.on('error', () => {}); // the pending command also fails
  const close = () => client.close();
  signal.addEventListener('abort', close, { once: true });
  const request = async <A>(command: () => Promise<A>): Promise<A> => {
    try {
      signal.throwIfAborted();
      return await command();
    } catch (error) {
      throw new MailboxUnreachable(error);
    }
  };
  try {
    const folder = decodeURIComponent(url.pathname.slice(1)) || 'INBOX';
    const validity = await request(async () => {
      await client.connect();
      const { uidValidity } = await client.mailboxOpen(folder);
      return String(uidValidity);
    });
    return await work({
      validity,
      uidsAbove: (uid, limit) =>
        request(async () => {
          const found = (await client.search({ uid: `${uid + 1}:*` }, { uid: true })) || [];
          // If no UID is higher, `*` still means the last message.
          return found
            .filter((one) => one > uid)
            .toSorted((one, other) => one - other)
            .slice(0, limit);
        }),
      read: (uid, mostBytes) =>
        request(async () => {
          const query = { source: { start: 0, maxLength: mostBytes } };
          const message = await client.fetchOne(String(uid), query, { uid: true }).catch(noMessageIfRefused);
          return message === false ? undefined : message.source?.subarray(0, mostBytes);
        }),
      delete: (uid) => request(async () => void (await client.messageDelete(String(uid), { uid: true }))),
    });
  } finally {
    signal.removeEventListener('abort', close);
    client.close();
  }
}
