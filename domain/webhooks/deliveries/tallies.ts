/** How many deliveries an endpoint has: exact for every filter, at a cost that does not grow with its history. */
import type { DeliveryStatus, TallySpan } from '../../../entities/webhooks/values.ts';
import type { Database } from '../../../platform/infra/postgres/database.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { DeliveredEventType } from '../../../platform/core/event-types.ts';

/** Which deliveries are asked for. */
export interface DeliverySelection {
  endpointId: Id;
  status?: DeliveryStatus;
  eventType?: DeliveredEventType;
  /** Created at this time or later, in Unix milliseconds; `-Infinity` for all. */
  since: number;
  /** Created before this time, in Unix milliseconds; `Infinity` for all. */
  until: number;
}

/** Puts a value among a statement's parameters. @returns its place, `$1` … */
export type Bind = (value: unknown) => string;

interface Stretch {
  from: number;
  /** Not included. */
  to: number;
}

const lengthMs = { hour: 3_600_000, day: 86_400_000 } as const satisfies Record<TallySpan, number>;
const upwards = (at: number, span: TallySpan) => Math.ceil(at / lengthMs[span]) * lengthMs[span];
const downwards = (at: number, span: TallySpan) => Math.floor(at / lengthMs[span]) * lengthMs[span];
const isLong = ({ from, to }: Stretch) => from < to;

/**
 * Takes a time apart so that little has to be added up: whole days, whole hours beside them, and what is left at either
 * end, less than an hour each, where deliveries are counted one by one.
 */
function takeApart({ since, until }: { since: number; until: number }): {
  tallies: (Stretch & { span: TallySpan })[];
  hours: Stretch;
  edges: Stretch[];
} {
  const hours = { from: upwards(since, 'hour'), to: downwards(until, 'hour') };
  if (!isLong(hours)) return { tallies: [], hours, edges: [{ from: since, to: until }] };
  const days = { from: upwards(hours.from, 'day'), to: downwards(hours.to, 'day') };
  const tallies: (Stretch & { span: TallySpan })[] = isLong(days)
    ? [
        { span: 'day', ...days },
        { span: 'hour', from: hours.from, to: days.from },
        { span: 'hour', from: days.to, to: hours.to },
      ]
    : [{ span: 'hour', ...hours }];
  return {
    tallies: tallies.filter(isLong),
    hours,
    edges: [
      { from: since, to: hours.from },
      { from: hours.to, to: until },
    ].filter(isLong),
  };
}

/** The condition of a column of times; empty where the stretch has no ends. */
function within(column: string, { from, to }: Stretch, bind: Bind): string {
  return [
    ...(Number.isFinite(from) ? [` AND ${column} >= ${bind(new Date(from))}`] : []),
    ...(Number.isFinite(to) ? [` AND ${column} < ${bind(new Date(to))}`] : []),
  ].join('');
}

const statuses = ['pending', 'succeeded', 'failed', 'canceled'] as const satisfies readonly DeliveryStatus[];

/** @returns the condition of `webhook_deliveries` that selects them: only what is asked for, so that the plan fits it */
function selecting({ endpointId, status, eventType, since, until }: DeliverySelection, bind: Bind): string {
  return [
    `endpoint_id = ${bind(endpointId)}`,
    ...(status === undefined ? [] : [` AND status = ${bind(status)}`]),
    ...(eventType === undefined ? [] : [` AND event_type = ${bind(eventType)}`]),
    within('created_at', { from: since, to: until }, bind),
  ].join('');
}

/**
 * @param columns of `webhook_deliveries`
 * @param order `ORDER BY … LIMIT …` of those that are wanted at most
 * @returns an SQL query for them. By type, status by status: one index (endpoint, type, status, time) then serves the type
 * alone and both, each in the order of time, and no row is read in vain, however rare the combination.
 */
