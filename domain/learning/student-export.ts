/** The data of the context `learning` in the export of a student (EXP-3). */
import type { ExportStudent } from '../questions.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';

export const exportLearning: ExportStudent = ({ studentId }) => ({
  sections: {
    lessons: {
      records: sql`
        SELECT progress.lesson_id, lesson.title AS lesson_title, course.title AS course_title, progress.completed,
               progress.first_completed_at
          FROM lesson_progress progress JOIN lessons lesson ON lesson.id = progress.lesson_id
          JOIN courses course ON course.id = lesson.course_id
         WHERE progress.student_id = ${studentId} ORDER BY progress.first_completed_at, progress.lesson_id`,
    },
    courses: {
      records: sql`
        SELECT completion.course_id, course.title AS course_title, completion.completed_at
          FROM course_completions completion JOIN courses course ON course.id = completion.course_id
         WHERE completion.student_id = ${studentId} ORDER BY completion.completed_at, completion.course_id`,
    },
    points: {
      // The note is for administrators only.
      records: sql`
        SELECT award.cause_kind AS cause, award.points, lesson.title AS lesson_title, award.created_at
          FROM point_awards award LEFT JOIN lessons lesson ON award.cause_kind = 'lesson' AND lesson.id = award.cause_id
         WHERE award.student_id = ${studentId} ORDER BY award.created_at, award.cause_kind, award.cause_id`,
    },
    levels: {
      records: sql`
        SELECT level.name, level.points::float8, reached.reached_at
          FROM student_levels reached JOIN levels level ON level.id = reached.level_id
         WHERE reached.student_id = ${studentId} ORDER BY reached.reached_at, level.id`,
    },
    tags: {
      records: sql`
        SELECT tag.name, tagged.tagged_at FROM student_tags tagged JOIN tags tag ON tag.id = tagged.tag_id
         WHERE tagged.student_id = ${studentId} ORDER BY tagged.tagged_at, tag.id`,
    },
    certificates: {
      records: sql`
        SELECT id, code, version, student_name, student_email, course_title, club_name, language, lesson_count, hours, verify_url,
               completed_at, issued_at, revoked_at, revoked_reason
          FROM certificates WHERE student_id = ${studentId} ORDER BY issued_at, id`,
    },
    lesson_comments: {
      records: sql`
        SELECT comment.id, comment.lesson_id, lesson.title AS lesson_title, comment.body, comment.created_at
          FROM lesson_comments comment JOIN lessons lesson ON lesson.id = comment.lesson_id
         WHERE comment.student_id = ${studentId} ORDER BY comment.created_at, comment.id`,
    },
  },
});
