/** The real API of the test run, on the real stack, with a clock that tests can move. Each call checks the answer against the contract. */
import { expect } from 'chai';
import { startApi, type RunningApi } from '../../../api/server.ts';
import { readConfig, type Config } from '../../../config.ts';
import { compileValidators, contractOperations } from '../../../contract/contract.ts';
import type { ErrorCode } from '../../../platform/core/error-codes.ts';
import { errorStatus } from '../../../platform/core/error-codes.ts';
import { afterEveryTest, atEndOfFile } from '../../run/lifecycle.ts';
import { testDatabase } from '../stack/database.ts';

export interface Answer {
  status: number;
  /** Parsed JSON; undefined for an empty body. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests read fields of answers whose shape the contract has just confirmed
  body: any;
  text: string;
  bytes: Buffer;
  headers: Headers;
}

export interface Call {
  token?: string | undefined;
  body?: unknown;
  /** A body that is sent unchanged instead of a JSON body. */
  raw?: string | Uint8Array | ReadableStream;
  headers?: Record<string, string>;
  /** The address of the caller; by default each call has a different address. */
  ip?: string;
}

/** The API's clock: real time plus the test's shifts. */
class TestClock {
  #aheadMs = 0;
  now = (): Date => new Date(Date.now() + this.#aheadMs);
  advance(ms: number): void {
    this.#aheadMs += ms;
  }
  reset(): void {
    this.#aheadMs = 0;
  }
}

export const clock = new TestClock();
afterEveryTest(() => clock.reset());

let running: Promise<RunningApi> | undefined;

/** @param overrides further environment variables */
export async function testConfig(overrides: Record<string, string> = {}): Promise<Config> {
  await testDatabase();
  return readConfig({
    ...process.env,
    API_PORT: '0',
    API_METRICS_PORT: '0',
    FILES_PORT: '0',
    WORKER_PORT: '0',
    ANSWER_TICK_MS: '0', // only steady-answer.test.ts waits; all other tests do not wait
    LOG_LEVEL: 'silent',
    EGRESS_ALLOWED_NETWORKS: '', // as in production: the stack's setting would allow receivers on this machine
    TRUSTED_PROXIES: '127.0.0.0/8',
    CORS_ORIGINS: 'https://dashboard.example.com',
    SUBTITLES_COMMAND: 'speech {input} {output} {language}', // requests are accepted, but no worker runs the command in these tests
    ANTHROPIC_API_KEY: 'key-of-nobody', // questions are accepted, but no worker asks the model in these tests
    PHONE_CODE_URL: 'https://sms.example.com/', // requests are accepted, but no worker sends codes in these tests
    PHONE_CODE_SECRET: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
    PHONE_CODES_PER_DAY: '100000',
    ...overrides,
  });
}

/** Starts the API at first use. The API stops at the end of the test file. */
export function testApi(): Promise<RunningApi> {
  running ??= start();
  return running;
}

/**
 * The time limit in which the rate limiter counts a call. Even a busy machine needs less time. If the limit were shorter, the API could
 * accept a call without counting it, or refuse the call.
 */
export const counterDeadlineMs = 20_000;

async function start(): Promise<RunningApi> {
  const api = await startApi(await testConfig(), {
    clock: clock.now,
    readinessGraceMs: 0,
    completionWatchMs: 0,
    counterDeadlineMs,
    onSecondTransaction: (operationId) => {
      throw new Error(
        `${operationId} began a second transaction: use one transaction, or name the operation in api/middleware/commits.ts`,
      );
    },
  });
  atEndOfFile(async () => {
    running = undefined;
    await api.stop();
  });
  return api;
}

/** Calls the API of the run. The contract must allow the answer for this operation. */
export async function call(method: string, path: string, options: Call = {}): Promise<Answer> {
  const { port } = await testApi();
  return callAt(`http://127.0.0.1:${port}`, method, path, options);
}

/** @param onAnswer a function that is called with the answer, before the answer is checked against the contract */
export async function callAt(
  base: string,
  method: string,
  path: string,
  options: Call = {},
  onAnswer: () => void = () => {},
): Promise<Answer> {
  const payload = options.raw ?? (options.body === undefined ? undefined : JSON.stringify(options.body));
  const response = await fetch(base + path, {
    method,
    redirect: 'manual',
    headers: {
      'x-forwarded-for': options.ip ?? someAddress(),
      ...(payload !== undefined && { 'content-type': 'application/json' }),
      ...(options.token !== undefined && { authorization: `Bearer ${options.token}` }),
      ...options.headers,
    },
    ...(payload !== undefined && { body: payload as never, duplex: 'half' as const }),
  });
  const isEndless = /\/webhook-events\/stream(\?|$)/.test(path) && response.status === 200;
  const bytes = isEndless ? await beginningOf(response) : Buffer.from(await response.arrayBuffer());
  onAnswer();
  const text = new TextDecoder().decode(bytes);
  const body: unknown =
    text !== '' && /json/.test(response.headers.get('content-type') ?? '') ? JSON.parse(text) : text || undefined;
  const [type] = (response.headers.get('content-type') ?? 'application/json').split(';');
  holdAgainstContract(method, path, response.status, body, type);
  return { status: response.status, body, text, bytes, headers: response.headers };
}

/** Reads the first block of a stream that does not end, and closes the connection. */
async function beginningOf(response: Response): Promise<Buffer> {
  let text = '';
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk;
    if (text.includes('\n\n')) break;
  }
  return Buffer.from(text);
}

