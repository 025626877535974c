/** Stores each message of the mailbox as a file, and as a JSON line in a log. */
import { EventEmitter } from 'node:events';
import { appendFileSync, readFileSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import PostalMime from 'postal-mime';

/** The sender and the recipients of the SMTP conversation. The headers can name others. */
export interface Envelope {
  readonly from: string;
  readonly to: readonly string[];
}

export interface Summary {
  readonly id: string;
  /** ISO 8601, UTC. */
  readonly received_at: string;
  /** The sender of the envelope. */
  readonly from: string;
  readonly to: readonly string[];
  readonly subject: string;
  /** Includes the angle brackets. */
  readonly message_id: string;
  /** In bytes, with the headers. */
  readonly size: number;
}

export interface Message extends Summary {
  readonly text: string;
  /** Absent if the message has only text. */
  readonly html?: string;
  /** Names are in lower case. If a header occurs several times, the last value counts. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface MessageFilter {
  /** Only messages to this address; case does not matter. */
  readonly to?: string;
}

export class MessageStore {
  readonly logFile: string;
  readonly #directory: string;
  readonly #summaries: Summary[];
  #last: number;
  readonly #arrivals = new EventEmitter().setMaxListeners(0);

  private constructor(directory: string, summaries: Summary[], logFile: string) {
    this.#directory = directory;
    this.#summaries = summaries;
    this.#last = summaries.length;
    this.logFile = logFile;
  }

  /** Also reads the messages that the directory already contains. */
  static async open(directory: string): Promise<MessageStore> {
    await mkdir(path.join(directory, 'sources'), { recursive: true });
    const logFile = path.join(directory, 'messages.jsonl');
    return new MessageStore(directory, readLog(logFile), logFile);
  }

  /** Resolves when the message is on the disk. */
  async add(envelope: Envelope, source: Buffer): Promise<void> {
    const mail = await PostalMime.parse(source);
    const summary: Summary = {
      id: `${Date.now()}-${++this.#last}`,
      received_at: new Date().toISOString(),
      from: envelope.from,
      to: envelope.to,
      subject: mail.subject ?? '',
      message_id: mail.messageId ?? '',
      size: source.length,
    };
    await writeFile(this.#sourceFile(summary.id), source);
    appendFileSync(this.logFile, `${JSON.stringify(summary)}\n`);
    this.#summaries.push(summary);
    this.#arrivals.emit('message', await this.read(summary.id));
  }

  /** Newest first. */
  summaries(filter: MessageFilter = {}): readonly Summary[] {
    const to = filter.to?.toLowerCase();
    return this.#summaries
      .filter((summary) => to === undefined || summary.to.some((address) => address.toLowerCase() === to))
      .toReversed();
  }

  find(id: string): Summary | undefined {
    return this.#summaries.find((summary) => summary.id === id);
  }

  /** @throws Error if there is no message with this id */
  async read(id: string): Promise<Message> {
    const summary = this.find(id);
    if (summary === undefined) throw new Error(`There is no message ${id}.`);
    const mail = await PostalMime.parse(await this.source(id));
    return {
      ...summary,
      text: mail.text ?? '',
      ...(mail.html === undefined ? {} : { html: mail.html }),
      headers: Object.fromEntries(mail.headers.map(({ key, value }) => [key, value])),
    };
  }

  /** Returns the unchanged source, with all headers. */
  source(id: string): Promise<Buffer> {
    return readFile(this.#sourceFile(id));
  }

  async waitFor(predicate: (message: Message) => boolean, timeoutMs: number): Promise<Message> {
    const arrivals = new AbortController();
    const arrival = new Promise<Message>((resolve, reject) => {
      const listener = (message: Message) => {
        if (predicate(message)) resolve(message);
      };
      this.#arrivals.on('message', listener);
      const timer = setTimeout(
        () => reject(new Error(`No such message within ${timeoutMs} ms; ${this.#summaries.length} others exist.`)),
        timeoutMs,
      );
      arrivals.signal.addEventListener('abort', () => {
        this.#arrivals.off('message', listener);
        clearTimeout(timer);
      });
    });
    arrival.catch(() => undefined);
    try {
      for (const { id } of this.summaries()) {
        const message = await this.read(id);
        if (predicate(message)) return message;
      }
      return await arrival;
    } finally {
      arrivals.abort();
    }
  }

  #sourceFile(id: string): string {
    return path.join(this.#directory, 'sources', `${id}.eml`);
  }
}

function readLog(file: string): Summary[] {
  try {
    const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
    return lines.map((line) => JSON.parse(line) as Summary);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  }
}
