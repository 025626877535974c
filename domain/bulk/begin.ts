/** Begins a bulk job: finds its students, and writes its rows. The request stores no address (BULK-5). */
import type { RecordOf } from '../../contract/contract.ts';
import { BulkJob } from '../../entities/bulk/bulk-job.ts';
import type { BulkAction, BulkOutcome, BulkRowCode } from '../../entities/bulk/values.ts';
import { DomainError } from '../../platform/core/errors.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { foldEmail } from '../../platform/core/text/text.policy.ts';
import { optionalInstant } from '../../platform/core/time/instants.ts';
import { wake } from '../../platform/engine/wakes.ts';
import type { Transaction } from '../../platform/infra/postgres/database.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import type { DatabaseDeps } from '../deps.ts';
import { findListedStudents } from '../identity/accounts/listed-students.ts';
import { bulkRules } from './bulk.policy.ts';
import { requirePossible } from './effects.ts';
import { findJob } from './jobs.ts';

/** Exactly one of the two fields is present. */
export interface StudentReference {
  student_id?: Id;
  email?: string;
}

type Job = RecordOf<'BulkJob'>;

interface Request {
  clubId: Id;
  students: readonly StudentReference[];
}

/** @throws DomainError not_found (no such tag), too_many_bulk_jobs */
export const beginTagging = (deps: DatabaseDeps, { tagId, ...request }: Request & { tagId: Id }, now: Date) =>
  beginJob(deps, request, { kind: 'tag', tagId: tagId.toLowerCase() }, now);

/** @throws DomainError not_found (no such tag), too_many_bulk_jobs */
export const beginUntagging = (deps: DatabaseDeps, { tagId, ...request }: Request & { tagId: Id }, now: Date) =>
  beginJob(deps, request, { kind: 'untag', tagId: tagId.toLowerCase() }, now);

/**
 * @param times the requested beginning and end of the access, ISO 8601
 * @throws DomainError not_found (no such delivery or cohort), delivery_archived, invalid_request (a time, or the end is not after the
 *   beginning), too_many_bulk_jobs
 */
export function beginGranting(
  deps: DatabaseDeps,
  { deliveryId, cohort_id: cohortId, ...request }: Request & { deliveryId: Id; cohort_id?: Id } & GrantTimes,
  now: Date,
): Promise<Job> {
  const startsAt = optionalInstant(request.starts_at, 'starts_at')?.toISOString();
  const endsAt = optionalInstant(request.ends_at, 'ends_at')?.toISOString();
  return beginJob(
    deps,
    request,
    {
      kind: 'grant',
      deliveryId: deliveryId.toLowerCase(),
      ...(cohortId !== undefined && { cohortId: cohortId.toLowerCase() }),
      ...(startsAt !== undefined && { startsAt }),
      ...(endsAt !== undefined && { endsAt }),
    },
    now,
  );
}

interface GrantTimes {
  starts_at?: string;
  ends_at?: string;
}

/** @throws DomainError not_found (no such delivery), too_many_bulk_jobs */
export const beginRevoking = (
  deps: DatabaseDeps,
  { deliveryId, ...request }: Request & { deliveryId: Id },
  now: Date,
) => beginJob(deps, request, { kind: 'revoke', deliveryId: deliveryId.toLowerCase() }, now);

/** @throws DomainError invalid_request (the points are 0), too_many_bulk_jobs */
export const beginAwarding = (
  deps: DatabaseDeps,
  { points, note, ...request }: Request & { points: number; note?: string },
  now: Date,
) => beginJob(deps, request, { kind: 'award_points', points, ...(note !== undefined && { note }) }, now);

/**
 * The order of locks: the students, the tag or the delivery, the club. The shared locks of the students make sure that a removal finds the
 * rows.
 */
async function beginJob(
  { db }: DatabaseDeps,
  { clubId, students }: Request,
  action: BulkAction,
  now: Date,
): Promise<Job> {
  return db.transaction(async (tx) => {
    const rows = await resolve(tx, clubId, students);
    await requirePossible(tx, clubId, action, now);
    await requireFewJobs(tx, clubId);
    const id = newId();
    const countOf = (outcome: BulkOutcome) => rows.filter((row) => row.outcome === outcome).length;
    await tx.manager.insert(BulkJob, {
      id,
      clubId,
      action,
      status: 'pending',
      rowsTotal: rows.length,
      unchangedCount: countOf('unchanged'),
      failedCount: countOf('failed'),
      looksAt: new Date(now.getTime() + bulkRules.silenceMs),
      createdAt: now,
    });
    await tx.run(sql`INSERT INTO bulk_job_rows (job_id, row, student_id, outcome, code)
       SELECT ${id}, (one->>'row')::int, (one->>'studentId')::uuid, one->>'outcome', one->>'code'
         FROM jsonb_array_elements(${JSON.stringify(rows)}::jsonb) AS one`);
    await wake(tx, 'bulkJob', [{ id, clubId }], now);
    return findJob(tx, clubId, id);
  });
}

interface NewRow {
  row: number;
  outcome: BulkOutcome;
  studentId?: Id;
  code?: BulkRowCode;
}

/** An unknown student gets a failed row, and a repeated student gets the row of a duplicate. */
async function resolve(tx: Transaction, clubId: Id, references: readonly StudentReference[]): Promise<NewRow[]> {
  const keys = references.map(({ student_id: id, email }) =>
    email === undefined ? { id: id?.toLowerCase() } : { email: foldEmail(email) },
  );
  const ids = keys.flatMap(({ id }) => id ?? []);
  const emails = keys.flatMap(({ email }) => email ?? []);
  const students = await findListedStudents(tx, clubId, { ids, emails });
  const found = new Map(students.flatMap(({ id, email }) => [[id, id] as const, [email, id] as const]));
  const named = new Set<Id>();
  return keys.map(({ id: givenId, email }, at): NewRow => {
    const row = at + 1;
    const id = found.get(email ?? givenId ?? '');
    if (id === undefined) return { row, outcome: 'failed', code: 'student_not_found' };
    if (named.has(id)) return { row, outcome: 'unchanged', code: 'duplicate', studentId: id };
    named.add(id);
    return { row, outcome: 'pending', studentId: id };
  });
}

/** Locks the club's row, so that concurrent requests count each other's jobs. @throws DomainError too_many_bulk_jobs */
async function requireFewJobs(tx: Transaction, clubId: Id): Promise<void> {
  await tx.run(sql`SELECT FROM clubs WHERE id = ${clubId} FOR NO KEY UPDATE`);
  const row = await tx.one<{ open: number }>(
    sql`SELECT count(*)::int AS open FROM bulk_jobs WHERE club_id = ${clubId} AND completed_at IS NULL`,
  );
  const { maxOpen } = bulkRules;
  if (row && row.open >= maxOpen)
    throw new DomainError(
      'too_many_bulk_jobs',
      `${maxOpen} bulk jobs of the club have not ended. Wait until one of them has ended.`,
    );
}
