/** Courses and who has access to them, for tests to start from. They are inserted as they are, so that none of them raises a fact. */
import type { EnrollmentSource, RevocationReason } from '../../../domain/access/enrollment.policy.ts';
import { newId, type Id } from '../../../domain/core/ids.ts';
import type { CourseStatus } from '../../../entities/learning/course.ts';
import { testDatabase } from '../stack/database.ts';
import { buildStudent } from './factories.ts';

export interface TestLesson {
  id: Id;
  publicId: string;
  moduleId: Id;
}

export interface TestCourse {
  id: Id;
  publicId: string;
  title: string;
  moduleIds: Id[];
  /** In the order in which students see them. */
  lessons: TestLesson[];
}

export interface CourseOptions {
  title?: string;
  publicId?: string;
  status?: CourseStatus;
  /** How many. */
  modules?: number;
  /** How many each module has. */
  lessons?: number;
  /** What the first completion of each lesson awards. */
  points?: number;
  hours?: number | null;
  certificateOnCompletion?: boolean;
}

/** A course, published unless told, whose lessons are all published. */
export async function buildCourse(
  clubId: Id,
  {
    title = 'Knots for Beginners',
    publicId = `course-${newId().slice(-12)}`,
    status = 'published',
    modules = 2,
    lessons = 2,
    points = 0,
    hours = null,
    certificateOnCompletion = false,
  }: CourseOptions = {},
): Promise<TestCourse> {
  const source = await testDatabase();
  const now = new Date();
  const course: TestCourse = { id: newId(), publicId, title, moduleIds: [], lessons: [] };
  await source.query(
    `INSERT INTO courses (id, club_id, public_id, title, status, hours, certificate_on_completion, created_at, updated_at, published_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9)`,
    [course.id, clubId, publicId, title, status, hours, certificateOnCompletion, now, status === 'draft' ? null : now],
  );
  for (let position = 0; position < modules; position++) {
    const moduleId = newId();
    course.moduleIds.push(moduleId);
    await source.query(
      `INSERT INTO modules (id, club_id, course_id, title, position, created_at) VALUES ($1, $2, $3, $4, $5, $6)`,
      [moduleId, clubId, course.id, `Module ${position + 1}`, position, now],
    );
    for (let place = 0; place < lessons; place++) {
      course.lessons.push(await buildLesson(clubId, course.id, moduleId, { position: place, points }));
    }
  }
  return course;
}

/** A lesson at a place of a module, published unless told. */
export async function buildLesson(
  clubId: Id,
  courseId: Id,
  moduleId: Id,
  { position = 0, points = 0, published = true } = {},
): Promise<TestLesson> {
  const source = await testDatabase();
  const id = newId();
  const publicId = `lesson-${id.slice(-12)}`;
  const title = `Lesson ${position + 1}`;
  const now = new Date();
  await source.query(
    `INSERT INTO lessons (id, club_id, course_id, module_id, public_id, title, content, position, points, created_at, updated_at, published_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10, $11)`,
    [id, clubId, courseId, moduleId, publicId, title, `# ${title}`, position, points, now, published ? now : null],
  );
  return { id, publicId, moduleId };
}

/** A cohort of a course, without dates unless told. */
export async function buildCohort(
  clubId: Id,
  courseId: Id,
  {
    name = 'Spring',
    startsAt = null,
    endsAt = null,
  }: { name?: string; startsAt?: Date | null; endsAt?: Date | null } = {},
): Promise<{ id: Id; name: string }> {
  const source = await testDatabase();
  const id = newId();
  await source.query(
    `INSERT INTO cohorts (id, club_id, course_id, name, starts_at, ends_at, created_at, updated_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $7)`,
    [id, clubId, courseId, name, startsAt, endsAt, new Date()],
  );
  return { id, name };
}

export interface TestDelivery {
  id: Id;
  name: string;
  courseId: Id;
}

interface DeliveryOptions {
  courseId?: Id;
  cohortId?: Id | null;
  name?: string;
  free?: boolean;
  accessDays?: number | null;
  archived?: boolean;
}

/** A delivery that opens a course: a new one, unless told which. */
export async function buildDelivery(
  clubId: Id,
  {
    courseId: given,
    cohortId = null,
    name = `Delivery ${newId().slice(-12)}`,
    free = false,
    accessDays = null,
    archived = false,
  }: DeliveryOptions = {},
): Promise<TestDelivery> {
  const source = await testDatabase();
  const courseId = given ?? (await buildCourse(clubId)).id;
  const id = newId();
  const now = new Date();
  await source.query(
    `INSERT INTO access_deliveries (id, club_id, name, kind, course_id, cohort_id, free, access_days, created_at, updated_at, archived_at)
     VALUES ($1, $2, $3, 'course', $4, $5, $6, $7, $8, $8, $9)`,
    [id, clubId, name, courseId, cohortId, free, accessDays, now, archived ? now : null],
  );
  return { id, name, courseId };
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
  /** The purchase or the subscription, for these two sources. */
  originId?: Id | null;
  startsAt?: Date;
  endsAt?: Date | null;
  /** Revoked a moment ago, for this reason. */
  revoked?: RevocationReason;
}

/** A student's access to a delivery, active and without an end unless told; student and delivery are new ones unless told. */
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
  const deliveryId = givenDelivery ?? (await buildDelivery(clubId)).id;
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
