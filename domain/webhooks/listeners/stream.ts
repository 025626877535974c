/**
 * The stream of a listener: the events of the club's log after a position, in the order of the log, as they are recorded (LSN-1 to LSN-3).
 */
import type { RecordOf } from '../../../contract/contract.ts';
import type { EventType } from '../../../platform/core/event-types.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { prepared } from '../../../platform/infra/postgres/prepared.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { VaultDeps } from '../../deps.ts';
import { clocksDifferMs, endOf } from '../deliveries/retention.policy.ts';
import { requireLog } from '../endpoints/event-log.ts';
import type { ReaderPosition } from '../log/log-cursor.ts';
import { cursorAfter, openEventId, sealEventId } from './event-id.ts';
import { listenerRules } from './listeners.policy.ts';
import type { ListenerRequest, Listeners, OpenListener } from './listeners.ts';
import type { LogWatch } from './log-watch.ts';

export interface EventStreamDeps extends VaultDeps {
  listeners: Listeners;
  logWatch: LogWatch;
  clock: () => Date;
  /** After silence of this length the stream sends its position, in milliseconds. */
  silenceMs: number;
}

export interface EventStreamRequest {
  clubId: Id;
  caller: ListenerRequest['caller'];
  /** Undefined for all types. */
  types: readonly EventType[] | undefined;
  /** The header `Last-Event-ID`; undefined if the stream begins now. */
  lastEventId: string | undefined;
}

/** An event of the stream with its position, or a position alone. */
export type ListenerEvent = (RecordOf<'WebhookStreamEvent'> & { id: string }) | { id: string };

/** The place from which a stream reads the log. */
interface Start {
  listenerId: Id | undefined;
  position: ReaderPosition;
  /** The position that the listener had, if the stream leaves out events after it. */
  gap: { after: ReaderPosition; until: Date } | undefined;
}

/**
 * Registers the listener.
 * @returns the function that opens the stream. The caller must call it, because only the end of the stream removes the listener
 * @throws DomainError invalid_cursor, listener_limit_reached
 */
export async function openEventStream(
  deps: EventStreamDeps,
  request: EventStreamRequest,
  now: Date,
): Promise<(closed: AbortSignal) => AsyncGenerator<ListenerEvent>> {
  const { clubId, caller } = request;
  const loggedSince = await requireLog(deps.db, clubId, now);
  const start = await findStart(deps, request, now);
  const listener = await deps.listeners.open({ clubId, caller, resumes: start.listenerId }, now);
  return (closed) => eventsOf(deps, { request, loggedSince, start, listener }, closed);
}

interface Opened {
  request: EventStreamRequest;
  loggedSince: Date;
  start: Start;
  listener: OpenListener;
}

async function* eventsOf(
  deps: EventStreamDeps,
  { request: { clubId, types }, loggedSince, start, listener }: Opened,
  closed: AbortSignal,
): AsyncGenerator<ListenerEvent> {
  const { db, vault, clock, logWatch, silenceMs } = deps;
  const over = AbortSignal.any([closed, listener.replaced]);
  const idAt = (at: ReaderPosition) => sealEventId(vault, clubId, listener.id, at);
  let { position } = start;
  let sentAt = performance.now();
  try {
    // Until the listener has received the gap, its position stays before the gap.
    const data = { logged_since: loggedSince.toISOString() };
    yield { id: idAt(start.gap?.after ?? position), event: 'started', data };
    if (start.gap) {
      const { after, until } = start.gap;
      const cursor = cursorAfter(vault, clubId, types, after);
      const gap = { from: after.at.toISOString(), until: until.toISOString(), cursor };
      yield { id: idAt(position), event: 'gap', data: gap };
    }
    while (!over.aborted) {
      const lookedAt = clock();
      const events = await readEvents(db, { clubId, types, position, now: lookedAt });
      const readAt = performance.now();
      for (const { type, body, ...read } of events) {
        if (over.aborted || performance.now() - readAt > listenerRules.pageLastsMs) break;
        position = { position: read.position, at: read.createdAt };
        if (body === null || type === null) continue;
        yield { id: idAt(position), event: type, data: JSON.parse(body) as RecordOf<'WebhookEnvelope'> };
        sentAt = performance.now();
      }
      if (events.length > 0) continue;
      position = { position: position.position, at: lookedAt };
      if (performance.now() - sentAt >= silenceMs) {
        yield { id: idAt(position) };
        sentAt = performance.now();
      }
      await logWatch.untilNews(clubId, position, { timeoutMs: silenceMs, closed: over });
    }
  } finally {
    await listener.close();
  }
}

