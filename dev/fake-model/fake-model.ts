/**
 * A small server with the model's Messages API as a stream, for development and tests. Its answer comes from the search results in the
 * request (fake-model/librarian.ts), or from a script (fake-model/script.ts). It records its requests, listens only on this machine, and
 * accepts any API key except `invalid`.
 */
import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { control } from './control.ts';
import { eventsOf, type StreamEvent } from './events.ts';
import { answerOf } from './librarian.ts';
import { errorBody, errorTypes, Refusal, type RefusalStatus } from './refusals.ts';
import { questionOf, readRequest, type ModelRequest } from './request.ts';
import type { Rule, Script } from './script.ts';
import { SeenRequest } from './seen.ts';
import { sendEvents } from './stream.ts';
import { PromptCache } from './usage.ts';
import { host } from '../stack/ports.ts';

export type { Rule, Script } from './script.ts';
export { steadyMs, type SeenRequest } from './seen.ts';
export { nothingFits } from './librarian.ts';

export interface FakeModelOptions {
  /** A free port if absent. */
  readonly port?: number;
  /** The pause between two deltas if no script sets one; 0 if absent. */
  readonly delayMs?: number;
}

export interface FakeModel {
  /** For ANTHROPIC_BASE_URL. */
  readonly url: string;
  /** The oldest first, with the refused requests. */
  readonly requests: readonly SeenRequest[];
  /** Queues one script for each of the next requests. A script from {@link FakeModel.rule} goes before the queue. */
  next(...scripts: readonly Script[]): void;
  /** Sets a function that chooses the script of each request; undefined removes it. */
  rule(rule: Rule | undefined): void;
  /** Resolves with the first `count` requests when they have arrived. @throws Error if they have not arrived within the time */
  waitFor(count: number, timeoutMs: number): Promise<readonly SeenRequest[]>;
  /** All connections that were opened. */
  connections(): number;
  /** Requests whose client closed the connection before the end of the answer. */
  closedByClient(): number;
  /** Removes the recorded requests, the scripts, the rule and the cache. */
  reset(): void;
  stop(): Promise<void>;
}

const largestBody = 32 * 1024 * 1024;

/** Starts the fake model on 127.0.0.1. */
export async function startFakeModel({ port = 0, delayMs = 0 }: FakeModelOptions = {}): Promise<FakeModel> {
  const requests: SeenRequest[] = [];
  const queue: Script[] = [];
  const cache = new PromptCache();
  const arrivals = new EventEmitter().setMaxListeners(0);
  let rule: Rule | undefined;

  /** @throws Refusal */
  async function answer(record: SeenRequest, tooLarge: boolean, response: ServerResponse): Promise<void> {
    if (tooLarge) throw new Refusal(413, 'Request exceeds the maximum allowed number of bytes.');
    checkHeaders(record.headers);
    const request = readRequest(record.body);
    const script: Script = { delayMs, ...(rule?.(request, questionOf(request)) ?? queue.shift()) };
    if (script.beginAfterMs !== undefined) await sleep(script.beginAfterMs);
    if (script.neverAnswer) return;
    if (script.drop) {
      record.outcome = 'cut';
      response.destroy();
      return;
    }
    if (script.refuse !== undefined) {
      if (script.retryAfterS !== undefined) response.setHeader('retry-after', String(script.retryAfterS));
      throw new Refusal(script.refuse, `Refused by a script: ${errorTypes[script.refuse]}`);
    }
    const events = answerEvents(request, script, record.id, cache);
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' });
    response.flushHeaders();
    await sendEvents(response, events, script, record);
  }

  async function handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(incoming.url ?? '/', 'http://model').pathname;
    const { text, tooLarge } = await bodyOf(incoming);
    if (path === '/readyz') return void response.end();
    if (path.startsWith('/control')) return control(model, `${incoming.method} ${path}`, text, response);
    const id = `req_${crypto.randomUUID().replaceAll('-', '')}`;
    response.setHeader('request-id', id);
    if (path !== '/v1/messages' || incoming.method !== 'POST') return refuse(response, 404, 'Not found', id);
    const record = new SeenRequest(requests.length + 1, id, headersOf(incoming), jsonOf(text));
    requests.push(record);
    arrivals.emit('request');
    response.on('close', () => {
      if (record.outcome === 'open') record.outcome = 'closed_by_client';
      arrivals.emit('request');
    });
    try {
      await answer(record, tooLarge, response);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      record.outcome = 'refused';
      refuse(response, error.status, error.message, id);
    }
  }

  const server = createServer((incoming, response) => {
    handle(incoming, response).catch((error: unknown) => response.destroy(error as Error));
  });
  let connections = 0;
  server.on('connection', () => void connections++);
  server.listen(port, host);
  await once(server, 'listening');

  const model: FakeModel = {
    url: `http://${host}:${(server.address() as AddressInfo).port}`,
    requests,
    next: (...scripts) => void queue.push(...scripts),
    rule: (newRule) => void (rule = newRule),
    async waitFor(count, timeoutMs) {
      const signal = AbortSignal.timeout(timeoutMs);
      while (requests.length < count) {
        await once(arrivals, 'request', { signal }).catch(() => {
          throw new Error(`${requests.length} of ${count} requests arrived within ${timeoutMs} ms.`);
        });
      }
      return requests.slice(0, count);
    },
    connections: () => connections,
    closedByClient: () => requests.filter(({ outcome }) => outcome === 'closed_by_client').length,
    reset() {
      requests.length = 0;
      queue.length = 0;
      rule = undefined;
      cache.clear();
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return model;
}

function answerEvents(request: ModelRequest, script: Script, id: string, cache: PromptCache): StreamEvent[] {
  const deltas = script.answer ?? (script.recite && recited(id, script.recite));
  const answer = script.blocks ?? (deltas && [{ deltas }]) ?? answerOf(request);
  return eventsOf(id.replace('req_', 'msg_'), request, cache.use(request, Date.now()), answer, script.stopReason);
}

/** Contains the id of the answer and a number, so that all deltas differ. */
function recited(id: string, { deltas, characters }: NonNullable<Script['recite']>): string[] {
  return Array.from({ length: deltas }, (_, index) => `${index} ${id} `.padEnd(characters, '.').slice(0, characters));
}

/** @throws Refusal 401 or 400 */
function checkHeaders(headers: SeenRequest['headers']): void {
  // The current SDK sends a bearer token; simple callers send the header.
  const key = headers['x-api-key'] ?? headers['authorization']?.replace(/^Bearer /, '');
  if (!key) throw new Refusal(401, 'x-api-key header is required');
  if (key === 'invalid') throw new Refusal(401, 'invalid x-api-key');
  if (!headers['anthropic-version']) throw new Refusal(400, 'anthropic-version: header is required');
  if (!headers['content-type']?.startsWith('application/json'))
    throw new Refusal(400, 'content-type: must be application/json');
}

function refuse(response: ServerResponse, status: RefusalStatus, message: string, id: string): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(errorBody(errorTypes[status], message, id)));
}

/** Reads the whole body, even if it is too large: a client reads no answer while it still sends. */
async function bodyOf(incoming: IncomingMessage): Promise<{ text: string; tooLarge: boolean }> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= largestBody) chunks.push(chunk);
  }
  return { text: size > largestBody ? '' : Buffer.concat(chunks).toString('utf8'), tooLarge: size > largestBody };
}

function headersOf({ headers }: IncomingMessage): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
