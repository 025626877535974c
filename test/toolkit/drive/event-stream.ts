/**
 * A client of event streams. An independent parser reads the body while the body arrives. The client checks each event against the
 * contract.
 */
import { request, type IncomingMessage } from 'node:http';
import { expect } from 'chai';
import { createParser } from 'eventsource-parser';
import { someAddress } from './api.ts';
import { recordFaults } from '../assert/contract-schemas.ts';

// oxlint-disable-next-line typescript/no-explicit-any -- tests read fields of events whose shape the contract has just confirmed
type Received = { event: string; data: any };

export interface EventClient {
  status: number;
  headers: IncomingMessage['headers'];
  events: readonly Received[];
  comments: readonly string[];
  raw(): string;
  text(): string;
  /** @returns the event @throws Error if the stream ends, or if 15 s pass */
  event(name: string): Promise<Received>;
  textOf(length: number, timeoutMs?: number): Promise<string>;
  ended: Promise<'whole' | 'cut'>;
  pause(): void;
  resume(): void;
  /** Closes the connection. */
  close(): void;
}

interface StreamCall {
  base: string;
  method: 'GET' | 'POST';
  path: string;
  token: string;
  body?: unknown;
}

const open = new Set<IncomingMessage>();

/** Closes the connections of all streams, like clients that disconnect. */
export function closeStreams(): void {
  for (const response of open) response.destroy();
}

/** @returns the client of the stream, as soon as the headers have arrived */
export async function openStream({ base, method, path, token, body }: StreamCall): Promise<EventClient> {
  const payload = body === undefined ? undefined : JSON.stringify(body);
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const clientRequest = request(`${base}${path}`, {
      method,
      agent: false,
      headers: {
        authorization: `Bearer ${token}`,
        'x-forwarded-for': someAddress(),
        'accept-encoding': 'gzip, br',
        ...(payload !== undefined && { 'content-type': 'application/json' }),
      },
    });
    clientRequest.on('response', resolve).on('error', reject);
    clientRequest.end(payload);
  });
  return follow(response);
}

function follow(response: IncomingMessage): EventClient {
  const events: Received[] = [];
  const comments: string[] = [];
  const chunks: string[] = [];
  const texts: string[] = [];
  let length = 0;
  let isOver = false;
  let changed = Promise.withResolvers<void>();
  const tell = () => {
    changed.resolve();
    changed = Promise.withResolvers();
  };
  const parser = createParser({
    onEvent({ event = '', data }) {
      const received: Received = { event, data: JSON.parse(data) };
      events.push(received);
      if (event !== 'delta') return;
      texts.push(received.data.text);
      length += Array.from(received.data.text as string).length;
    },
    onComment: (comment) => comments.push(comment),
    onError(error) {
      throw error;
    },
  });
  open.add(response);
  response.setEncoding('utf8');
  response.on('data', (chunk: string) => {
    chunks.push(chunk);
    parser.feed(chunk);
    tell();
  });
  const raw = () => chunks.join('');
  const ended = new Promise<'whole' | 'cut'>((resolve) => {
    response.on('error', () => {});
    response.on('close', () => {
      isOver = true;
      open.delete(response);
      tell();
      resolve(response.complete ? 'whole' : 'cut');
    });
  });

  async function waitFor<T>(what: string, look: () => T | undefined, timeoutMs = 15_000): Promise<T> {
    const deadline = AbortSignal.timeout(timeoutMs);
    const late = new Promise<void>((resolve) => deadline.addEventListener('abort', () => resolve()));
    for (;;) {
      const found = look();
      if (found !== undefined) return found;
      if (isOver || deadline.aborted)
        throw new Error(`The stream ${isOver ? 'has ended' : 'is silent'} without ${what}: ${raw().slice(-500)}`);
      await Promise.race([changed.promise, late]);
    }
  }

  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    get events() {
      for (const received of events) expect(recordFaults('AgentStreamEvent', received)).to.deep.equal([]);
      return events;
    },
    comments,
    raw,
    text: () => texts.join(''),
    event: (name) => waitFor(`the event ${name}`, () => events.find(({ event }) => event === name)),
    textOf: (characters, timeoutMs) =>
      waitFor(`${characters} characters`, () => (length >= characters ? texts.join('') : undefined), timeoutMs),
    ended,
    pause: () => void response.pause(),
    resume: () => void response.resume(),
    close: () => void response.destroy(),
  };
}
