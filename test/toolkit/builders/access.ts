/** Builds access to courses and agents: deliveries, and enrollments of students. These builders record no facts. */
import type { EnrollmentSource, RevocationReason } from '../../../entities/access/values.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { testDatabase } from '../stack/database.ts';
import { buildStudent, type TestStudent } from './clubs.ts';
import { buildCourse, type CourseOptions, type TestCourse } from './courses.ts';

export interface TestAccessDelivery {
  id: Id;
  name: string;
  courseId: Id;
}

interface AccessDeliveryOptions {
  courseId?: Id;
  agentId?: Id;
  repositoryId?: Id;
  spaceId?: Id;
  cohortId?: Id | null;
  name?: string;
  free?: boolean;
  accessDays?: number | null;
  archived?: boolean;
}

/** A delivery that opens the given agent, repository, space or course. The default is a new course. */
export async function buildAccessDelivery(
  clubId: Id,
  options: AccessDeliveryOptions & ({ agentId: Id } | { repositoryId: Id } | { spaceId: Id }),
): Promise<Omit<TestAccessDelivery, 'courseId'>>;
export async function buildAccessDelivery(clubId: Id, options?: AccessDeliveryOptions): Promise<TestAccessDelivery>;
export async function buildAccessDelivery(
  clubId: Id,
  {
    courseId: given,
    agentId,
    repositoryId,
    spaceId,
    cohortId = null,
    name = `Delivery ${newId().slice(-12)}`,
    free = false,
    accessDays = null,
    archived = false,
  }: AccessDeliveryOptions = {},
): Promise<Partial<TestAccessDelivery>> {
  const source = await testDatabase();
  const other = agentId ?? repositoryId ?? spaceId;
  const courseId = other === undefined ? (given ?? (await buildCourse(clubId)).id) : null;
  const id = newId();
  const now = new Date();
  const kind = agentId ? 'agent' : repositoryId ? 'repository' : spaceId ? 'space' : 'course';
  await source.query(
    `INSERT INTO access_deliveries (id, club_id, name, kind, course_id, agent_id, repository_id, space_id, cohort_id, free, access_days, created_at, updated_at, archived_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12, $13)`,
    [
      id,
      clubId,
      name,
      kind,
      courseId,
      agentId,
      repositoryId,
      spaceId,
      cohortId,
      free,
      accessDays,
      now,
      archived ? now : null,
    ],
  );
  return { id, name, ...(courseId !== null && { courseId }) };
}

export interface TestEnrollment {
  id: Id;
  studentId: Id;
  deliveryId: Id;
}

interface EnrollmentOptions {
  studentId?: Id;
  deliveryId?: Id;
  cohortId?: Id | null;
  source?: EnrollmentSource;
  /** The id of the purchase or subscription that caused the enrollment. */
  originId?: Id | null;
  startsAt?: Date;
  endsAt?: Date | null;
  /** Why the enrollment was revoked a moment ago. */
  revoked?: RevocationReason;
}

/**
 * Gives a student access to a delivery. The student and the delivery are new by default. The access is active and has no end by default.
 */
export async function buildEnrollment(
  clubId: Id,
  {
    studentId: givenStudent,
    deliveryId: givenDelivery,
    cohortId = null,
    source: cause = 'grant',
    originId = null,
    startsAt = new Date(),
    endsAt = null,
    revoked,
  }: EnrollmentOptions = {},
): Promise<TestEnrollment> {
  const source = await testDatabase();
  const studentId = givenStudent ?? (await buildStudent(clubId)).id;
  const deliveryId = givenDelivery ?? (await buildAccessDelivery(clubId)).id;
  const id = newId();
  const now = new Date();
  await source.query(
    `INSERT INTO enrollments (id, club_id, student_id, delivery_id, cohort_id, source, origin_id, starts_at, ends_at, revoked_at,
                              revoked_reason, created_at, updated_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12)`,
    [
      id,
      clubId,
      studentId,
      deliveryId,
      cohortId,
      cause,
      originId,
      startsAt,
      endsAt,
      revoked ? now : null,
      revoked ?? null,
      now,
    ],
  );
  return { id, studentId, deliveryId };
}

/** A course with one module, and a delivery that opens it. */
export interface OpenCourse extends TestCourse {
  moduleId: Id;
  deliveryId: Id;
}

/** A published course with one module of published lessons, and a delivery that opens it. @param options.lessons their number */
export async function buildOpenCourse(clubId: Id, options: CourseOptions = {}): Promise<OpenCourse> {
  const course = await buildCourse(clubId, { lessons: 1, ...options, modules: 1 });
  const delivery = await buildAccessDelivery(clubId, { courseId: course.id });
  return { ...course, moduleId: course.moduleIds[0] ?? '', deliveryId: delivery.id };
}

export interface Learner extends TestStudent {
  enrollmentId: Id;
}

/** A student who has had access to an open course or agent for a minute. @param student by default a new student */
export async function buildLearner(
  { clubId, deliveryId }: { clubId: Id; deliveryId: Id },
  student?: TestStudent,
): Promise<Learner> {
  const learner = student ?? (await buildStudent(clubId));
  const startsAt = new Date(Date.now() - 60_000);
  const enrollment = await buildEnrollment(clubId, { studentId: learner.id, deliveryId, startsAt });
  return { ...learner, enrollmentId: enrollment.id };
}
