/** Courses that are open to students, what is done with them over HTTP, and what was recorded of it. */
import { revokeAccess } from '../../../domain/access/enrollments.ts';
import { inTransaction } from '../../../domain/core/database.ts';
import type { Id } from '../../../domain/core/ids.ts';
import {
  buildCourse,
  buildDelivery,
  buildEnrollment,
  buildLesson,
  type CourseOptions,
  type TestCourse,
  type TestLesson,
} from './access.ts';
import { call, type Answer } from '../drive/api.ts';
import { testDatabase, testPlatform } from '../stack/database.ts';
import { buildStudent, type TestClub, type TestStudent } from './factories.ts';

/** A course with one module, and a delivery that opens it. */
export interface OpenCourse extends TestCourse {
  clubId: Id;
  moduleId: Id;
  deliveryId: Id;
}

/** A published course with one module of published lessons, and a delivery that opens it. @param options.lessons how many */
export async function buildOpenCourse(clubId: Id, options: CourseOptions = {}): Promise<OpenCourse> {
  const course = await buildCourse(clubId, { lessons: 1, ...options, modules: 1 });
  const delivery = await buildDelivery(clubId, { courseId: course.id });
  return { ...course, clubId, moduleId: course.moduleIds[0] ?? '', deliveryId: delivery.id };
}

/** A further lesson at the end of the course, published unless told. */
export function addLesson(
  course: OpenCourse,
  options: { published?: boolean; points?: number } = {},
): Promise<TestLesson> {
  return buildLesson(course.clubId, course.id, course.moduleId, { position: 99, ...options });
}

export interface Learner extends TestStudent {
  enrollmentId: Id;
}

/** A student who has had access to the course for a minute. @param student a new one unless told */
export async function buildLearner({ clubId, deliveryId }: OpenCourse, student?: TestStudent): Promise<Learner> {
  const learner = student ?? (await buildStudent(clubId));
  const startsAt = new Date(Date.now() - 60_000);
  const enrollment = await buildEnrollment(clubId, { studentId: learner.id, deliveryId, startsAt });
  return { ...learner, enrollmentId: enrollment.id };
}

export async function revoke({ clubId }: OpenCourse, { enrollmentId }: Learner): Promise<void> {
  const { database } = await testPlatform();
  await inTransaction(database, (tx) => revokeAccess(tx, clubId, enrollmentId, 'revocation', new Date()));
}

/** What a student does in the classroom, over HTTP. */
export function classroomOf({ clubId }: { clubId: Id }, { token }: { token: string }) {
  const at = `/v1/clubs/${clubId}/classroom`;
  const completion = (publicId: string) => `${at}/lessons/${publicId}/completion`;
  return {
    courses: (query = ''): Promise<Answer> => call('GET', `${at}/courses${query}`, { token }),
    course: (publicId: string): Promise<Answer> => call('GET', `${at}/courses/${publicId}`, { token }),
    lesson: (publicId: string): Promise<Answer> => call('GET', `${at}/lessons/${publicId}`, { token }),
    complete: (publicId: string): Promise<Answer> => call('PUT', completion(publicId), { token }),
    undo: (publicId: string): Promise<Answer> => call('DELETE', completion(publicId), { token }),
    comments: (publicId: string, query = ''): Promise<Answer> =>
      call('GET', `${at}/lessons/${publicId}/comments${query}`, { token }),
    comment: (publicId: string, body: string): Promise<Answer> =>
      call('POST', `${at}/lessons/${publicId}/comments`, { token, body: { body } }),
    deleteComment: (id: Id): Promise<Answer> => call('DELETE', `${at}/comments/${id}`, { token }),
  };
}

/** What an administrator does in a club, over HTTP. @param token the owner's unless told */
export function administering({ id, owner }: TestClub, token = owner.token) {
  return (method: string, path: string, body?: object): Promise<Answer> =>
    call(method, `/v1/clubs/${id}${path}`, { token, ...(body && { body }) });
}

/** The facts about what a student completed that no relay has carried on yet, oldest first: `lesson.completed <id>`. */
export async function completionsOf(studentId: Id): Promise<string[]> {
  const source = await testDatabase();
  const rows = await source.query<{ type: string; subjectId: Id }[]>(
    `SELECT type, subject_id AS "subjectId" FROM facts
      WHERE student_id = $1 AND type IN ('lesson.completed', 'course.completed') ORDER BY seq`,
    [studentId],
  );
  return rows.map(({ type, subjectId }) => `${type} ${subjectId}`);
}
