/**
 * Receives the events of a club over the stream of the service. After a cut it resumes right after the last event that was handled. If the
 * stream names a gap, the missing events are read from the list of events (LSN-8).
 */
import { createClient, type ClubLearningClient } from '../../client.ts';
import { ApiError, isRefusal } from '../../errors.ts';
import type { PageOfEvents, WebhookEventTypeInput } from '../../generated/client.schemas.ts';
import { sleep } from '../../generated/runtime/retry.ts';
import { retryAfterOf } from '../../retries.ts';
import { CommandFailure } from '../command.ts';
import type { SentEvent } from '../conformance/deliveries.ts';
import type { ServiceAccess } from '../options.ts';
import { KnownIds } from './known-ids.ts';

export interface SubscriptionOptions {
  /** Undefined for all types. */
  readonly types: readonly WebhookEventTypeInput[] | undefined;
  readonly signal: AbortSignal;
  /** Is called with a line about the connection. */
  readonly report: (line: string) => void;
}

/** The first and the longest wait before the next connection, in milliseconds. */
const firstWaitMs = 250;
const longestWaitMs = 5_000;

interface Progress {
  lastEventId: string | undefined;
  /** Whether the present connection has begun. */
  hasBegun: boolean;
}

/**
 * Yields each event once. An event counts as handled when the caller asks for the next one.
 * @throws CommandFailure if the service refuses the stream for good; the reason of the signal if it aborts
 */
export async function* eventsOf(
  access: ServiceAccess,
  { types, signal, report }: SubscriptionOptions,
): AsyncGenerator<SentEvent, void, undefined> {
  const client = createClient({ baseUrl: access.baseUrl, token: access.key });
  const known = new KnownIds();
  const progress: Progress = { lastEventId: undefined, hasBegun: false };
  const subscription = { client, access, types, signal, report, progress };
  for (let failures = 0; ; failures += 1) {
    let waitMs = 0;
    progress.hasBegun = false;
    try {
      for await (const event of connection(subscription)) if (known.add(event.id)) yield event;
      if (progress.hasBegun) report('The service ended the stream. Connecting again.');
    } catch (error) {
      signal.throwIfAborted();
      waitMs = requireTemporary(error, progress);
      if (progress.hasBegun || failures === 0) report(`The connection was lost: ${messageOf(error)} Connecting again.`);
    }
    signal.throwIfAborted();
    if (progress.hasBegun) failures = 0;
    await sleep(waitMs + Math.random() * Math.min(firstWaitMs * 2 ** failures, longestWaitMs), signal);
  }
}

interface Subscription extends SubscriptionOptions {
  readonly client: ClubLearningClient;
  readonly access: ServiceAccess;
  readonly progress: Progress;
}

/** Yields the events of one connection, and of its gap. */
async function* connection(subscription: Subscription): AsyncGenerator<SentEvent, void, undefined> {
  const { client, access, types, signal, report, progress } = subscription;
  const stream = client.streamWebhookEvents(
    {
      path: { clubId: access.clubId },
      ...(types && { query: { type: [...types] } }),
      ...(progress.lastEventId !== undefined && { headers: { 'Last-Event-ID': progress.lastEventId } }),
    },
    { signal },
  );
  for await (const { event, data, id } of stream as AsyncIterable<{ event?: string; data: unknown; id?: string }>) {
    if (event === 'started') {
      report(progress.lastEventId === undefined ? 'Listening.' : 'Listening again.');
      progress.hasBegun = true;
    } else if (event === 'gap') {
      const { from, until, cursor } = data as { from: string; until: string; cursor: string };
      report(`The stream lacks events from ${from} until ${until}. Reading them from the list of events.`);
      yield* missingEvents(subscription, cursor);
    } else if (event !== undefined) yield data as SentEvent;
    if (id !== undefined) progress.lastEventId = id;
  }
}

/** Lists the events after the cursor, up to the present. The stream sends the last of them, too. */
async function* missingEvents(
  { client, access, types, signal, report }: Subscription,
  after: string,
): AsyncGenerator<SentEvent, void, undefined> {
  let cursor: string | undefined = after;
  for (;;) {
    const filter = types && { type: [...types] };
    const query = { page_size: 100, ...filter, ...(cursor !== undefined && { cursor }) };
    try {
      const page: PageOfEvents = await client.listEvents({ path: { clubId: access.clubId }, query }, { signal });
      for (const event of page.data) yield event;
      if (!page.has_more) return;
      cursor = page.next_cursor;
    } catch (error) {
      if (!isRefusal(error, 'cursor_expired')) throw error;
      report('Events that are older than 30 days are lost.');
      cursor = undefined;
    }
  }
}

/**
 * @returns the milliseconds that the service asks to wait
 * @throws CommandFailure if another try cannot succeed; the error if it is none of the service or the connection
 */
function requireTemporary(error: unknown, { lastEventId }: Progress): number {
  if (error instanceof CommandFailure) throw error;
  if (!(error instanceof ApiError)) return 0;
  const { status, code, message } = error;
  // Another listener of the club may have taken the place of this one. It is free again later.
  const isPlaceLost = code === 'listener_limit_reached' && lastEventId !== undefined;
  if (status >= 500 || status === 429 || status === 408 || isPlaceLost) return retryAfterOf(error);
  throw new CommandFailure(`The service refused the stream (${code ?? status}): ${message}`, { cause: error });
}

const messageOf = (error: unknown): string => {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const text = cause instanceof Error ? cause.message : String(cause);
  return text.endsWith('.') ? text : `${text}.`;
};
