/**
 * Fans a fact out: one body, read from the resource as it is now, and one delivery for each endpoint that asked for the type
 * (HOOK-1).
 */
import type { EventBodyOf } from '../../../contract/contract.ts';
import type { Database, Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { prepared } from '../../../platform/infra/postgres/prepared.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { runOf, type Run } from '../../../platform/engine/workflow-types.ts';
import { bulk } from '../../../entities/facts/values.ts';
import type { ClaimedFact, FactToTell } from '../../../platform/engine/facts.ts';
import type { EventType } from '../../../platform/core/event-types.ts';
import { accessBodies } from './bodies/access.ts';
import { certificateBodies } from './bodies/certificates.ts';
import { learningBodies } from './bodies/learning.ts';
import type { DataReader, SubjectStudent } from './bodies/reading.ts';
import { salesBodies } from './bodies/sales.ts';
import { standingBodies } from './bodies/standing.ts';
import { studentBodies } from './bodies/student.ts';

/** A delivery whose workflow is to be started. */
export interface NewDelivery {
  id: Id;
  endpointId: Id;
  /** The endpoint's last attempt did not fail. */
  healthy: boolean;
}

/**
 * Inserts the event and its deliveries, in one transaction; doing it again changes nothing and gives the same answer, so
 * that a relay which died between the commit and the start is made good by the next one.
 * @returns the deliveries that have a way to go; none for a student who was removed meanwhile
 */
export async function fanOut(db: Database, fact: FactToTell, now: Date): Promise<NewDelivery[]> {
  return db.transaction(async (tx) => {
    const { student, endpoints } = await lockAudience(tx, fact);
    if (endpoints.length === 0) return [];

    // Events about a removed student are not sent, except the removal itself (DEL-9).
    const told = student !== undefined && (!student.removed || fact.type === 'student.removed');
    const deliveries = endpoints.map(({ endpointId, healthy }) => ({ id: newId(), endpointId, healthy }));
    const inserted = await insertDeliveries(tx, [
      JSON.stringify(deliveries),
      fact.clubId,
      fact.id,
      fact.type,
      fact.studentId,
      told ? 'pending' : 'canceled',
      told ? null : 'student_removed',
      told ? null : now,
      now,
      fact.occurredAt,
      told ? await assembleBody(tx, fact, student, now) : null,
    ]);
    if (!told) return [];
    return inserted.length === deliveries.length ? deliveries : pendingOf(tx, fact.id);
  });
}

/**
 * Fans several facts out, each in a transaction of its own. Bulk that no endpoint asked for costs one query together, without a lock.
 * @returns the workflows of their deliveries
 */
export async function fanOutEach(
  db: Database,
  facts: readonly ClaimedFact[],
  now: Date,
): Promise<(Run & { localAttemptAt?: Id })[]> {
  const started = [];
  for (const fact of await askedFor(db, facts))
    for (const { id, endpointId, healthy } of await fanOut(db, fact, now))
      started.push({
        ...runOf('webhookDelivery', { id, clubId: fact.clubId, endpointId, eventType: fact.type }),
        ...(healthy && { localAttemptAt: endpointId }),
      });
  return started;
}

/** @returns the facts without the bulk that no endpoint asked for by now; an endpoint that asks later comes after them */
async function askedFor(db: Queries, facts: readonly ClaimedFact[]): Promise<readonly ClaimedFact[]> {
  const bulky = facts.filter(({ priority }) => priority === bulk);
  if (bulky.length === 0) return facts;
  const unasked = await db.rows<{ id: Id }>(sql`SELECT given.id
      FROM unnest(${bulky.map(({ id }) => id)}::uuid[], ${bulky.map(({ clubId }) => clubId)}::uuid[], ${bulky.map(({ type }) => type)}::text[]) AS given (id, club_id, type)
     WHERE NOT EXISTS (SELECT FROM webhook_endpoints endpoint
       WHERE endpoint.club_id = given.club_id AND endpoint.status <> 'disabled' AND endpoint.event_types @> ARRAY[given.type])`);
  const ids = new Set(unasked.map(({ id }) => id));
  return facts.filter(({ id }) => !ids.has(id));
}

const insertDeliveries = prepared<{ id: Id }>(
  'insert_deliveries',
  `WITH event AS (
         INSERT INTO webhook_events (id, club_id, type, student_id, occurred_at, body, created_at)
         VALUES ($3, $2, $4, $5, $10, $11, $9) ON CONFLICT (id) DO NOTHING)
       INSERT INTO webhook_deliveries (id, club_id, endpoint_id, event_id, event_type, student_id, status, cancel_reason,
                                       payload_purged_at, next_attempt_at, created_at, completed_at)
       SELECT (one->>'id')::uuid, $2, (one->>'endpointId')::uuid, $3, $4, $5, $6, $7, $8, $9, $9, $8
         FROM jsonb_array_elements($1::jsonb) AS one
       ON CONFLICT (event_id, endpoint_id) DO NOTHING
       RETURNING id`,
);

interface Audience {
  student: SubjectStudent | undefined;
  endpoints: { endpointId: Id; healthy: boolean }[];
}

/**
 * Whom it is about and who asked for it, locked before anything is read, the student before the endpoints (the join
 * cannot begin otherwise): a removal, a pause or a disable is wholly before the fan-out or wholly after it.
 */
async function lockAudience(tx: Transaction, fact: FactToTell): Promise<Audience> {
  const rows = await lockStudentAndEndpoints(tx, [fact.clubId, fact.studentId, fact.type]);
  return { student: rows[0], endpoints: rows };
}

const lockStudentAndEndpoints = prepared<SubjectStudent & { endpointId: Id; healthy: boolean }>(
  'lock_student_and_endpoints',
  `WITH student AS MATERIALIZED (
       SELECT id, name, email, verified_at IS NOT NULL AS verified, created_at AS "createdAt", removed_at IS NOT NULL AS removed
         FROM students WHERE id = $2 FOR SHARE)
     SELECT student.*, endpoint.id AS "endpointId", endpoint.healthy
       FROM student CROSS JOIN LATERAL (
         SELECT id, consecutive_failures = 0 AS healthy FROM webhook_endpoints
          WHERE club_id = $1 AND status <> 'disabled' AND event_types @> ARRAY[$3] AND student.id IS NOT NULL
          ORDER BY id FOR SHARE) endpoint`,
);

/** For a fact that is fanned out again: what is still on its way of what the first time inserted. */
function pendingOf(tx: Transaction, eventId: Id): Promise<NewDelivery[]> {
  return tx.rows(
    sql`SELECT delivery.id, delivery.endpoint_id AS "endpointId", endpoint.consecutive_failures = 0 AS healthy
       FROM webhook_deliveries delivery JOIN webhook_endpoints endpoint ON endpoint.id = delivery.endpoint_id
      WHERE delivery.event_id = ${eventId} AND delivery.status = 'pending'`,
  );
}

/** One reader an event type; a type without one cannot be sent yet. */
const dataOf: { [Type in EventType]?: DataReader<EventBodyOf<Type>['data']> } = {
  ...studentBodies,
  ...accessBodies,
  ...salesBodies,
  ...certificateBodies,
  ...learningBodies,
  ...standingBodies,
};

/** @returns the exact JSON that is signed and sent (DEL-14) */
export async function assembleBody(db: Queries, fact: FactToTell, student: SubjectStudent, now: Date): Promise<string> {
  const read: DataReader<object> | undefined = dataOf[fact.type];
  if (!read) throw new Error(`No body is defined for ${fact.type}`);
  return JSON.stringify({
    id: fact.id,
    type: fact.type,
    occurred_at: fact.occurredAt.toISOString(),
    club_id: fact.clubId,
    data: await read(db, fact, student, now),
  });
}

/** @returns the body of a test message, which no fact causes */
export function assembleTestBody(test: { eventId: Id; clubId: Id; endpointId: Id; occurredAt: Date }): string {
  const body: EventBodyOf<'webhook.test'> = {
    id: test.eventId,
    type: 'webhook.test',
    occurred_at: test.occurredAt.toISOString(),
    club_id: test.clubId,
    data: { endpoint: { id: test.endpointId } },
  };
  return JSON.stringify(body);
}
