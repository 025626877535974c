/** The client of the model's service. It sends one request and streams the answer. Neither of them appears in an error or a log. */
import Anthropic, { APIError } from '@anthropic-ai/sdk';
import { Stream } from '@anthropic-ai/sdk/core/streaming';
import type {
  MessageCreateParamsNonStreaming,
  MessageDeltaUsage,
  RawMessageStreamEvent,
  Usage,
} from '@anthropic-ai/sdk/resources/messages';
import { Agent } from 'undici';
import { readJson, UnreadableJson } from '../../core/json.ts';
import type { Secret } from '../../core/secret.ts';
import { failureOfStatus, failureOfType, type FailureKind } from './failures.policy.ts';
import { readAhead } from './read-ahead.ts';

export type ModelRequest = MessageCreateParamsNonStreaming;

/** The number of tokens, as the model counts them. */
export interface TokenUse {
  /** The tokens that were neither read from the cache nor written to it. */
  input: number;
  output: number;
  cacheWrite: number;
  cacheRead: number;
}

/** `result` is the number of the cited result in the request. `endBlock` is exclusive. */
export interface ModelCitation {
  result: number;
  startBlock: number;
  endBlock: number;
}

export type ModelEvent =
  /** From here on the request costs money. */
  | { type: 'begun'; requestId: string | null; use: TokenUse }
  | { type: 'text'; text: string }
  | { type: 'citation'; citation: ModelCitation }
  /** One more event follows, the last event. */
  | { type: 'stopped'; reason: string | null; use: Partial<TokenUse> }
  /** A stream without this event was cut off. */
  | { type: 'ended' };

/** @param signal ends the request @throws ModelFailure; the signal's reason */
export type AskModel = (request: ModelRequest, signal: AbortSignal) => AsyncGenerator<ModelEvent, void>;

/** The model's service did not answer a request. */
export class ModelFailure extends Error {
  override name = 'ModelFailure';
  readonly kind: FailureKind;
  /** For operators: a status, an error type of the service, or the code of a system call. */
  readonly code: string;
  readonly retryAfterMs: number;
  readonly requestId: string | null;

  constructor(kind: FailureKind, code: string, retryAfterMs = 0, requestId: string | null = null) {
    super(`The model failed: ${code}`);
    this.kind = kind;
    this.code = code;
    this.retryAfterMs = retryAfterMs;
    this.requestId = requestId;
  }
}

/** The maximum number of events that wait for their reader. A fast model sends that many in some seconds. */
const maxAhead = 500;

/** An idle connection stays open for this time, unless the service requests less. This saves the next question a handshake. */
const keptWarmMs = 60_000;

/** Until the response ends, the connection cannot serve the next request. */
const endComesWithinMs = 1_000;

/** In milliseconds. */
export interface Patience {
  /** The longest time without any event. Pings count as events. */
  silenceMs: number;
  /** The longest time in which only pings arrive. */
  pingsMs: number;
  requestMs: number;
}

export interface ModelSettings {
  /** Absent if no model is configured. */
  apiKey: Secret | undefined;
  baseUrl: string;
}

/** @returns undefined without a key */
export function createModel({ apiKey, baseUrl }: ModelSettings, patience: Patience): AskModel | undefined {
  if (!apiKey) return undefined;
  const client = new Anthropic({
    apiKey: apiKey.reveal(),
    authToken: null, // null: otherwise the client would read an environment variable that config.ts does not know
    baseURL: baseUrl,
    maxRetries: 0, // The caller commits a row for each request before it is sent, so the client must not repeat a request.
    timeout: patience.requestMs,
    logLevel: 'off', // the log of the client would quote the model's answer
    openTelemetry: false,
    fetchOptions: { dispatcher: new Agent({ keepAliveTimeout: keptWarmMs }) },
  });
  return (request, signal) => {
    const readerLeaving = new AbortController();
    const events = ask(client, patience, request, AbortSignal.any([signal, readerLeaving.signal]));
    return readAhead(events, maxAhead, () => readerLeaving.abort());
  };
}

