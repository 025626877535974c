/** The truth, read from Postgres and held against what the receiver has accepted. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import type { Id } from '../../../platform/core/ids.ts';
import type { Subject } from './audience.ts';
import { progress } from './progress.ts';
import type { Receipts } from './receipts.ts';

/** How many attempts were cut off before they were recorded. */
export async function interruptedAttempts(source: DataSource): Promise<number> {
  const [row] = await source.query<{ count: number }[]>(
    `SELECT count(*)::int AS count FROM webhook_attempts WHERE outcome = 'interrupted'`,
  );
  return row?.count ?? 0;
}

/** The endpoints that their circuit breaker holds back just now. */
export async function throttledEndpoints(source: DataSource): Promise<Id[]> {
  const rows = await source.query<{ id: Id }[]>(`SELECT id FROM webhook_endpoints WHERE breaker_step > 0`);
  return rows.map(({ id }) => id);
}

/** What is still on its way. */
interface Remainder {
  facts: number;
  deliveries: number;
}

export async function remainder(source: DataSource): Promise<Remainder> {
  const [row] = await source.query<Remainder[]>(
    `SELECT (SELECT count(*)::int FROM facts) AS facts,
            (SELECT count(*)::int FROM webhook_deliveries WHERE status = 'pending') AS deliveries`,
  );
  return row ?? { facts: 0, deliveries: 0 };
}

/** Waits until nothing is on its way, or until the time is over: then the tally says what is. @param withinMs in milliseconds */
export async function untilTold(source: DataSource, withinMs: number): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (performance.now() < deadline) {
    const { facts, deliveries } = await remainder(source);
    if (facts + deliveries === 0) return;
    await sleep(500);
  }
  progress('the time is over');
}

export interface DeliveryTally {
  /** Committed, by what Postgres holds: told, still waiting, or known to the one who committed it and gone. */
  facts: number;
  /** Accepted by every endpoint that asked for them. */
  received: number;
  /** A line each: what is not accepted everywhere, or whose delivery is not `succeeded`. */
  lost: string[];
}

interface Told {
  studentId: Id;
  eventId: Id;
  deliveries: { id: Id; endpointId: Id; status: string; attempts: unknown }[];
}

/** @param subjects of facts whose commit is known, one each */
export async function tallyDeliveries(
  source: DataSource,
  subjects: readonly Subject[],
  receipts: Pick<Receipts, 'has'>,
): Promise<DeliveryTally> {
  const waiting = await source.query<{ id: Id; studentId: Id }[]>(
    `SELECT id, student_id AS "studentId" FROM facts WHERE id NOT IN (SELECT id FROM webhook_events)`,
  );
  const told = await source.query<Told[]>(
    `SELECT event.student_id AS "studentId", event.id AS "eventId",
            (SELECT coalesce(json_agg(json_build_object('id', delivery.id, 'endpointId', delivery.endpoint_id,
                                                        'status', delivery.status, 'attempts', tries.list)), '[]')
               FROM webhook_deliveries delivery CROSS JOIN LATERAL (
                 SELECT json_agg(json_build_object('number', number, 'outcome', outcome, 'startedAt', started_at)
                                 ORDER BY fence) AS list
                   FROM webhook_attempts WHERE delivery_id = delivery.id) tries
              WHERE delivery.event_id = event.id) AS deliveries
       FROM webhook_events event`,
  );
  const known = new Set([...told, ...waiting].map(({ studentId }) => studentId));
  const endpointsOf = new Map(subjects.map(({ studentId, endpoints }) => [studentId, endpoints]));
  const gone = subjects.filter(({ studentId }) => !known.has(studentId));

  const judged = told.map((event) => ({ event, ...judge(event, endpointsOf.get(event.studentId) ?? [], receipts) }));
  return {
    facts: told.length + waiting.length + gone.length,
    received: judged.filter(({ accepted }) => accepted).length,
    lost: [
      ...gone.map(({ studentId }) => `the fact about student ${studentId} was committed, and nothing is left of it`),
      ...waiting.map(({ id }) => `fact ${id} was never told`),
      ...judged
        .filter(({ accepted, succeeded }) => !accepted || !succeeded)
        .map(
          ({ event, accepted }) =>
            `event ${event.eventId}${accepted ? '' : ', not accepted'}: ${JSON.stringify(event.deliveries)}`,
        ),
    ],
  };
}

function judge({ eventId, deliveries }: Told, endpoints: readonly Id[], receipts: Pick<Receipts, 'has'>) {
  return {
    accepted: endpoints.every((endpointId) => receipts.has(endpointId, eventId)),
    succeeded: endpoints.every((endpointId) =>
      deliveries.some((delivery) => delivery.endpointId === endpointId && delivery.status === 'succeeded'),
    ),
  };
}