/** The members of an error object besides code and message. */
const furtherMembers: Readonly<Partial<Record<ErrorCode, readonly string[]>>> = {
  identity_not_joined: ['join_token'],
  last_owner: ['club_ids'],
  second_factor_required: ['challenge'],
};

export function expectError(answer: Answer, code: ErrorCode): void {
  expect(answer.body, `expected ${code}`).to.have.nested.property('error.code', code);
  expect(answer.status).to.equal(errorStatus[code]);
  expect(Object.keys(answer.body)).to.deep.equal(['error']);
  const more = furtherMembers[code] ?? [];
  expect(Object.keys(answer.body.error)).to.deep.equal(['code', 'message', ...more]);
}

/** These headers differ in two answers to the same request. */
const ofRequest: ReadonlySet<string> = new Set(['date', 'x-request-id', 'ratelimit']);

/**
 * Returns the parts of an answer that a caller can see, except the request id, the time and the remaining calls of a key. If these parts of two answers are equal, a
 * caller cannot distinguish the answers.
 */
export function visible({ status, text, headers }: Answer): string {
  const fields = [...headers].filter(([name]) => !ofRequest.has(name));
  return JSON.stringify([status, text, fields]);
}

const contract = contractOperations().map((operation) => ({
  operation,
  shape: operation.path.replaceAll(/\{\w+\}/g, '{}'),
  pattern: new RegExp(`^${operation.path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
  validators: compileValidators(operation),
}));

function holdAgainstContract(method: string, path: string, status: number, body: unknown, type?: string): void {
  const [pathname = ''] = path.split('?');
  // If two paths match, such as `media/storage` and `media/{mediaId}`, the first in sorted order counts. It has no parameter, because a
  // brace sorts after letters.
  const fitting = contract.filter(({ pattern }) => pattern.test(pathname));
  const [answering] = fitting.map(({ shape }) => shape).toSorted();
  const known = fitting.find(
    ({ operation, shape }) => operation.method === method.toLowerCase() && shape === answering,
  );
  if (!known) return;
  const faults = known.validators.response(status, body, type);
  expect(faults, `${method} ${path} answered ${status} ${JSON.stringify(body)}`).to.deep.equal([]);
}

/** Returns a new address of 10.0.0.0/8 for each call, because the API counts rates for each address. */
export function someAddress(): string {
  const [a, b, c] = crypto.getRandomValues(new Uint8Array(3));
  return `10.${a}.${b}.${c}`;
}
