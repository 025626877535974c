/** Finds the audience of a fact: its student, and the endpoints that subscribed to its type (HOOK-1, ENG-6). */
import { bulk } from '../../../entities/facts/values.ts';
import type { EventType } from '../../../platform/core/event-types.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { ClaimedFact, FactToTell } from '../../../platform/engine/facts.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { prepared } from '../../../platform/infra/postgres/prepared.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { claimSql, type AttemptTarget } from '../attempts/claims.ts';
import type { SubjectStudent } from './bodies/reading.ts';

export interface Audience {
  fact: FactToTell;
  /** The student of the fact. Undefined if no endpoint subscribed to the fact's type, because then the student is not read. */
  student: SubjectStudent | undefined;
  endpoints: readonly SubscribedEndpoint[];
}

/** An endpoint that subscribed to the type of a fact. */
export interface SubscribedEndpoint extends AttemptTarget {
  /** Whether no attempt at the endpoint has failed since the last accepted attempt. */
  healthy: boolean;
  /** Whether an attempt at the endpoint may be made immediately. This requires that it is enabled, healthy and not throttled. */
  open: boolean;
}

/** @returns whether there is anything to send. If the student was removed, only the event about the removal is sent (DEL-9) */
export function isSent(audience: Audience): audience is Audience & { student: SubjectStudent } {
  const { fact, student, endpoints } = audience;
  return endpoints.length > 0 && student !== undefined && (!student.removed || fact.type === 'student.removed');
}

/**
 * Finds the facts that have a subscribed endpoint. The function takes no lock, because an endpoint that subscribes at a later time must not
 * get these facts. If there is only one fact and it is not bulk, the function returns it without a query, because its fan-out reads the
 * same rows.
 */
export async function factsWithSubscribers(
  db: Queries,
  facts: readonly ClaimedFact[],
): Promise<readonly ClaimedFact[]> {
  if (facts.length === 1 && facts[0]?.priority !== bulk) return facts;
  const rows = await db.rows<{ id: Id }>(sql`SELECT given.id
      FROM unnest(${facts.map(({ id }) => id)}::uuid[], ${facts.map(({ clubId }) => clubId)}::uuid[], ${facts.map(({ type }) => type)}::text[]) AS given (id, club_id, type)
     WHERE NOT EXISTS (SELECT FROM webhook_endpoints endpoint
       WHERE endpoint.club_id = given.club_id AND endpoint.status <> 'disabled' AND endpoint.event_types @> ARRAY[given.type])`);
  const without = new Set(rows.map(({ id }) => id));
  return facts.filter(({ id }) => !without.has(id));
}

/**
 * Locks the student and then the endpoints of one fact before it reads them. So a transaction that removes the student, or pauses or
 * disables an endpoint, commits either before the fan-out or after it.
 */
export async function lockAudience(tx: Transaction, fact: FactToTell): Promise<Audience> {
  const { clubId, studentId, type } = fact;
  const rows = await lockStudentAndEndpoints(tx, { clubId, studentId, type });
  return { fact, student: rows[0], endpoints: rows };
}

/**
 * Locks the audiences of several facts.
 * @returns the audiences. The function leaves out a fact if another transaction has locked the student of the fact
 */
export async function lockFreeAudiences<Fact extends FactToTell>(
  tx: Transaction,
  facts: readonly Fact[],
): Promise<(Audience & { fact: Fact })[]> {
  const rows = await lockFreeStudents(tx, { studentIds: facts.map(({ studentId }) => studentId) });
  const students = new Map(rows.map((student) => [student.id, student]));
  const free = facts.filter(({ studentId }) => students.has(studentId));
  const endpoints = await lockEndpoints(tx, {
    clubIds: free.map(({ clubId }) => clubId),
    types: free.map(({ type }) => type),
  });
  return free.map((fact) => ({
    fact,
    student: students.get(fact.studentId),
    endpoints: endpoints.filter(({ clubId, types }) => clubId === fact.clubId && types.includes(fact.type)),
  }));
}

const studentColumns = `id, name, email, verified_at IS NOT NULL AS verified, created_at AS "createdAt", removed_at IS NOT NULL AS removed`;

const endpointColumns = `consecutive_failures = 0 AS healthy, status = 'enabled' AND consecutive_failures = 0 AND breaker_step = 0 AS open,
       ${claimSql.target('clock_timestamp()')}`;

/** Locks the student and then the endpoints. The join requires this order, because it reads the student first. */
const lockStudentAndEndpoints = prepared<
  SubjectStudent & SubscribedEndpoint,
  Pick<FactToTell, 'clubId' | 'studentId' | 'type'>
>(
  'lock_student_and_endpoints',
  (value) => `WITH student AS MATERIALIZED (
       SELECT ${studentColumns}
         FROM students WHERE id = ${value.studentId} FOR SHARE)
     SELECT student.*, endpoint.*
       FROM student CROSS JOIN LATERAL (
         SELECT ${endpointColumns} FROM webhook_endpoints
          WHERE club_id = ${value.clubId} AND status <> 'disabled' AND event_types @> ARRAY[${value.type}] AND student.id IS NOT NULL
          ORDER BY id FOR SHARE) endpoint`,
);

/** Locks the students in the order of their ids (ENG-6). */
const lockFreeStudents = prepared<SubjectStudent, { studentIds: readonly Id[] }>(
  'lock_free_students',
  (value) => `SELECT ${studentColumns}
     FROM students WHERE id = ANY (${value.studentIds}) ORDER BY id FOR SHARE SKIP LOCKED`,
);

const lockEndpoints = prepared<
  SubscribedEndpoint & { clubId: Id; types: EventType[] },
  { clubIds: readonly Id[]; types: readonly EventType[] }
>(
  'lock_endpoints_of_clubs',
  (value) => `SELECT ${endpointColumns}, club_id AS "clubId", event_types AS types
     FROM webhook_endpoints WHERE club_id = ANY (${value.clubIds}) AND status <> 'disabled' AND event_types && ${value.types}::text[]
    ORDER BY id FOR SHARE`,
);
