/**
 * Finds the audience of a fact: its student, the endpoints that subscribed to its type, and whether the club's log has it (HOOK-1, ENG-6,
 * EVT-23).
 */
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
  student: SubjectStudent | undefined;
  endpoints: readonly SubscribedEndpoint[];
  /** The club's log has the event even without a subscribed endpoint. */
  isLogged: boolean;
}

/** An endpoint that subscribed to the type of a fact. */
export interface SubscribedEndpoint extends AttemptTarget {
  /** Whether no attempt at the endpoint has failed since the last accepted attempt. */
  healthy: boolean;
  /** The endpoint is enabled, healthy and not throttled, so an attempt may be made immediately. */
  open: boolean;
}

/** @returns whether the event needs a body. If the student is removed, only the event of the removal has a body (DEL-9) */
export function needsBody(audience: Audience): audience is Audience & { student: SubjectStudent } {
  const { fact, student, endpoints, isLogged } = audience;
  if (endpoints.length === 0 && !isLogged) return false;
  return student !== undefined && (!student.removed || fact.type === 'student.removed');
}

/**
 * Finds the facts that an endpoint or the log of their club needs. It takes no lock, because later subscriptions must not get these facts.
 * A single fact that is not bulk is not looked up, because its fan-out reads these rows anyway.
 */
export async function factsToFanOut(db: Queries, facts: readonly ClaimedFact[]): Promise<readonly ClaimedFact[]> {
  if (facts.length === 1 && facts[0]?.priority !== bulk) return facts;
  const rows = await db.rows<{ id: Id }>(sql`SELECT given.id
      FROM unnest(${facts.map(({ id }) => id)}::uuid[], ${facts.map(({ clubId }) => clubId)}::uuid[], ${facts.map(({ type }) => type)}::text[]) AS given (id, club_id, type)
     WHERE NOT EXISTS (SELECT FROM clubs WHERE clubs.id = given.club_id AND clubs.events_logged_since IS NOT NULL AND clubs.erasing_at IS NULL)
       AND NOT EXISTS (SELECT FROM webhook_endpoints endpoint
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
  const [student] = rows;
  return { fact, student, endpoints: rows.filter(hasEndpoint), isLogged: student?.isLogged === true };
}

const hasEndpoint = (row: LockedRow): row is LockedRow & SubscribedEndpoint => row.endpointId !== null;

/**
 * Locks the audiences of several facts.
 * @param facts facts of {@link factsToFanOut}. A club without an endpoint therefore has a log
 * @returns the audiences. Facts whose student another transaction has locked are left out
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
    isLogged: true,
  }));
}

/** Each row has the student and one endpoint. If no endpoint subscribed, the only row has no endpoint. */
type LockedRow = SubjectStudent & { isLogged: boolean } & (
    | SubscribedEndpoint
    | { [Name in keyof SubscribedEndpoint]: null }
  );

const studentColumns = `id, name, email, verified_at IS NOT NULL AS verified, created_at AS "createdAt", removed_at IS NOT NULL AS removed`;

const endpointColumns = `consecutive_failures = 0 AS healthy, status = 'enabled' AND consecutive_failures = 0 AND breaker_step = 0 AS open,
       ${claimSql.target('clock_timestamp()')}`;

/** The join locks the endpoints after the student, because it needs the student first. */
const lockStudentAndEndpoints = prepared<LockedRow, Pick<FactToTell, 'clubId' | 'studentId' | 'type'>>(
  'lock_student_and_endpoints',
  (value) => `WITH student AS MATERIALIZED (
       SELECT ${studentColumns}
         FROM students WHERE id = ${value.studentId} FOR SHARE)
     SELECT student.*, EXISTS (SELECT FROM clubs WHERE clubs.id = ${value.clubId} AND events_logged_since IS NOT NULL AND erasing_at IS NULL) AS "isLogged", endpoint.*
       FROM student LEFT JOIN LATERAL (
         SELECT ${endpointColumns} FROM webhook_endpoints
          WHERE club_id = ${value.clubId} AND status <> 'disabled' AND event_types @> ARRAY[${value.type}] AND student.id IS NOT NULL
          ORDER BY id FOR SHARE) endpoint ON true`,
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
