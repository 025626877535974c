/** Enrollments as they are shown: to administrators with their student, to students their own. */
import type { RecordOf } from '../../../contract/contract.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { raw, sql } from '../../../platform/infra/postgres/sql.ts';
import { notFound } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { countListed } from '../../../platform/infra/postgres/lists/counts.ts';
import { windowOf, type Page, type PageRequest } from '../../../platform/infra/postgres/lists/page.ts';
import { presentOpening, type OpeningRow } from '../deliveries/deliveries.ts';
import { enrollmentStatus } from './enrollments.policy.ts';
import { enrollmentColumns, enrollmentsWithDelivery, type EnrollmentRow } from './rows.ts';

interface EnrollmentOfStudent extends EnrollmentRow {
  studentName: string;
  studentEmail: string;
}

const columns = `${enrollmentColumns}, student.name AS "studentName", student.email AS "studentEmail"`;
const tables = `${enrollmentsWithDelivery} JOIN students student ON student.id = enrollment.student_id`;
const shown = `enrollment.revoked_reason IS DISTINCT FROM 'removal'`;

/** What both kinds of caller see. */
function presentAccess(enrollment: EnrollmentRow, now: Date) {
  return {
    id: enrollment.id,
    status: enrollmentStatus(enrollment, now),
    delivery: { id: enrollment.deliveryId, name: enrollment.deliveryName },
    ...(enrollment.cohortId !== null && { cohort_id: enrollment.cohortId }),
    source: enrollment.source,
    starts_at: enrollment.startsAt.toISOString(),
    ...(enrollment.endsAt !== null && { ends_at: enrollment.endsAt.toISOString() }),
    ...(enrollment.revokedAt !== null && { revoked_at: enrollment.revokedAt.toISOString() }),
    ...(enrollment.revokedReason !== null && { revoked_reason: enrollment.revokedReason }),
    created_at: enrollment.createdAt.toISOString(),
  };
}

function presentEnrollment(enrollment: EnrollmentOfStudent, now: Date): RecordOf<'Enrollment'> {
  const { studentId: id, studentName: name, studentEmail: email } = enrollment;
  return { ...presentAccess(enrollment, now), student: { id, name, email } };
}

/** @throws DomainError not_found, also for an enrollment that was removed */
export async function readEnrollment(
  db: Queries,
  clubId: Id,
  enrollmentId: Id,
  now: Date,
): Promise<RecordOf<'Enrollment'>> {
  const enrollment = await db.one<EnrollmentOfStudent>(
    sql`SELECT ${raw(columns)} FROM ${raw(tables)} WHERE enrollment.id = ${enrollmentId} AND enrollment.club_id = ${clubId} AND ${raw(shown)}`,
  );
  if (!enrollment) throw notFound('enrollment');
  return presentEnrollment(enrollment, now);
}

export interface EnrollmentFilter extends PageRequest {
  student_id?: Id;
  delivery_id?: Id;
  revoked?: boolean;
}

/** @returns a page of the club's enrollments, newest first, without those that were removed */
export async function listEnrollments(
  db: Queries,
  clubId: Id,
  filter: EnrollmentFilter,
  now: Date,
): Promise<Page<RecordOf<'Enrollment'>>> {
  const conditions = ['enrollment.club_id = $1', shown];
  const parameters: unknown[] = [clubId];
  for (const column of ['student_id', 'delivery_id'] as const) {
    if (filter[column] === undefined) continue;
    parameters.push(filter[column]);
    conditions.push(`enrollment.${column} = $${parameters.length}`);
  }
  if (filter.revoked !== undefined) conditions.push(`enrollment.revoked_at IS ${filter.revoked ? 'NOT NULL' : 'NULL'}`);
  const rows = await pageOf<EnrollmentOfStudent>(db, columns, conditions, parameters, filter);
  const total =
    filter.student_id === undefined
      ? await countListed(db, { list: 'enrollments', clubId, subjectId: filter.delivery_id, marked: filter.revoked })
      : await countOneByOne(db, conditions, parameters);
  return { rows: rows.map((row) => presentEnrollment(row, now)), total };
}

/** @returns a page of what the student has or had access to, newest first */
export async function listOwnEnrollments(
  db: Queries,
  studentId: Id,
  page: PageRequest,
  now: Date,
): Promise<Page<RecordOf<'OwnEnrollment'>>> {
  const conditions = ['enrollment.student_id = $1', shown];
  const rows = await pageOf<EnrollmentRow & { opens: OpeningRow }>(
    db,
    `${columns}, jsonb_build_object('kind', delivery.kind, 'courseId', delivery.course_id, 'cohortId', delivery.cohort_id,
                        'agentId', delivery.agent_id) AS opens`,
    conditions,
    [studentId],
    page,
  );
  const total = await countOneByOne(db, conditions, [studentId]);
  return { rows: rows.map((row) => ({ ...presentAccess(row, now), opens: presentOpening(row.opens) })), total };
}

async function pageOf<Row>(
  db: Queries,
  selected: string,
  conditions: readonly string[],
  parameters: readonly unknown[],
  page: PageRequest,
): Promise<Row[]> {
  const { limit, offset } = windowOf(page);
  return db.query<Row[]>(
    `SELECT ${selected} FROM ${tables} WHERE ${conditions.join(' AND ')}
      ORDER BY enrollment.created_at DESC, enrollment.id DESC LIMIT ${limit} OFFSET ${offset}`,
    [...parameters],
  );
}

/** One student's are few. */
async function countOneByOne(
  db: Queries,
  conditions: readonly string[],
  parameters: readonly unknown[],
): Promise<number> {
  const [counted] = await db.query<{ total: number }[]>(
    `SELECT count(*)::int AS total FROM enrollments enrollment WHERE ${conditions.join(' AND ')}`,
    [...parameters],
  );
  return counted?.total ?? 0;
}
