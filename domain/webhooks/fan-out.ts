/** Turning a fact into deliveries: one body, one delivery an endpoint that asked for the type (DESIGN §5, Fan-out). */
import { inTransaction, type Database, type Transaction } from '../core/database.ts';
import { newId, type Id } from '../core/ids.ts';
import type { WorkflowAttributes } from '../facts/workflow-names.policy.ts';
import { assembleBody, type FactToTell, type SubjectStudent } from './bodies.ts';

/** A delivery whose workflow is to be started. */
export interface NewDelivery {
  id: Id;
  endpointId: Id;
  /** The endpoint's last attempt did not fail. */
  healthy: boolean;
  attributes: WorkflowAttributes;
}

/**
 * Inserts the event and its deliveries, in one transaction; doing it again changes nothing and gives the same answer, so
 * that a relay which died between the commit and the start is made good by the next one.
 * @returns the deliveries that have a way to go; none for a student who was removed meanwhile
 */
export async function fanOut(database: Database, fact: FactToTell, now: Date): Promise<NewDelivery[]> {
  return inTransaction(database, async (tx) => {
    // Locked before anything is read, student before endpoints: a removal, a pause or a disable is wholly before or after.
    const student = await lockStudent(tx, fact.studentId);
    const endpoints = await tx.query<{ id: Id }[]>(
      `SELECT id FROM webhook_endpoints
        WHERE club_id = $1 AND status <> 'disabled' AND event_types @> ARRAY[$2]
        ORDER BY id FOR SHARE`,
      [fact.clubId, fact.type],
    );
    if (endpoints.length === 0) return [];

    // Whatever happened to a student who is removed by now is not told; only the removal is (delivery rule 9).
    const told = student !== undefined && (!student.removed || fact.type === 'student.removed');
    await tx.query(
      `INSERT INTO webhook_events (id, club_id, type, student_id, occurred_at, body, created_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (id) DO NOTHING`,
      [
        fact.id,
        fact.clubId,
        fact.type,
        fact.studentId,
        fact.occurredAt,
        told ? assembleBody(fact, student) : null,
        now,
      ],
    );
    await tx.query(
      `INSERT INTO webhook_deliveries (id, club_id, endpoint_id, event_id, event_type, student_id, status, cancel_reason,
                                       payload_purged_at, next_attempt_at, created_at, completed_at)
       SELECT (one->>'id')::uuid, $2, (one->>'endpointId')::uuid, $3, $4, $5, $6, $7, $8, $9, $9, $8
         FROM jsonb_array_elements($1::jsonb) AS one
       ON CONFLICT (event_id, endpoint_id) DO NOTHING`,
      [
        JSON.stringify(endpoints.map((endpoint) => ({ id: newId(), endpointId: endpoint.id }))),
        fact.clubId,
        fact.id,
        fact.type,
        fact.studentId,
        told ? 'pending' : 'canceled',
        told ? null : 'student_removed',
        told ? null : now,
        now,
      ],
    );
    const pending = await tx.query<Omit<NewDelivery, 'attributes'>[]>(
      `SELECT delivery.id, delivery.endpoint_id AS "endpointId", endpoint.consecutive_failures = 0 AS healthy
         FROM webhook_deliveries delivery JOIN webhook_endpoints endpoint ON endpoint.id = delivery.endpoint_id
        WHERE delivery.event_id = $1 AND delivery.status = 'pending'`,
      [fact.id],
    );
    return pending.map(({ id, endpointId, healthy }) => ({
      id,
      endpointId,
      healthy,
      attributes: { ClubId: fact.clubId, EndpointId: endpointId, EventType: fact.type },
    }));
  });
}

async function lockStudent(tx: Transaction, studentId: Id): Promise<SubjectStudent | undefined> {
  const [student] = await tx.query<SubjectStudent[]>(
    `SELECT id, name, email, verified_at IS NOT NULL AS verified, created_at AS "createdAt", removed_at IS NOT NULL AS removed
       FROM students WHERE id = $1 FOR SHARE`,
    [studentId],
  );
  return student;
}
