/** Lists enrollments. Administrators see them with their students. Students see only their own. */
import { Student } from '../../../entities/identity/student.ts';
import type { RecordOf } from '../../../contract/contract.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { all, columns, sql, type RowOf } from '../../../platform/infra/postgres/sql.ts';
import { notFound } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { countListed } from '../../../platform/infra/postgres/lists/counts.ts';
import { newestFirst } from '../../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page, type PageRequest } from '../../../platform/infra/postgres/lists/page.ts';
import { presentOpening, type OpeningRow } from '../deliveries/deliveries.ts';
import { enrollmentStatus } from './enrollments.policy.ts';
import { enrollmentColumns, enrollmentsWithDelivery, type EnrollmentRow } from './rows.ts';

const columnsWithStudent = enrollmentColumns.and<{ studentName: string; studentEmail: string }>(
  columns(Student, { studentName: 'name', studentEmail: 'email' }, 'student'),
);
type EnrollmentOfStudent = RowOf<typeof columnsWithStudent>;
const enrollmentsWithStudent = sql`FROM ${enrollmentsWithDelivery} JOIN students student ON student.id = enrollment.student_id`;
const notRemoved = sql`enrollment.revoked_reason IS DISTINCT FROM 'removal'`;
const order = newestFirst('enrollment');

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

/** @throws DomainError not_found (also for a removed enrollment) */
export async function readEnrollment(
  db: Queries,
  clubId: Id,
  enrollmentId: Id,
  now: Date,
): Promise<RecordOf<'Enrollment'>> {
  const enrollment = await db.one<EnrollmentOfStudent>(
    sql`SELECT ${columnsWithStudent} ${enrollmentsWithStudent}
         WHERE enrollment.id = ${enrollmentId} AND enrollment.club_id = ${clubId} AND ${notRemoved}`,
  );
  if (!enrollment) throw notFound('enrollment');
  return presentEnrollment(enrollment, now);
}

export interface EnrollmentFilter extends PageRequest {
  student_id?: Id;
  delivery_id?: Id;
  revoked?: boolean;
}

/** @returns a page of the club's enrollments, newest first, without removed ones */
export async function listEnrollments(
  db: Queries,
  clubId: Id,
  filter: EnrollmentFilter,
  now: Date,
): Promise<Page<RecordOf<'Enrollment'>>> {
  const revoked = filter.revoked ? sql`enrollment.revoked_at IS NOT NULL` : sql`enrollment.revoked_at IS NULL`;
  const filters = all([
    sql`enrollment.club_id = ${clubId} AND ${notRemoved}`,
    filter.student_id === undefined ? undefined : sql`enrollment.student_id = ${filter.student_id}`,
    filter.delivery_id === undefined ? undefined : sql`enrollment.delivery_id = ${filter.delivery_id}`,
    filter.revoked === undefined ? undefined : revoked,
  ]);
  const tally = { list: 'enrollments', clubId, subjectId: filter.delivery_id, marked: filter.revoked } as const;
  const { rows, total, next } = await listPage(db, filter, {
    columns: columnsWithStudent,
    from: sql`${enrollmentsWithStudent} WHERE ${filters}`,
    counted: sql`FROM enrollments enrollment WHERE ${filters}`,
    orderBy: order,
    changedAt: 'enrollment.changed_at',
    // A student has few enrollments, so the query counts their rows and needs no stored total.
    ...(filter.student_id === undefined && { total: () => countListed(db, tally) }),
  });
  return { rows: rows.map((row) => presentEnrollment(row, now)), total, next };
}

/**
 * The columns of the delivery form a nested record, because deliveries and enrollments both have a column for the cohort. In one flat
 * record these two names would conflict.
 */
const columnsWithOpening = enrollmentColumns.and<{ opens: OpeningRow }>(
  sql`jsonb_build_object('kind', delivery.kind, 'courseId', delivery.course_id, 'cohortId', delivery.cohort_id,
                         'agentId', delivery.agent_id, 'repositoryId', delivery.repository_id,
                         'spaceId', delivery.space_id) AS opens`,
);

/** @returns a page of the student's current and past access, newest first */
export async function listOwnEnrollments(
  db: Queries,
  studentId: Id,
  page: PageRequest,
  now: Date,
): Promise<Page<RecordOf<'OwnEnrollment'>>> {
  const filters = sql`enrollment.student_id = ${studentId} AND ${notRemoved}`;
  const { rows, total, next } = await listPage(db, page, {
    columns: columnsWithOpening,
    from: sql`FROM ${enrollmentsWithDelivery} WHERE ${filters}`,
    counted: sql`FROM enrollments enrollment WHERE ${filters}`,
    orderBy: order,
  });
  return { rows: rows.map((row) => ({ ...presentAccess(row, now), opens: presentOpening(row.opens) })), total, next };
}
