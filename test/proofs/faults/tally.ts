/** Compares the deliveries in Postgres with the requests that the receiver accepted. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import type { Id } from '../../../platform/core/ids.ts';
import type { Subject } from './audience.ts';
import { progress } from './progress.ts';
import type { Receipts } from './receipts.ts';

export async function interruptedAttempts(source: DataSource): Promise<number> {
  const [row] = await source.query<{ count: number }[]>(
    `SELECT count(*)::int AS count FROM webhook_attempts WHERE outcome = 'interrupted'`,
  );
  return row?.count ?? 0;
}

export async function throttledEndpoints(source: DataSource): Promise<Id[]> {
  const rows = await source.query<{ id: Id }[]>(`SELECT id FROM webhook_endpoints WHERE breaker_step > 0`);
  return rows.map(({ id }) => id);
}

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

/**
 * Waits until all facts and deliveries are finished, or until the time limit. The final check reports unfinished work.
 * @param withinMs in milliseconds
 */
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
  /** The number of committed facts: facts that became events, facts that wait, and facts that are lost. */
  facts: number;
  received: number;
  /** A line for each fact that an endpoint did not accept, or that has a delivery which is not `succeeded`. */
  lostFacts: string[];
}

interface Event {
  studentId: Id;
  eventId: Id;
  deliveries: { id: Id; endpointId: Id; status: string; attempts: unknown }[];
}

export async function tallyDeliveries(
  source: DataSource,
  subjects: readonly Subject[],
  receipts: Pick<Receipts, 'has'>,
): Promise<DeliveryTally> {
  const waiting = await source.query<{ id: Id; studentId: Id }[]>(
    `SELECT id, student_id AS "studentId" FROM facts WHERE id NOT IN (SELECT id FROM webhook_events)`,
  );
  const events = await source.query<Event[]>(
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
  const known = new Set([...events, ...waiting].map(({ studentId }) => studentId));
  const endpointsOf = new Map(subjects.map(({ studentId, endpoints }) => [studentId, endpoints]));
  const lostSubjects = subjects.filter(({ studentId }) => !known.has(studentId));

  const judged = events.map((event) => ({ event, ...judge(event, endpointsOf.get(event.studentId) ?? [], receipts) }));
  return {
    facts: events.length + waiting.length + lostSubjects.length,
    received: judged.filter(({ accepted }) => accepted).length,
    lostFacts: [
      ...lostSubjects.map(({ studentId }) => `the fact about student ${studentId} was committed and is lost`),
      ...waiting.map(({ id }) => `fact ${id} never became an event`),
      ...judged
        .filter(({ accepted, succeeded }) => !accepted || !succeeded)
        .map(
          ({ event, accepted }) =>
            `event ${event.eventId}${accepted ? '' : ', not accepted'}: ${JSON.stringify(event.deliveries)}`,
        ),
    ],
  };
}

function judge({ eventId, deliveries }: Event, endpoints: readonly Id[], receipts: Pick<Receipts, 'has'>) {
  return {
    accepted: endpoints.every((endpointId) => receipts.has(endpointId, eventId)),
    succeeded: endpoints.every((endpointId) =>
      deliveries.some((delivery) => delivery.endpointId === endpointId && delivery.status === 'succeeded'),
    ),
  };
}
