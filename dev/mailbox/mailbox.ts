/**
 * The mailbox of development and tests: a real SMTP server that stores every message and sends none on. People read the messages in a
 * browser, programs read them as JSON. A test can make it refuse messages.
 */
import type { AddressInfo } from 'node:net';
import { MessageStore, type Message, type MessageFilter, type Summary } from './messages.ts';
import { mailboxPages } from './pages.ts';
import { type Fault, mailboxSmtp } from './smtp.ts';
import { host } from '../stack/ports.ts';

export type { Fault, Message, MessageFilter, Summary };

export interface MailboxOptions {
  /** Stores the messages. A mailbox that starts here later has them, too. */
  readonly directory: string;
  /** A free port if absent or 0. */
  readonly smtpPort?: number;
  readonly httpPort?: number;
}

export interface Mailbox {
  /** For SMTP_URL. */
  readonly smtpUrl: string;
  /** The address of the pages. Programs use GET /api/messages?to= and GET /api/messages/{id}. */
  readonly httpUrl: string;
  /**
   * A file with a JSON line for every accepted message. The line is written before the sender gets its answer, so it shows if a message was
   * sent twice.
   */
  readonly logFile: string;
  /** Returns accepted messages without their bodies, the newest first. */
  summaries(filter?: MessageFilter): readonly Summary[];
  /** Returns accepted messages with their bodies. */
  messages(filter?: MessageFilter): Promise<readonly Message[]>;
  /** Resolves with the newest message that matches, as soon as there is one. @throws Error if no message matches within the time */
  waitFor(predicate: (message: Message) => boolean, timeoutMs: number): Promise<Message>;
  /** Makes the next conversations fail. Faults wait in a queue, and each is used `times` times (1 if absent). */
  failNext(fault: Fault): void;
  /** Removes all unused faults. */
  succeed(): void;
  stop(): Promise<void>;
}

/** Starts the mailbox in this process, on 127.0.0.1. */
export async function startMailbox(options: MailboxOptions): Promise<Mailbox> {
  const store = await MessageStore.open(options.directory);
  const smtp = mailboxSmtp((envelope, source) => store.add(envelope, source));
  const pages = mailboxPages(store);
  await new Promise<void>((resolve, reject) => {
    smtp.server.once('error', reject);
    smtp.server.listen(options.smtpPort ?? 0, host, () => resolve());
  });
  await new Promise<void>((resolve, reject) => {
    pages.once('error', reject);
    pages.listen(options.httpPort ?? 0, host, () => resolve());
  }).catch(async (error: unknown) => {
    await smtp.stop();
    throw error;
  });
  // The server listens now, so each later error is only a broken connection of a client.
  smtp.server.on('error', () => undefined);

  return {
    smtpUrl: `smtp://${host}:${(smtp.server.server.address() as AddressInfo).port}`,
    httpUrl: `http://${host}:${(pages.address() as AddressInfo).port}`,
    logFile: store.logFile,
    summaries: (filter) => store.summaries(filter),
    messages: (filter) => Promise.all(store.summaries(filter).map(({ id }) => store.read(id))),
    waitFor: (predicate, timeoutMs) => store.waitFor(predicate, timeoutMs),
    failNext: (fault) => smtp.faults.push({ ...fault, times: fault.times ?? 1 }),
    succeed: () => void smtp.faults.splice(0),
    async stop() {
      await smtp.stop();
      await new Promise<void>((resolve) => {
        pages.close(() => resolve());
        pages.closeAllConnections();
      });
    },
  };
}
