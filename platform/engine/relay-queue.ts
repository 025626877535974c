/** The relay's side of facts and wakes: claiming them in turns over the clubs, and removing what was carried on. */
import type { DataSource } from 'typeorm';
import type { Id } from '../core/ids.ts';
import { prepared } from '../infra/postgres/prepared.ts';
import type { FactToTell } from './facts.ts';
import type { Run } from './workflow-types.ts';

/** How long a relay may work on what it has claimed; one that died has lost it after this. */
const leaseSeconds = 30;
/** When a fact or a wake that could not be carried on is tried again. */
const deferSeconds = 5;

export interface ClaimedWake extends Run {
  workflowId: string;
  seq: string;
}

/**
 * @param perClub at most so many of one club
 * @param except clubs that have enough under way
 * @returns up to `limit` facts: the oldest of each club first, then the second oldest of each …
 */
export async function claimFacts(
  source: DataSource,
  limit: number,
  perClub: number,
  except: readonly Id[],
): Promise<FactToTell[]> {
  return leaseFacts(source, [limit, leaseSeconds, perClub, except]);
}

/** @returns up to `limit` wakes, in turns over the clubs */
export async function claimWakes(source: DataSource, limit: number): Promise<ClaimedWake[]> {
  return leaseWakes(source, [limit, leaseSeconds, limit, []]);
}

/** The workflows of this fact are started. */
export async function removeFact(source: DataSource, id: Id): Promise<void> {
  await deleteFact(source, [id]);
}

/** This wake is sent; one that was raised meanwhile stays, and is free to be claimed at once. */
export async function removeWake(source: DataSource, { workflowId, seq }: ClaimedWake): Promise<void> {
  const removed = await deleteWake(source, [workflowId, seq]);
  if (removed.length === 0) await freeWake(source, [workflowId]);
}

const deleteFact = prepared('delete_fact', `DELETE FROM facts WHERE id = $1`);
const deleteWake = prepared('delete_wake', `DELETE FROM wakes WHERE workflow_id = $1 AND seq = $2 RETURNING 1`);
const freeWake = prepared('free_wake', `UPDATE wakes SET lease_until = NULL WHERE workflow_id = $1`);

/** What could not be carried on is tried again soon, not only when its lease has run out. */
export async function deferFact(source: DataSource, id: Id): Promise<void> {
  await source.query(deferring('facts', 'id'), [id, deferSeconds]);
}

export async function deferWake(source: DataSource, { workflowId }: ClaimedWake): Promise<void> {
  await source.query(deferring('wakes', 'workflow_id'), [workflowId, deferSeconds]);
}

function deferring(table: 'facts' | 'wakes', key: string): string {
  return `UPDATE ${table} SET lease_until = clock_timestamp() + make_interval(secs => $2) WHERE ${key} = $1`;
}

/**
 * Leases rows nobody works on, one a club in turn. The clubs are found by skipping through the index, so that a club with
 * a long backlog costs no more than one with a short one. Rows that others hold are passed over: a relay beside us, or a
 * long transaction that raises a wake, must not hold up the rest.
 */
function inTurns(table: 'facts' | 'wakes', key: string, order: string): string {
  const free = '(lease_until IS NULL OR lease_until < clock_timestamp())';
  return `
    WITH RECURSIVE clubs AS (
      (SELECT club_id FROM ${table} ORDER BY club_id LIMIT 1)
      UNION ALL
      SELECT (SELECT later.club_id FROM ${table} later WHERE later.club_id > clubs.club_id ORDER BY later.club_id LIMIT 1)
        FROM clubs WHERE clubs.club_id IS NOT NULL),
    candidates AS (
      SELECT waiting.${key} AS key, row_number() OVER (PARTITION BY waiting.club_id ORDER BY waiting.${order}) AS turn
        FROM clubs CROSS JOIN LATERAL (
          SELECT ${key}, club_id, ${order} FROM ${table} WHERE club_id = clubs.club_id AND ${free} ORDER BY ${order} LIMIT $3
        ) waiting
       WHERE clubs.club_id <> ALL ($4::uuid[])
       ORDER BY turn LIMIT $1),
    mine AS (
      SELECT ${key} AS key FROM ${table}
       WHERE ${key} IN (SELECT key FROM candidates) AND ${free} FOR UPDATE SKIP LOCKED)
    UPDATE ${table} SET lease_until = clock_timestamp() + make_interval(secs => $2)
      FROM mine WHERE ${table}.${key} = mine.key`;
}

const leaseFacts = prepared<FactToTell>(
  'lease_facts',
  `${inTurns('facts', 'id', 'seq')}
  RETURNING facts.id, facts.club_id AS "clubId", facts.type, facts.student_id AS "studentId",
            facts.subject_id AS "subjectId", facts.details, facts.occurred_at AS "occurredAt"`,
);

const leaseWakes = prepared<ClaimedWake>(
  'lease_wakes',
  `${inTurns('wakes', 'workflow_id', 'recorded_at')}
  RETURNING wakes.workflow_id AS "workflowId", wakes.seq, wakes.workflow_type AS "workflowType",
            wakes.subject_id AS "subjectId", wakes.club_id AS "clubId", wakes.attributes`,
);