async function* ask(
  client: Anthropic,
  patience: Patience,
  request: ModelRequest,
  outer: AbortSignal,
): AsyncGenerator<ModelEvent, void> {
  const controller = new AbortController();
  const watch = { silence: undefined as NodeJS.Timeout | undefined, failure: undefined as ModelFailure | undefined };
  const giveUp = (failure: ModelFailure) => {
    watch.failure ??= failure;
    controller.abort();
  };
  let rest: AsyncIterator<unknown> | undefined;
  const end = () => {
    if (!rest) controller.abort();
  };
  outer.addEventListener('abort', end);
  if (outer.aborted) end();
  const whole = setTimeout(() => giveUp(new ModelFailure('unavailable', 'took_too_long')), patience.requestMs);
  /** Counts only while the service is silent, not while the reader is busy. */
  const withinSilence = async <T>(answer: Promise<T>, ms: number): Promise<T> => {
    watch.silence = setTimeout(() => giveUp(new ModelFailure('silent', 'silent')), ms);
    try {
      return await answer;
    } finally {
      clearTimeout(watch.silence);
    }
  };
  try {
    const response = await withinSilence(
      client.messages.create({ ...request, stream: true }, { signal: controller.signal }).asResponse(),
      patience.silenceMs,
    );
    const requestId = response.headers.get('request-id');
    const events = Stream.rawEvents(response, controller);
    let pingsMs = patience.pingsMs;
    for (;;) {
      const askedAt = performance.now();
      const next = await withinSilence(events.next(), Math.min(patience.silenceMs, pingsMs));
      if (next.done) break;
      const { event, data } = next.value;
      if (event === 'ping' || event === null) {
        pingsMs = Math.max(1, pingsMs - (performance.now() - askedAt));
        continue;
      }
      pingsMs = patience.pingsMs;
      if (event === 'message_stop') rest = events;
      yield* eventsOf(event, data, requestId);
      if (rest) return;
    }
    throw new ModelFailure('unavailable', 'cut_short', 0, requestId);
  } catch (error) {
    if (outer.aborted) throw outer.reason;
    throw watch.failure ?? failureOf(error);
  } finally {
    clearTimeout(whole);
    outer.removeEventListener('abort', end);
    if (rest) void readToEnd(rest, controller);
    else controller.abort();
  }
}

/** Reads the rest of a response in the background, and aborts the request if it does not end in time. */
async function readToEnd(rest: AsyncIterator<unknown>, controller: AbortController): Promise<void> {
  const limit = setTimeout(() => controller.abort(), endComesWithinMs);
  try {
    while ((await rest.next()).done !== true);
  } catch {
    // The next request opens a new connection.
  }
  clearTimeout(limit);
}

function* eventsOf(name: string, data: string, requestId: string | null): Generator<ModelEvent> {
  const event = readJson(data) as RawMessageStreamEvent | { type: 'error'; error?: { type?: string } };
  if (name === 'error' || event.type === 'error') {
    const type = (event as { error?: { type?: string } }).error?.type ?? 'unknown_error';
    throw new ModelFailure(failureOfType(type), codeOf(type), 0, requestId);
  }
  if (event.type === 'message_start') yield { type: 'begun', requestId, use: allUsed(event.message.usage) };
  else if (event.type === 'message_delta')
    yield { type: 'stopped', reason: event.delta.stop_reason, use: used(event.usage) };
  else if (event.type === 'message_stop') yield { type: 'ended' };
  else if (
    event.type === 'content_block_start' &&
    event.content_block.type === 'text' &&
    event.content_block.text !== ''
  )
    yield { type: 'text', text: event.content_block.text };
  else if (event.type === 'content_block_delta') {
    const { delta } = event;
    if (delta.type === 'text_delta') yield { type: 'text', text: delta.text };
    else if (delta.type === 'citations_delta' && delta.citation.type === 'search_result_location') {
      const { search_result_index: result, start_block_index: startBlock, end_block_index: endBlock } = delta.citation;
      yield { type: 'citation', citation: { result, startBlock, endBlock } };
    }
  }
}

function used(usage: Usage | MessageDeltaUsage): Partial<TokenUse> {
  const counts: [keyof TokenUse, number | null | undefined][] = [
    ['input', usage.input_tokens],
    ['output', usage.output_tokens],
    ['cacheWrite', usage.cache_creation_input_tokens],
    ['cacheRead', usage.cache_read_input_tokens],
  ];
  return Object.fromEntries(counts.filter(([, count]) => typeof count === 'number'));
}

function allUsed(usage: Usage): TokenUse {
  return { input: 0, output: 0, cacheWrite: 0, cacheRead: 0, ...used(usage) };
}

function failureOf(error: unknown): ModelFailure {
  if (error instanceof ModelFailure) return error;
  if (error instanceof APIError && typeof error.status === 'number') {
    const headers = error.headers as Headers | undefined;
    const code = codeOf(error.type ?? `http_${error.status}`);
    return new ModelFailure(
      failureOfStatus(error.status),
      code,
      retryAfterMsOf(headers?.get('retry-after') ?? null, Date.now()),
      error.requestID ?? null,
    );
  }
  if (error instanceof UnreadableJson) return new ModelFailure('unavailable', 'unreadable_event');
  return new ModelFailure('unavailable', systemCodeOf(error) ?? 'connection_error');
}

/** Only text that looks like an error type enters rows and logs. */
function codeOf(type: string): string {
  return /^[a-z0-9_]{1,60}$/.test(type) ? type : 'unknown_error';
}

function systemCodeOf(error: unknown, depth = 0): string | undefined {
  if (!(error instanceof Error) || depth > 5) return undefined;
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : systemCodeOf(error.cause, depth + 1);
}

/**
 * @param value seconds, or a date
 * @param now Unix milliseconds
 * @returns 0 for any other text
 */
export function retryAfterMsOf(value: string | null, now: number): number {
  if (value === null || value.trim() === '') return 0;
  const seconds = Number(value);
  const ms = Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(value) - now;
  return Number.isFinite(ms) ? Math.max(0, ms) : 0;
}
