/** Reads the log of a club: the events of the last 30 days in the order of their positions (EVT-23 to EVT-26). */
import type { RecordOf } from '../../../contract/contract.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import type { EventType } from '../../../platform/core/event-types.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { all, sql, type Sql } from '../../../platform/infra/postgres/sql.ts';
import type { VaultDeps } from '../../deps.ts';
import { clocksDifferMs, endOf, retentionRules } from '../deliveries/retention.policy.ts';
import { requireLog } from '../endpoints/event-log.ts';
import { cursorsOf, type ReaderPosition } from './log-cursor.ts';

/** A filtered page looks at no more events than this, so that a rare type does not make one page read a whole log. */
const eventsPerPage = 10_000;

/** The request of a page, as the contract describes it. */
export interface EventFilter {
  /** 1 to 100. */
  page_size: number;
  cursor?: string;
  type?: readonly EventType[];
  student_id?: Id;
  /** If present, only events that were assembled at or after this ISO 8601 date-time are listed. */
  since?: string;
}

/** A page of the log. */
export interface EventPage {
  data: RecordOf<'WebhookEnvelope'>[];
  /** The cursor of the next page, also at the end of the log: the reader asks again later. */
  next_cursor: string;
  /** Whether more events may follow now. */
  has_more: boolean;
  /** The time from which the log has every event of the club. */
  logged_since: string;
}

/**
 * Lists the oldest events first, because a reader continues towards the present. A page may have fewer events than its size, or none,
 * while more follow.
 * @throws DomainError invalid_cursor; cursor_expired if events behind the cursor may have been removed
 */
export async function listEvents(
  { db, vault }: VaultDeps,
  clubId: Id,
  { page_size: size, cursor, ...filter }: EventFilter,
  now: Date,
): Promise<EventPage> {
  const filters = { ...filter, type: filter.type?.toSorted() };
  const cursors = cursorsOf(vault, { list: 'listEvents', clubId, filters });
  const start = cursor === undefined ? { position: '0', at: endOf.bodies(now) } : cursors.read(cursor);
  if (start.at < oldestCursor(now))
    throw new DomainError(
      'cursor_expired',
      'The cursor is older than 30 days, so events behind it may have been removed. Begin again without a cursor.',
    );
  const loggedSince = await requireLog(db, clubId, now);
  const window = await windowOf(db, clubId, { start, filter, now });
  const rows = await db.rows<EventRow>(sql`${window.rows} ORDER BY body.position LIMIT ${size + 1}`);
  const listed = rows.slice(0, size);
  const last = listed.at(-1);
  const isCut = rows.length > size;
  const next = isCut && last ? { position: last.position, at: last.createdAt } : window.end;
  return {
    data: listed.map(({ body }) => JSON.parse(body) as RecordOf<'WebhookEnvelope'>),
    next_cursor: cursors.make(next ?? { position: last?.position ?? start.position, at: now }),
    has_more: isCut || window.end !== undefined,
    logged_since: loggedSince.toISOString(),
  };
}

/**
 * The creation of the oldest cursor that is still followed. A reader of the oldest events is a little slower than their retention time, and
 * bodies are dropped later than they are hidden.
 */
const oldestCursor = (now: Date) => new Date(endOf.bodies(now).getTime() - retentionRules.bodySpareMs);

interface EventRow {
  position: string;
  createdAt: Date;
  body: string;
}

interface Window {
  /** The statement of the events that a page may list. */
  rows: Sql;
  /** The position of the last event that the page looks at; undefined if it looks at all events up to the end of the log. */
  end: ReaderPosition | undefined;
}

interface Request {
  start: ReaderPosition;
  filter: Pick<EventFilter, 'type' | 'student_id' | 'since'>;
  now: Date;
}

const selected = sql`SELECT body.position::text AS position, body.created_at AS "createdAt", body.body`;

/**
 * Chooses the events of a page. Few events of one student are found by the student. Otherwise the page looks at a limited number of events
 * behind its start.
 */
async function windowOf(db: Queries, clubId: Id, request: Request): Promise<Window> {
  const { start, now } = request;
  const { type, student_id: studentId } = request.filter;
  const since = earliestOf(request);
  // A later position has a later creation, except for the difference of clocks. So older and future partitions need no search.
  const from = new Date(Math.max(since, start.at.getTime() - clocksDifferMs));
  const until = new Date(now.getTime() + clocksDifferMs);
  const behind = sql`body.club_id = ${clubId} AND body.position > ${start.position}::bigint
        AND body.created_at >= ${from} AND body.created_at < ${until}`;
  const matching = all([
    behind,
    type && sql`body.type = ANY (${type})`,
    studentId === undefined ? undefined : sql`body.student_id = ${studentId}`,
  ]);
  if (studentId !== undefined && (await hasFewEvents(db, { clubId, studentId, from })))
    return {
      rows: sql`${selected} FROM webhook_events event
         JOIN webhook_bodies body ON body.event_id = event.id AND body.created_at = event.created_at
        WHERE event.student_id = ${studentId} AND event.club_id = ${clubId} AND ${matching}`,
      end: undefined,
    };
  const isFiltered = type !== undefined || studentId !== undefined;
  const end = isFiltered
    ? await db.one<ReaderPosition>(
        sql`SELECT body.position::text AS position, body.created_at AS at FROM webhook_bodies body
             WHERE ${behind} ORDER BY body.position OFFSET ${eventsPerPage - 1} LIMIT 1`,
      )
    : undefined;
  const upToEnd = end && sql`body.position <= ${end.position}::bigint`;
  return { rows: sql`${selected} FROM webhook_bodies body WHERE ${all([matching, upToEnd])}`, end };
}

/** @returns the earliest creation of a listed event, in Unix milliseconds */
function earliestOf({ filter: { since }, now }: Request): number {
  const earliest = endOf.bodies(now).getTime() + 1;
  return since === undefined ? earliest : Math.max(earliest, Math.ceil(Date.parse(since.toUpperCase())));
}

/** @returns whether the student has so few events that one page can read all of them */
async function hasFewEvents(
  db: Queries,
  { clubId, studentId, from }: { clubId: Id; studentId: Id; from: Date },
): Promise<boolean> {
  const tooMany = await db.one<{ id: Id }>(
    sql`SELECT id FROM webhook_events WHERE student_id = ${studentId} AND club_id = ${clubId} AND created_at >= ${from}
        OFFSET ${eventsPerPage} LIMIT 1`,
  );
  return tooMany === undefined;
}
