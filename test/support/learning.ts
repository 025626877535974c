/** Courses that tests start from, students who take them, and what was recorded of it. */
import { grantAccess, revokeAccess } from '../../domain/access/enrollments.ts';
import { inTransaction } from '../../domain/core/database.ts';
import { newId, type Id } from '../../domain/core/ids.ts';
import { createCourse, updateCourse } from '../../domain/learning/courses.ts';
import { createLesson } from '../../domain/learning/lessons.ts';
import { createModule } from '../../domain/learning/modules.ts';
import { call, type Answer } from './api.ts';
import { testDatabase, testPlatform } from './database.ts';
import { buildStudent, type TestClub, type TestStudent } from './factories.ts';

export interface TestLesson {
  id: Id;
  publicId: string;
}

export interface TestCourse {
  id: Id;
  clubId: Id;
  publicId: string;
  moduleId: Id;
  /** What opens it. */
  deliveryId: Id;
  lessons: TestLesson[];
}

/** A published course with one module of published lessons, and a delivery that opens it. @param lessons how many */
export async function buildCourse(
  clubId: Id,
  { lessons = 1, status = 'published' as const } = {},
): Promise<TestCourse> {
  const { database } = await testPlatform();
  const now = new Date();
  const course = await createCourse(database, clubId, { title: 'Knots for Beginners' }, now);
  await updateCourse(database, clubId, course.id, { status }, now);
  const { id: moduleId } = await createModule(database, clubId, course.id, { title: 'Joining two ropes' }, now);
  const built: TestCourse = {
    id: course.id,
    clubId,
    publicId: course.public_id,
    moduleId,
    deliveryId: await buildDelivery(clubId, course.id),
    lessons: [],
  };
  for (let number = 1; number <= lessons; number++) built.lessons.push(await buildLesson(built, `Bend ${number}`));
  return built;
}

/** A further lesson at the end of the course, published unless told otherwise. */
export async function buildLesson(
  { clubId, moduleId }: TestCourse,
  title = 'A further bend',
  { published = true, points = 0 } = {},
): Promise<TestLesson> {
  const { database } = await testPlatform();
  const input = { title, content: `About ${title}.`, published, points };
  const { id, public_id: publicId } = await createLesson(database, clubId, moduleId, input, new Date());
  return { id, publicId };
}

async function buildDelivery(clubId: Id, courseId: Id): Promise<Id> {
  const source = await testDatabase();
  const id = newId();
  await source.query(
    `INSERT INTO access_deliveries (id, club_id, name, kind, course_id, created_at, updated_at) VALUES ($1, $2, 'Knots', 'course', $3, $4, $4)`,
    [id, clubId, courseId, new Date()],
  );
  return id;
}

/** A student who has access to the course, from a minute ago. @returns the student and the enrollment */
export async function buildLearner(
  course: TestCourse,
  student?: TestStudent,
): Promise<TestStudent & { enrollmentId: Id }> {
  const { database } = await testPlatform();
  const { clubId, deliveryId } = course;
  const learner = student ?? (await buildStudent(clubId));
  const startsAt = new Date(Date.now() - 60_000);
  const { enrollment } = await inTransaction(database, (tx) =>
    grantAccess(tx, { clubId, studentId: learner.id, deliveryId, source: 'grant', startsAt }, startsAt),
  );
  return { ...learner, enrollmentId: enrollment.id };
}

export async function revoke(course: TestCourse, { enrollmentId }: { enrollmentId: Id }): Promise<void> {
  const { database } = await testPlatform();
  await inTransaction(database, (tx) => revokeAccess(tx, course.clubId, enrollmentId, 'revocation', new Date()));
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

/** What an administrator does with courses, over HTTP. */
export function writerOf({ id, owner }: TestClub, token = owner.token) {
  const at = `/v1/clubs/${id}`;
  return (method: string, path: string, body?: object): Promise<Answer> =>
    call(method, `${at}${path}`, { token, ...(body && { body }) });
}

/** The facts about a student's learning that no relay has carried on yet, oldest first: `lesson.completed <id>`. */
export async function learningFactsOf(studentId: Id): Promise<string[]> {
  const source = await testDatabase();
  const rows = await source.query<{ type: string; subjectId: Id }[]>(
    `SELECT type, subject_id AS "subjectId" FROM facts
      WHERE student_id = $1 AND type IN ('lesson.completed', 'course.completed') ORDER BY seq`,
    [studentId],
  );
  return rows.map(({ type, subjectId }) => `${type} ${subjectId}`);
}
