/** What `lesson.completed` and `course.completed` say: the lesson and the course as they are when the body is assembled. */
import type { EventBodyOf, RecordOf } from '../../../../contract/contract.ts';
import type { Id } from '../../../../platform/core/ids.ts';
import { oneRow, type DataReader } from './reading.ts';
import { studentRecord } from './student.ts';

interface CourseRow {
  courseId: Id;
  coursePublicId: string;
  courseTitle: string;
  completedAt: Date;
}

interface LessonRow extends CourseRow {
  lessonId: Id;
  lessonPublicId: string;
  lessonTitle: string;
}

const courseColumns = `course.id AS "courseId", course.public_id AS "coursePublicId", course.title AS "courseTitle"`;

const lessonData: DataReader<EventBodyOf<'lesson.completed'>['data']> = async (tx, fact, student) => {
  const row = oneRow(
    await tx.query<LessonRow[]>(
      `SELECT lesson.id AS "lessonId", lesson.public_id AS "lessonPublicId", lesson.title AS "lessonTitle", ${courseColumns},
              progress.first_completed_at AS "completedAt"
         FROM lesson_progress progress JOIN lessons lesson ON lesson.id = progress.lesson_id
         JOIN courses course ON course.id = lesson.course_id
        WHERE progress.lesson_id = $1 AND progress.student_id = $2 AND progress.club_id = $3`,
      [fact.subjectId, fact.studentId, fact.clubId],
    ),
    fact,
  );
  return {
    lesson: { id: row.lessonId, public_id: row.lessonPublicId, title: row.lessonTitle },
    course: courseRecord(row),
    completed_at: row.completedAt.toISOString(),
    ...studentRecord(student),
  };
};

const courseData: DataReader<EventBodyOf<'course.completed'>['data']> = async (tx, fact, student) => {
  const row = oneRow(
    await tx.query<CourseRow[]>(
      `SELECT ${courseColumns}, completion.completed_at AS "completedAt"
         FROM course_completions completion JOIN courses course ON course.id = completion.course_id
        WHERE completion.course_id = $1 AND completion.student_id = $2 AND completion.club_id = $3`,
      [fact.subjectId, fact.studentId, fact.clubId],
    ),
    fact,
  );
  return { course: courseRecord(row), completed_at: row.completedAt.toISOString(), ...studentRecord(student) };
};

function courseRecord(row: CourseRow): RecordOf<'EventCourse'> {
  return { id: row.courseId, public_id: row.coursePublicId, title: row.courseTitle };
}

export const learningBodies = { 'lesson.completed': lessonData, 'course.completed': courseData };
