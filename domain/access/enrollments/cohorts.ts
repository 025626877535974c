/** Lets administrators list, create, change and delete the cohorts of courses. */
import { requireUnnamed } from '../../watches/watches.ts';
import { Cohort } from '../../../entities/access/cohort.ts';
import { Course } from '../../../entities/learning/course.ts';
import { Enrollment } from '../../../entities/access/enrollment.ts';
import type { RecordOf } from '../../../contract/contract.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { columns, sql, type RowOf } from '../../../platform/infra/postgres/sql.ts';
import type { DatabaseDeps } from '../../deps.ts';
import { DomainError, notFound } from '../../../platform/core/errors.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { changedInstant, optionalInstant } from '../../../platform/core/time/instants.ts';
import { newestFirst } from '../../../platform/infra/postgres/lists/order.ts';
import { type Page, type PageRequest, listPage } from '../../../platform/infra/postgres/lists/page.ts';
import { tidyName } from '../../../platform/core/text/text.policy.ts';

const cohortColumns = columns(Cohort, ['id', 'courseId', 'name', 'startsAt', 'endsAt', 'createdAt', 'updatedAt']);
type CohortRow = RowOf<typeof cohortColumns>;
type CohortDates = Pick<Cohort, 'startsAt' | 'endsAt'>;

function presentCohort(cohort: CohortRow): RecordOf<'Cohort'> {
  return {
    id: cohort.id,
    course_id: cohort.courseId,
    name: cohort.name,
    ...(cohort.startsAt !== null && { starts_at: cohort.startsAt.toISOString() }),
    ...(cohort.endsAt !== null && { ends_at: cohort.endsAt.toISOString() }),
    created_at: cohort.createdAt.toISOString(),
    updated_at: cohort.updatedAt.toISOString(),
  };
}

async function requireCourse(db: Queries, clubId: Id, courseId: Id): Promise<void> {
  if (!(await db.manager.existsBy(Course, { id: courseId, clubId }))) throw notFound('course');
}

/**
 * Finds a cohort of the course with a shared lock, so that it is not deleted until the transaction ends.
 * @throws DomainError not_found for a cohort of another course
 */
export async function lockCohortForShare(tx: Transaction, courseId: Id | null, cohortId: Id): Promise<CohortDates> {
  const cohort = await tx.one<CohortDates>(
    sql`SELECT ${columns(Cohort, ['startsAt', 'endsAt'])} FROM cohorts WHERE id = ${cohortId} AND course_id = ${courseId} FOR SHARE`,
  );
  if (!cohort) throw notFound('cohort');
  return cohort;
}

/** @returns a page of the course's cohorts, newest first @throws DomainError not_found (no such course) */
export async function listCohorts(
  db: Queries,
  clubId: Id,
  courseId: Id,
  page: PageRequest,
): Promise<Page<RecordOf<'Cohort'>>> {
  await requireCourse(db, clubId, courseId);
  const { rows, total, next } = await listPage(db, page, {
    columns: cohortColumns,
    from: sql`FROM cohorts WHERE course_id = ${courseId}`,
    changedAt: 'changed_at',
    orderBy: newestFirst(),
  });
  return { rows: rows.map(presentCohort), total, next };
}

/** @throws DomainError not_found (no such course), invalid_request (the end is not after the beginning) */
export async function createCohort(
  { db }: DatabaseDeps,
  clubId: Id,
  courseId: Id,
  input: { name: string; starts_at?: string; ends_at?: string },
  now: Date,
): Promise<RecordOf<'Cohort'>> {
  return db.transaction(async (tx) => {
    await requireCourse(tx, clubId, courseId);
    const startsAt = optionalInstant(input.starts_at, 'starts_at') ?? null;
    const endsAt = optionalInstant(input.ends_at, 'ends_at') ?? null;
    requireNonEmptySpan({ startsAt, endsAt });
    const id = newId();
    await tx.manager.insert(Cohort, {
      id,
      clubId,
      courseId,
      name: tidyName(input.name),
      startsAt,
      endsAt,
      createdAt: now,
      updatedAt: now,
    });
    return presentCohort(await lockCohort(tx, clubId, id));
  });
}

/**
 * Changes the fields of the cohort that `input` contains. Students in the cohort keep the dates of their access.
 * @throws DomainError not_found, invalid_request (the end is not after the beginning)
 */
export async function updateCohort(
  { db }: DatabaseDeps,
  clubId: Id,
  cohortId: Id,
  input: { name?: string; starts_at?: string; ends_at?: string },
  now: Date,
): Promise<RecordOf<'Cohort'>> {
  return db.transaction(async (tx) => {
    const before = await lockCohort(tx, clubId, cohortId);
    const [startsAt, endsAt] = [changedInstant(input.starts_at, 'starts_at'), changedInstant(input.ends_at, 'ends_at')];
    const after: CohortRow = {
      ...before,
      ...(input.name !== undefined && { name: tidyName(input.name) }),
      ...(startsAt !== undefined && { startsAt }),
      ...(endsAt !== undefined && { endsAt }),
      updatedAt: now,
    };
    requireNonEmptySpan(after);
    await tx.manager.update(
      Cohort,
      { id: cohortId },
      { name: after.name, startsAt: after.startsAt, endsAt: after.endsAt, updatedAt: now },
    );
    return presentCohort(after);
  });
}

/**
 * Deletes a cohort that no delivery, enrollment or automation uses. Removed enrollments lose their cohort. That does no harm, because they
 * never become active again.
 * @throws DomainError not_found, in_use
 */
export async function deleteCohort({ db }: DatabaseDeps, clubId: Id, cohortId: Id): Promise<void> {
  await db.transaction(async (tx) => {
    await lockCohort(tx, clubId, cohortId);
    const users = await tx.one<{
      delivery: boolean;
      enrollment: boolean;
    }>(sql`SELECT EXISTS (SELECT FROM access_deliveries WHERE cohort_id = ${cohortId}) AS delivery,
              EXISTS (SELECT FROM enrollments WHERE cohort_id = ${cohortId} AND revoked_reason IS DISTINCT FROM 'removal') AS enrollment`);
    if (users?.delivery) throw new DomainError('in_use', 'A delivery of this club opens this cohort.');
    if (users?.enrollment) throw new DomainError('in_use', 'Students are enrolled in this cohort.');
    await requireUnnamed(tx, 'cohort', cohortId);
    await tx.manager.update(Enrollment, { cohortId }, { cohortId: null });
    await tx.manager.delete(Cohort, { id: cohortId });
  });
}

/**
 * Locks the cohort's row until the transaction ends. Other changes of the cohort and new enrollments in it wait until then. @throws
 * DomainError not_found
 */
async function lockCohort(tx: Transaction, clubId: Id, cohortId: Id): Promise<CohortRow> {
  const cohort = await tx.one<CohortRow>(
    sql`SELECT ${cohortColumns} FROM cohorts WHERE id = ${cohortId} AND club_id = ${clubId} FOR UPDATE`,
  );
  if (!cohort) throw notFound('cohort');
  return cohort;
}

function requireNonEmptySpan({ startsAt, endsAt }: CohortDates): void {
  if (startsAt !== null && endsAt !== null && endsAt <= startsAt)
    throw new DomainError('invalid_request', '`ends_at` must be after `starts_at`.');
}
