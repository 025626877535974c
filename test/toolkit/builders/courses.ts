/** Builds courses with their lessons, and cohorts. The builders insert the rows directly, so that they record no facts. */
import { newId, type Id } from '../../../platform/core/ids.ts';
import type { CourseStatus } from '../../../entities/learning/values.ts';
import { testDatabase } from '../stack/database.ts';

interface TestLesson {
  id: Id;
  publicId: string;
  moduleId: Id;
}

export interface TestCourse {
  id: Id;
  clubId: Id;
  publicId: string;
  title: string;
  moduleIds: Id[];
  /** The lessons in the order of the classroom. */
  lessons: TestLesson[];
}

export interface CourseOptions {
  title?: string;
  publicId?: string;
  status?: CourseStatus;
  /** Their number. */
  modules?: number;
  /** Lessons per module. */
  lessons?: number;
  /** The points that a student gets for the first completion of each lesson. */
  points?: number;
  hours?: number | null;
  certificateOnCompletion?: boolean;
}

/** A course with published lessons. The course is published by default. */
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
  const course: TestCourse = { id: newId(), clubId, publicId, title, moduleIds: [], lessons: [] };
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
      course.lessons.push(await buildLesson(course, { moduleId, position: place, points }));
    }
  }
  return course;
}

interface LessonOptions {
  /** The default is the first module of the course. */
  moduleId?: Id;
  /** The default is the end of the module. */
  position?: number;
  title?: string;
  content?: string;
  points?: number;
  published?: boolean;
}

/** A lesson of a course, published by default. */
export async function buildLesson(
  { id: courseId, clubId, moduleIds }: Pick<TestCourse, 'id' | 'clubId' | 'moduleIds'>,
  {
    moduleId = moduleIds[0] ?? '',
    position = 99,
    title = `Lesson ${position + 1}`,
    content = `# ${title}`,
    points = 0,
    published = true,
  }: LessonOptions = {},
): Promise<TestLesson> {
  const source = await testDatabase();
  const id = newId();
  const publicId = `lesson-${id.slice(-12)}`;
  const now = new Date();
  await source.query(
    `INSERT INTO lessons (id, club_id, course_id, module_id, public_id, title, content, position, points, created_at, updated_at, published_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10, $11)`,
    [id, clubId, courseId, moduleId, publicId, title, content, position, points, now, published ? now : null],
  );
  return { id, publicId, moduleId };
}

/** A cohort of a course, without dates by default. */
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
