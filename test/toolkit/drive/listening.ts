/** A client of the stream of a club's events. An independent parser reads the stream, and each event is checked against the contract. */
import { expect } from 'chai';
import { createParser } from 'eventsource-parser';
import type { ErrorCode } from '../../../platform/core/error-codes.ts';
import { recordFaults } from '../assert/contract-schemas.ts';
import { someAddress, testApi } from './api.ts';
import { until } from './until.ts';

interface Heard {
  event: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests read fields of events whose shape the contract has just confirmed
  data: any;
}

export interface ListeningClient {
  status: number;
  /** The code of the refusal, if the status is not 200. */
  refusal: ErrorCode | undefined;
  /** All events so far, with `started`. */
  heard: readonly Heard[];
  /** The ids of the club's events so far. */
  ids(): string[];
  /** The last `id` line so far. */
  lastId(): string | undefined;
  /** The body so far. */
  raw(): string;
  /** Waits until this many events of the club were heard. */
  untilHeard(count: number): Promise<void>;
  /** Resolves when the connection is closed. */
  ended: Promise<void>;
  close(): Promise<void>;
}

interface ListenCall {
  token: string;
  query?: string;
  lastEventId?: string | undefined;
  base?: string;
  ip?: string;
}

/** Opens a stream. @returns when `started` has arrived, or when the stream is refused */
export async function listenTo(
  clubId: string,
  { token, query = '', lastEventId, base, ip = someAddress() }: ListenCall,
): Promise<ListeningClient> {
  const address = base ?? `http://127.0.0.1:${(await testApi()).port}`;
  const closing = new AbortController();
  const response = await fetch(`${address}/v1/clubs/${clubId}/webhook-events/stream${query}`, {
    headers: {
      authorization: `Bearer ${token}`,
      'x-forwarded-for': ip,
      ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
    },
    signal: closing.signal,
  });
  const heard: Heard[] = [];
  let raw = '';
  let lastId: string | undefined;
  let over = false;
  const parser = createParser({
    onEvent({ event = '', data }) {
      const one: Heard = { event, data: JSON.parse(data) };
      expect(recordFaults('WebhookStreamEvent', one)).to.deep.equal([]);
      heard.push(one);
    },
    onError(error) {
      throw error;
    },
  });
  async function read(): Promise<void> {
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) {
      const text = decoder.decode(chunk, { stream: true });
      raw += text;
      parser.feed(text);
      for (const [, id] of text.matchAll(/^id: (.*)$/gm)) lastId = id;
    }
  }
  const isStream = response.status === 200;
  const body = isStream ? undefined : ((await response.json()) as { error?: { code: ErrorCode } });
  const ended = (isStream ? read().catch(() => undefined) : Promise.resolve()).then(() => {
    over = true;
  });
  const ids = () =>
    heard.flatMap(({ event, data }) => (event === 'started' || event === 'gap' ? [] : [(data as { id: string }).id]));
  const client: ListeningClient = {
    status: response.status,
    refusal: body?.error?.code,
    heard,
    ids,
    lastId: () => lastId,
    raw: () => raw,
    async untilHeard(count) {
      await until(`${count} events`, { timeoutMs: 15_000 }, async () => {
        if (over && ids().length < count) throw new Error(`The stream has ended after ${ids().length} events`);
        return ids().length >= count;
      });
    },
    ended,
    async close() {
      closing.abort();
      await ended;
    },
  };
  if (isStream) await until('the beginning of the stream', { timeoutMs: 15_000 }, async () => heard.length > 0 || over);
  return client;
}
