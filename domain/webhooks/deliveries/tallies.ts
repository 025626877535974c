/** Counts the deliveries of an endpoint, exactly and for every filter, in a time that does not grow with the history. */
import { deliveryStatuses, type DeliveryStatus, type TallySpan } from '../../../entities/webhooks/values.ts';
import { WebhookTally } from '../../../entities/webhooks/webhook-tally.ts';
import { all, columns, raw, sql, type RowOf, type Sql } from '../../../platform/infra/postgres/sql.ts';
import type { Database } from '../../../platform/infra/postgres/database.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { DeliveredEventType } from '../../../platform/core/event-types.ts';

export interface DeliverySelection {
  endpointId: Id;
  status?: DeliveryStatus;
  eventType?: DeliveredEventType;
  /** Unix milliseconds; `-Infinity` for no lower limit. */
  since: number;
  /** Unix milliseconds, excluded; `Infinity` for no upper limit. */
  until: number;
}

interface Stretch {
  from: number;
  /** Excluded. */
  to: number;
}

const lengthMs = { hour: 3_600_000, day: 86_400_000 } as const satisfies Record<TallySpan, number>;
const upwards = (at: number, span: TallySpan) => Math.ceil(at / lengthMs[span]) * lengthMs[span];
const downwards = (at: number, span: TallySpan) => Math.floor(at / lengthMs[span]) * lengthMs[span];
const isLong = ({ from, to }: Stretch) => from < to;

/**
 * Splits a time range into parts, so that the count only adds up a few tallies. The parts are whole days, the whole hours before and after
 * these days, and two edges that are shorter than an hour. In the edges, deliveries are counted one by one.
 */
