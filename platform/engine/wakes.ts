/** Wakes: requests to start or signal the workflow of a row. Relays claim, send and delete them (ENG-3). */
import type { DataSource } from 'typeorm';
import type { Priority } from '../../entities/facts/values.ts';
import { noClub, type Id } from '../core/ids.ts';
import { traceparent } from '../infra/tracing.ts';
import { Queries, type Transaction } from '../infra/postgres/database.ts';
import { prepared } from '../infra/postgres/prepared.ts';
import { sql, type Sql } from '../infra/postgres/sql.ts';
import { claimInTurns, deferring, inTurns, type Claimed, type ClaimValues, type Failure, type Room } from './turns.ts';
import { priorityOf, runOf, workflowIdOf, type Run, type Subject, type WorkflowType } from './workflow-types.ts';

/** Writes wakes for rows that this transaction made due. An unsent wake of a workflow is updated. */
export async function wake<T extends WorkflowType>(
  tx: Transaction,
  type: T,
  subjects: readonly Subject<T>[],
  now: Date,
): Promise<void> {
  await wakeRuns(
    tx,
    subjects.map((subject) => runOf(type, subject)),
    now,
  );
}

/** Wakes runs of several types. */
export async function wakeRuns(tx: Transaction, runs: readonly Run[], now: Date): Promise<void> {
  if (runs.length === 0) return;
  await tx.run(insertingWakes(sql`jsonb_array_elements(${wakesOfRuns(runs)}::jsonb) AS one`, sql`${now}`));
  tx.notifyRelay();
}

/** A writer may batch the runs of several callers. Each run then needs its own span, because the active span is the first caller's. */
export interface RunToWake extends Run {
  traceparent?: string | undefined;
}

/** @returns the wakes as JSON, sorted so that concurrent transactions lock the wakes in the same order */
export function wakesOfRuns(runs: readonly RunToWake[]): string {
  const sorted = runs
    .map((run) => ({ ...run, workflowId: workflowIdOf(run.workflowType, run.subjectId) }))
    .toSorted((a, b) => (a.workflowId < b.workflowId ? -1 : 1));
  const here = traceparent();
  return JSON.stringify(
    sorted.map((run) => ({
      ...run,
      clubId: run.clubId ?? noClub,
      priority: priorityOf(run),
      traceparent: 'traceparent' in run ? run.traceparent : here,
    })),
  );
}

/**
 * `wakeRuns` as a part of a larger statement. After the commit, the caller must notify the relay.
 * @param rows yields each element of `wakesOfRuns` as `one`
 */
export function insertingWakes(rows: Sql, now: Sql): Sql {
  return sql`INSERT INTO wakes (workflow_id, workflow_type, subject_id, club_id, attributes, recorded_at, priority, traceparent)
     SELECT one->>'workflowId', one->>'workflowType', one->>'subjectId', (one->>'clubId')::uuid, one->'attributes', ${now}::timestamptz, (one->>'priority')::smallint,
            one->>'traceparent'
       FROM ${rows}
     ON CONFLICT (club_id, workflow_id) DO UPDATE SET seq = nextval('wakes_seq_seq'), raised = true, due_at = least(wakes.due_at, clock_timestamp()),
       priority = least(wakes.priority, excluded.priority), traceparent = coalesce(excluded.traceparent, wakes.traceparent)`;
}

export interface ClaimedWake extends Run {
  /** `noClub` for a row that belongs to no club. */
  clubId: Id;
  workflowId: string;
  seq: string;
  raised: boolean;
  priority: Priority;
  /** Raising the wake does not change this time. */
  recordedAt: Date;
  traceparent: string | null;
}

/** @returns the most urgent first, in rotation over the clubs (ENG-9, ENG-15) */
export async function claimWakes(db: DataSource | Queries, room: Room): Promise<ClaimedWake[]> {
  return claimInTurns(leaseWakes, db, room);
}

const leaseWakes = prepared<Claimed<ClaimedWake>, ClaimValues>(
  'lease_wakes',
  inTurns(
    'wakes',
    'workflow_id',
    'due_at',
    `wakes.workflow_id AS "workflowId", wakes.seq, wakes.raised, wakes.workflow_type AS "workflowType",
     wakes.subject_id AS "subjectId", wakes.club_id AS "clubId", wakes.attributes, wakes.priority,
     wakes.recorded_at AS "recordedAt", wakes.traceparent`,
  ),
);

/** Deletes a sent wake, unless it was raised again since its claim. */
export async function removeWake(source: DataSource, { clubId, workflowId, seq }: ClaimedWake): Promise<void> {
  const removed = await deleteWake(source, { clubId, workflowId, seq });
  if (removed.length === 0) await freeWake(source, { clubId, workflowId });
}

const deleteWake = prepared<object, Pick<ClaimedWake, 'clubId' | 'workflowId' | 'seq'>>(
  'delete_wake',
  (value) =>
    `DELETE FROM wakes WHERE club_id = ${value.clubId} AND workflow_id = ${value.workflowId} AND seq = ${value.seq} RETURNING 1`,
);
const freeWake = prepared<never, Pick<ClaimedWake, 'clubId' | 'workflowId'>>(
  'free_wake',
  // Claims may already begin after the old due time, so the row gets a new one.
  (value) => `UPDATE wakes SET lease_until = NULL, attempt_count = 0, due_at = clock_timestamp()
    WHERE club_id = ${value.clubId} AND workflow_id = ${value.workflowId}`,
);

/** Postpones a wake, like `deferFact`. If it was raised again since its claim, it is due immediately. */
export async function deferWake(source: DataSource, claimed: ClaimedWake, failure: Failure): Promise<void> {
  const { clubId, workflowId } = claimed;
  const row = sql`club_id = ${clubId} AND workflow_id = ${workflowId}`;
  await new Queries(source.manager).run(deferring(sql`wakes`, row, failure));
}
