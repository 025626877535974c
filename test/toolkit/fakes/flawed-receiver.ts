/** A receiver of webhooks that does everything right but one thing. The conformance checks must find this thing. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import http, { type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** The steps of a receiver. A flaw replaces one of them. */
interface Steps {
  largestBody: number;
  /** Milliseconds before each answer. */
  waitMs: number;
  /** The number of requests that are handled at the same time; the others get 503. */
  parallel: number;
  /** The answer to a false request. */
  refusal: number | 'cut';
  /** The whole answer, if no request is looked at. */
  fixed?: { readonly status: number; readonly location?: string; readonly clockMs?: number; readonly text?: string };
  isFresh: (secondsAhead: number) => boolean;
  /** The message is false if a header is absent. */
  needsHeaders: boolean;
  entries: (signatures: string) => readonly string[];
  signedBytes: (head: { id: string; timestamp: string }, body: Buffer) => string | Buffer;
  isEqual: (actual: Buffer, expected: Buffer) => boolean;
  accepts: (event: SentBody, known: ReadonlyMap<string, SentBody>) => number;
}

interface SentBody {
  readonly id: string;
  readonly type: string;
  readonly occurred_at: string;
  readonly data: { readonly student?: { readonly id: string } };
}

const toleranceSeconds = 300;
const rightSteps: Steps = {
  largestBody: 1_048_576,
  waitMs: 0,
  parallel: 1_000,
  refusal: 401,
  isFresh: (secondsAhead) => Math.abs(secondsAhead) <= toleranceSeconds,
  needsHeaders: true,
  entries: (signatures) => signatures.split(' '),
  signedBytes: ({ id, timestamp }, body) => Buffer.concat([Buffer.from(`${id}.${timestamp}.`), body]),
  isEqual: (actual, expected) => actual.length === expected.length && timingSafeEqual(actual, expected),
  accepts: () => 204,
};

const knownTypes = /^(?:student|access|purchase|subscription|lesson|course|certificate|webhook)\./;
const isSameStudent = (one: SentBody, other: SentBody): boolean =>
  one.data.student !== undefined && one.data.student.id === other.data.student?.id;

/** The flaws by name. Each is the step that replaces the right one. */
const flaws = {
  none: {},
  'refuses a known id': { accepts: ({ id }, known) => (known.has(id) ? 409 : 204) },
  'refuses an older event': {
    accepts: (event, known) =>
      [...known.values()].some((one) => isSameStudent(one, event) && one.occurred_at > event.occurred_at) ? 409 : 204,
  },
  'does not refuse types that it subscribed to, but fails at one': {
    accepts: ({ type }) => (type === 'course.completed' ? 500 : 204),
  },
  'does not look at the age': { isFresh: (secondsAhead) => secondsAhead <= toleranceSeconds },
  'does not look ahead': { isFresh: (secondsAhead) => secondsAhead >= -toleranceSeconds },
  'allows one minute': { isFresh: (secondsAhead) => Math.abs(secondsAhead) <= 60 },
  'reads one signature': {
    entries: (signatures) =>
      signatures
        .split(' ')
        .filter((entry) => entry.startsWith('v1,'))
        .slice(0, 1),
  },
  'refuses other versions': {
    entries: (signatures) => (signatures.includes('v1a,') ? [] : signatures.split(' ')),
  },
  'compares nothing': { isEqual: () => true },
  'takes a request without a signature': { needsHeaders: false },
  'trims the body': { signedBytes: ({ id, timestamp }, body) => `${id}.${timestamp}.${body.toString().trim()}` },
  'signs the id of the body': {
    signedBytes: ({ timestamp }, body) =>
      `${(JSON.parse(body.toString()) as SentBody).id}.${timestamp}.${body.toString()}`,
  },
  'prints the body again': {
    signedBytes: ({ id, timestamp }, body) => `${id}.${timestamp}.${JSON.stringify(JSON.parse(body.toString()))}`,
  },
  'takes 32 KiB': { largestBody: 32_768 },
  'reads the body as Latin-1': {
    signedBytes: ({ id, timestamp }, body) => `${id}.${timestamp}.${body.toString('latin1')}`,
  },
  'refuses unknown types': { accepts: ({ type }) => (knownTypes.test(type) ? 204 : 422) },
  'refuses unknown fields': { accepts: (event) => ('added_field' in event ? 422 : 204) },
  'handles one request at a time': { parallel: 1, waitMs: 5 },
  'answers after 60 ms': { waitMs: 60 },
  'crashes on a false request': { refusal: 500 },
  'cuts a false request': { refusal: 'cut' },
  'answers 410 to a false request': { refusal: 410 },
  'answers 200 to a false request': { refusal: 200 },
  redirects: { fixed: { status: 308, location: 'https://example.com/hooks' } },
  'refuses everything': { fixed: { status: 401 } },
  'is another page': { fixed: { status: 404 } },
  'has a wrong clock': { fixed: { status: 401, clockMs: -600_000 } },
  'prints control characters': { fixed: { status: 401, text: '\u001b[31mred\u0007' } },
} as const satisfies Readonly<Record<string, Partial<Steps>>>;

export type Flaw = keyof typeof flaws;

interface FlawedReceiver {
  readonly url: URL;
  /** The number of requests so far. */
  requests(): number;
  stop(): Promise<void>;
}

/** @param secret the secret of the endpoint, `whsec_…` */
export async function startFlawedReceiver(secret: string, flaw: Flaw): Promise<FlawedReceiver> {
  const steps: Steps = { ...rightSteps, ...flaws[flaw] };
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const known = new Map<string, SentBody>();
  let [running, requests] = [0, 0];

  const isGenuine = (headers: IncomingHttpHeaders, body: Buffer): boolean => {
    const [id, timestamp, signatures] = ['id', 'timestamp', 'signature'].map((name) => headers[`webhook-${name}`]);
    if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof signatures !== 'string')
      return !steps.needsHeaders;
    if (!steps.isFresh(Number(timestamp) - Date.now() / 1_000)) return false;
    const expected = createHmac('sha256', key).update(steps.signedBytes({ id, timestamp }, body)).digest();
    return steps
      .entries(signatures)
      .some((entry) => entry.startsWith('v1,') && steps.isEqual(Buffer.from(entry.slice(3), 'base64'), expected));
  };

  const statusFor = (headers: IncomingHttpHeaders, body: Buffer): number | 'cut' => {
    if (body.length > steps.largestBody) return 413;
    if (running > steps.parallel) return 503;
    if (!isGenuine(headers, body)) return steps.refusal;
    const event = JSON.parse(body.toString()) as SentBody;
    const status = steps.accepts(event, known);
    known.set(event.id, event);
    return status;
  };

  const server = http.createServer((request, response) => {
    running += 1;
    requests += 1;
    const answer = async (): Promise<void> => {
      const body = Buffer.concat((await request.toArray()) as Buffer[]);
      const status = steps.fixed ? steps.fixed.status : statusFor(request.headers, body);
      await sleep(steps.waitMs);
      if (status === 'cut') response.destroy();
      else respond(response, status, steps.fixed);
    };
    answer().then(
      () => (running -= 1),
      () => response.destroy(),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks?token=hidden`),
    requests: () => requests,
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

function respond(response: ServerResponse, status: number, fixed: Partial<Steps['fixed']> = {}): void {
  const { location, clockMs = 0, text = `{"status":${status}}` } = fixed;
  response.setHeader('date', new Date(Date.now() + clockMs).toUTCString());
  if (location !== undefined) response.setHeader('location', location);
  response.writeHead(status).end(status === 204 ? undefined : text);
}