function splitRange({ since, until }: { since: number; until: number }): {
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

/** Returns the conditions that limit a column of times to a range. */
function within(column: Sql, { from, to }: Stretch): (Sql | undefined)[] {
  return [
    Number.isFinite(from) ? sql`${column} >= ${new Date(from)}` : undefined,
    Number.isFinite(to) ? sql`${column} < ${new Date(to)}` : undefined,
  ];
}

const union = (queries: readonly Sql[]): Sql => queries.reduce((first, second) => sql`${first} UNION ALL ${second}`);

/** @returns the condition on `webhook_deliveries` with only the set filters, so that Postgres plans for exactly these */
function selecting({ endpointId, status, eventType, since, until }: DeliverySelection): Sql {
  return all([
    sql`endpoint_id = ${endpointId}`,
    status === undefined ? undefined : sql`status = ${status}`,
    eventType === undefined ? undefined : sql`event_type = ${eventType}`,
    ...within(sql`created_at`, { from: since, to: until }),
  ]);
}

/**
 * @param selectedColumns columns of `webhook_deliveries`
 * @param after a condition on each part of the query, for deliveries after a cursor
 * @param order `ORDER BY … LIMIT …` for each part of the query
 * @returns an SQL query for the selected deliveries. If only a type is selected, the result combines one query for each status. So the
 * index (endpoint, type, status, time) returns the rows in the order of time, with or without a selected status. The query reads no
 * unneeded rows, even for rare combinations
 */
export function selection(
  selectedColumns: Sql,
  selected: DeliverySelection,
  { after, order = sql`` }: { after?: Sql | undefined; order?: Sql } = {},
): Sql {
  const byStatus = selected.eventType !== undefined && selected.status === undefined;
  return union(
    (byStatus ? deliveryStatuses.map((status) => ({ ...selected, status })) : [selected]).map(
      (one) => sql`(SELECT ${selectedColumns} FROM webhook_deliveries WHERE ${all([selecting(one), after])} ${order})`,
    ),
  );
}

/**
 * @returns an SQL expression for the number of selected deliveries. It adds the tallies, the changes that are not in the tallies yet, and
 * the deliveries in the edges. One statement reads all of these values, so they are consistent
 */
export function counting(selected: DeliverySelection): Sql {
  if (selected.since >= selected.until) return sql`0`;
  const { endpointId, eventType } = selected;
  const { tallies, hours, edges } = splitRange(selected);
  const counted = raw(selected.status ?? deliveryStatuses.join(' + '));
  const conditions = [
    sql`endpoint_id = ${endpointId}`,
    eventType === undefined ? undefined : sql`event_type = ${eventType}`,
  ];
  const parts = [
    ...tallies.map(
      ({ span, ...stretch }) =>
        sql`SELECT sum(${counted}) FROM webhook_tallies
             WHERE ${all([...conditions, sql`span = ${span}`, ...within(sql`starts_at`, stretch)])}`,
    ),
    ...(isLong(hours)
      ? [
          sql`SELECT sum(${counted}) FROM webhook_tally_changes WHERE ${all([...conditions, ...within(sql`hour`, hours)])}`,
        ]
      : []),
    ...edges.map(
      ({ from, to }) =>
        sql`SELECT count(*) FROM (${selection(sql`id`, { ...selected, since: from, until: to })}) AS edge`,
    ),
  ];
  return sql`(SELECT coalesce(sum(part), 0)::int FROM (${union(parts)}) AS parts (part))`;
}

const tallyKey = columns(WebhookTally, ['endpointId', 'span', 'startsAt', 'eventType']);
const statuses = raw(deliveryStatuses.join(', '));
const ofEach = (written: (status: DeliveryStatus) => string, between = ', ') =>
  raw(deliveryStatuses.map(written).join(between));

/**
 * Adds at most `limit` pending changes to the tallies, in any order. A tally that reaches zero is deleted.
 * @returns the number of changes that were added
 */
export async function rollUpTallies(db: Database, limit: number): Promise<number> {
  return db.transaction(async (tx) => {
    const rolledUp = await tx.rows<RowOf<typeof tallyKey> & { changes: number; empty: boolean }>(
      sql`WITH taken AS (
         DELETE FROM webhook_tally_changes
          WHERE ctid = ANY (ARRAY (SELECT ctid FROM webhook_tally_changes LIMIT ${limit} FOR UPDATE SKIP LOCKED))
      RETURNING *)
       INSERT INTO webhook_tallies AS tally (endpoint_id, span, starts_at, event_type, ${statuses})
       SELECT endpoint_id, span, date_trunc(span, hour, 'UTC'), event_type, ${ofEach((status) => `sum(${status})`)}
         FROM taken CROSS JOIN (VALUES ('day'), ('hour')) AS spans (span)
        GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
       ON CONFLICT (endpoint_id, span, starts_at, event_type) DO UPDATE
         SET ${ofEach((status) => `${status} = tally.${status} + excluded.${status}`)}
    RETURNING ${tallyKey}, ${ofEach((status) => `${status} = 0`, ' AND ')} AS empty, (SELECT count(*)::int FROM taken) AS changes`,
    );
    const empty = rolledUp.filter((tally) => tally.empty);
    if (empty.length > 0) {
      await tx.run(
        sql`DELETE FROM webhook_tallies WHERE (endpoint_id, span, starts_at, event_type) IN (
           SELECT "endpointId", span, "startsAt", "eventType"
             FROM jsonb_to_recordset(${JSON.stringify(empty)}) AS one ("endpointId" uuid, span text, "startsAt" timestamptz, "eventType" text))`,
      );
    }
    return rolledUp[0]?.changes ?? 0;
  });
}

/**
 * Removes at most `limit` tallies that are not shown any more.
 * @param before deliveries from this time or earlier are not shown
 * @returns the number of removed tallies
 */
export async function forgetTallies(db: Database, before: Date, limit: number): Promise<number> {
  const spare = new Date(before.getTime() - lengthMs.hour); // the clocks of processes differ by less than this time
  return db.run(
    sql`DELETE FROM webhook_tallies WHERE (endpoint_id, span, starts_at, event_type) IN (
       SELECT endpoint_id, span, starts_at, event_type FROM webhook_tallies WHERE starts_at < ${spare}
        ORDER BY 1, 2, 3, 4 LIMIT ${limit} FOR UPDATE SKIP LOCKED)`,
  );
}
