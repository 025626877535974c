/** The data of `lesson.completed` and `course.completed`: the lesson and the course at the time of the fan-out. */
import type { EventBodyOf, RecordOf } from '../../../../contract/contract.ts';
import { CourseCompletion } from '../../../../entities/learning/course-completion.ts';
import { Course } from '../../../../entities/learning/course.ts';
import { LessonProgress } from '../../../../entities/learning/lesson-progress.ts';
import { Lesson } from '../../../../entities/learning/lesson.ts';
import { columns, sql, type RowOf } from '../../../../platform/infra/postgres/sql.ts';
import { recordsOf, type DataReader } from './reading.ts';
import { studentRecord } from './student.ts';

const ofCourse = columns(Course, { courseId: 'id', coursePublicId: 'publicId', courseTitle: 'title' }, 'course');
const courseColumns = ofCourse.and(columns(CourseCompletion, ['completedAt'], 'completion'));
const lessonColumns = ofCourse
  .and(columns(Lesson, { lessonId: 'id', lessonPublicId: 'publicId', lessonTitle: 'title' }, 'lesson'))
  .and(columns(LessonProgress, { completedAt: 'firstCompletedAt' }, 'progress'));

const lessonData: DataReader<EventBodyOf<'lesson.completed'>['data']> = async (tx, subjects) => {
  const records = await recordsOf(
    tx,
    subjects,
    lessonColumns,
    sql`JOIN lesson_progress progress ON progress.lesson_id = fact.subject_id AND progress.student_id = fact.student_id
          AND progress.club_id = fact.club_id
         JOIN lessons lesson ON lesson.id = progress.lesson_id
         JOIN courses course ON course.id = lesson.course_id`,
  );
  return records.map(({ row, student }) => ({
    lesson: { id: row.lessonId, public_id: row.lessonPublicId, title: row.lessonTitle },
    course: courseRecord(row),
    completed_at: row.completedAt.toISOString(),
    ...studentRecord(student),
  }));
};

const courseData: DataReader<EventBodyOf<'course.completed'>['data']> = async (tx, subjects) => {
  const records = await recordsOf(
    tx,
    subjects,
    courseColumns,
    sql`JOIN course_completions completion ON completion.course_id = fact.subject_id
          AND completion.student_id = fact.student_id AND completion.club_id = fact.club_id
         JOIN courses course ON course.id = completion.course_id`,
  );
  return records.map(({ row, student }) => ({
    course: courseRecord(row),
    completed_at: row.completedAt.toISOString(),
    ...studentRecord(student),
  }));
};

function courseRecord(row: RowOf<typeof ofCourse>): RecordOf<'EventCourse'> {
  return { id: row.courseId, public_id: row.coursePublicId, title: row.courseTitle };
}

export const learningBodies = { 'lesson.completed': lessonData, 'course.completed': courseData };