async function findStart(
  { db, vault }: EventStreamDeps,
  { clubId, lastEventId }: EventStreamRequest,
  now: Date,
): Promise<Start> {
  if (lastEventId === undefined) {
    const position = { position: await findEnd(db, clubId, now), at: now };
    return { listenerId: undefined, position, gap: undefined };
  }
  const { listenerId, position: after } = openEventId(vault, clubId, lastEventId);
  const until = new Date(now.getTime() - listenerRules.resumesMs);
  if (after.at >= until) return { listenerId, position: after, gap: undefined };
  // The end is read first. So an event that is recorded between the two reads comes after the start.
  const end = await findEnd(db, clubId, now);
  const first = await db.one<{ before: string; createdAt: Date }>(
    sql`SELECT (position - 1)::text AS before, created_at AS "createdAt" FROM webhook_bodies
         WHERE club_id = ${clubId} AND position > ${after.position}::bigint AND created_at >= ${until} ORDER BY position LIMIT 1`,
  );
  const position = first
    ? { position: first.before, at: first.createdAt }
    : { position: BigInt(end) > BigInt(after.position) ? end : after.position, at: now };
  const isIncomplete =
    after.at <= endOf.bodies(now) || (await hasEvents(db, clubId, { after, upTo: position.position }));
  return { listenerId, position, gap: isIncomplete ? { after, until } : undefined };
}

/** @returns the position of the last event in the log; `0` if the log is empty */
async function findEnd(db: Queries, clubId: Id, now: Date): Promise<string> {
  const last = await db.one<{ position: string }>(
    sql`SELECT position::text AS position FROM webhook_bodies
         WHERE club_id = ${clubId} AND position IS NOT NULL AND created_at > ${endOf.bodies(now)}
         ORDER BY webhook_bodies.position DESC LIMIT 1`,
  );
  return last?.position ?? '0';
}

async function hasEvents(
  db: Queries,
  clubId: Id,
  { after, upTo }: { after: ReaderPosition; upTo: string },
): Promise<boolean> {
  const from = new Date(after.at.getTime() - clocksDifferMs);
  const event = await db.one<{ id: Id }>(
    sql`SELECT event_id AS id FROM webhook_bodies
         WHERE club_id = ${clubId} AND position > ${after.position}::bigint AND position <= ${upTo}::bigint AND created_at >= ${from}
         ORDER BY webhook_bodies.position LIMIT 1`,
  );
  return event !== undefined;
}

interface EventRow {
  position: string;
  createdAt: Date;
  /** Null only for bodies that have no position. */
  type: EventType | null;
  /** Null if the listener does not want the type. */
  body: string | null;
}

function readEvents(
  db: Queries,
  {
    clubId,
    types,
    position,
    now,
  }: Pick<EventStreamRequest, 'clubId' | 'types'> & { position: ReaderPosition; now: Date },
): Promise<EventRow[]> {
  const earliest = Math.max(position.at.getTime() - clocksDifferMs, endOf.bodies(now).getTime());
  return selectEvents(db, {
    clubId,
    types: types ?? null,
    position: position.position,
    since: new Date(earliest),
    size: listenerRules.pageSize,
  });
}

/** Events of other types are read without their bodies, so that the position moves past them. */
const selectEvents = prepared<
  EventRow,
  { clubId: Id; types: readonly EventType[] | null; position: string; since: Date; size: number }
>(
  'select_events_after',
  (value) => `SELECT position::text, created_at AS "createdAt", type,
          CASE WHEN ${value.types}::text[] IS NULL OR type = ANY (${value.types}::text[]) THEN body END AS body
     FROM webhook_bodies body
    WHERE club_id = ${value.clubId} AND body.position > ${value.position}::bigint AND created_at > ${value.since}
    ORDER BY body.position LIMIT ${value.size}`,
);