export function selection(columns: string, selected: DeliverySelection, bind: Bind, order = ''): string {
  const byStatus = selected.eventType !== undefined && selected.status === undefined;
  return (byStatus ? statuses.map((status) => ({ ...selected, status })) : [selected])
    .map((one) => `(SELECT ${columns} FROM webhook_deliveries WHERE ${selecting(one, bind)} ${order})`)
    .join(' UNION ALL ');
}

/**
 * @returns an SQL expression of how many there are: tallies, the changes not yet rolled up into them, and the edges, in one
 * statement, and therefore of one moment
 */
export function counting(selected: DeliverySelection, bind: Bind): string {
  if (selected.since >= selected.until) return '0';
  const { tallies, hours, edges } = takeApart(selected);
  const counted = selected.status ?? statuses.join(' + ');
  const asked = () =>
    `endpoint_id = ${bind(selected.endpointId)}` +
    (selected.eventType === undefined ? '' : ` AND event_type = ${bind(selected.eventType)}`);
  const parts = [
    ...tallies.map(
      ({ span, ...stretch }) =>
        `SELECT sum(${counted}) FROM webhook_tallies WHERE ${asked()} AND span = '${span}'${within('starts_at', stretch, bind)}`,
    ),
    ...(isLong(hours)
      ? [`SELECT sum(${counted}) FROM webhook_tally_changes WHERE ${asked()}${within('hour', hours, bind)}`]
      : []),
    ...edges.map(
      ({ from, to }) =>
        `SELECT count(*) FROM (${selection('id', { ...selected, since: from, until: to }, bind)}) AS edge`,
    ),
  ];
  return `(SELECT coalesce(sum(part), 0)::int FROM (${parts.join(' UNION ALL ')}) AS parts (part))`;
}

interface TallyKey {
  endpointId: Id;
  span: TallySpan;
  startsAt: Date;
  eventType: DeliveredEventType;
}

/**
 * Rolls changes up into the tallies, at most `limit` of them, in any order. A tally that reaches zero is deleted.
 * @returns how many were rolled up
 */
export async function rollUpTallies(db: Database, limit: number): Promise<number> {
  return db.transaction(async (tx) => {
    const rolledUp = await tx.query<(TallyKey & { changes: number; empty: boolean })[]>(
      `WITH taken AS (
         DELETE FROM webhook_tally_changes
          WHERE ctid = ANY (ARRAY (SELECT ctid FROM webhook_tally_changes LIMIT ${limit} FOR UPDATE SKIP LOCKED))
      RETURNING *)
       INSERT INTO webhook_tallies AS tally (endpoint_id, span, starts_at, event_type, ${statuses.join(', ')})
       SELECT endpoint_id, span, date_trunc(span, hour, 'UTC'), event_type, ${statuses.map((status) => `sum(${status})`).join(', ')}
         FROM taken CROSS JOIN (VALUES ('day'), ('hour')) AS spans (span)
        GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
       ON CONFLICT (endpoint_id, span, starts_at, event_type) DO UPDATE
         SET ${statuses.map((status) => `${status} = tally.${status} + excluded.${status}`).join(', ')}
    RETURNING endpoint_id AS "endpointId", span, starts_at AS "startsAt", event_type AS "eventType",
              ${statuses.map((status) => `${status} = 0`).join(' AND ')} AS empty, (SELECT count(*)::int FROM taken) AS changes`,
    );
    const empty = rolledUp.filter((tally) => tally.empty);
    if (empty.length > 0) {
      await tx.query(
        `DELETE FROM webhook_tallies WHERE (endpoint_id, span, starts_at, event_type) IN (
           SELECT "endpointId", span, "startsAt", "eventType"
             FROM jsonb_to_recordset($1) AS one ("endpointId" uuid, span text, "startsAt" timestamptz, "eventType" text))`,
        [JSON.stringify(empty)],
      );
    }
    return rolledUp[0]?.changes ?? 0;
  });
}
