/** The library of a club, its courses, and what its students learned. */
import { listCohorts } from '../../../access/enrollments/cohorts.ts';
import { listAssignments } from '../../../assignments/assignments.ts';
import { listExtensions } from '../../../assignments/extensions.ts';
import { listSubmissions, readSubmission } from '../../../assignments/submissions.ts';
import { listStudents } from '../../../identity/students.ts';
import { listCertificates } from '../../../learning/certificates/reads.ts';
import { findCourse, listCourses } from '../../../learning/courses/courses.ts';
import { withCover } from '../../../learning/courses/covers.ts';
import { findLesson } from '../../../learning/courses/lessons.ts';
import { listProgress } from '../../../learning/courses/progress.ts';
import { listComments } from '../../../learning/engagement/comments.ts';
import { listFolders } from '../../../media/library/folders.ts';
import { listMedia } from '../../../media/library/library.ts';
import { listMentorships } from '../../../mentorships/mentorships.ts';
import { listSessions } from '../../../mentorships/sessions.ts';
import { findRepository, listRepositories } from '../../../repositories/repositories.ts';
import { listFiles } from '../files.ts';
import { below, chained, idOf, listed, listedBelow, whole } from '../pages.ts';
import type { RecordType } from '../record-type.ts';

const media = (archived: boolean) =>
  listed(({ db, storage, mediaUses, clubId, administratorId }, page) =>
    listMedia({ db, storage, mediaUses }, { clubId, administratorId }, { ...page, archived }),
  );

const courses = listed(({ db, clubId }, page) => listCourses(db, clubId, page));

const outlines = whole(courses, ({ db, storage, clubId }, id) =>
  withCover({ db, storage }, findCourse(db, clubId, id)),
);

/** The lessons of the outlines, in their order. */
const lessons = below(courses, idOf, async ({ db, clubId }, { id = '' }) => {
  const { modules } = await findCourse(db, clubId, id);
  return {
    lines: modules.flatMap((module) => module.lessons).map(({ id: lessonId }) => ({ record: { id: lessonId } })),
  };
});

const assignments = below(lessons, idOf, (source, { id = '' }, place) =>
  listed(({ db, storage, clubId }, page) => listAssignments(db, storage, clubId, id, page))(source, place),
);

const students = listed(({ db, storage, clubId }, page) => listStudents(db, storage, clubId, page));

export const learning: readonly RecordType[] = [
  { name: 'MediaFolder', walk: listed(({ db, clubId }, page) => listFolders(db, clubId, page)) },
  { name: 'Media', walk: chained(media(false), media(true)) },
  { name: 'ClubExportFile', walk: listed(({ db, clubId, now }, page) => listFiles(db, clubId, now, page)) },
  { name: 'CourseOutline', walk: outlines },
  { name: 'Lesson', walk: whole(lessons, ({ db, clubId }, id) => findLesson(db, clubId, id)) },
  {
    name: 'Cohort',
    walk: below(courses, idOf, (source, { id = '' }, place) =>
      listed(({ db, clubId }, page) => listCohorts(db, clubId, id, page))(source, place),
    ),
  },
  { name: 'Assignment', walk: assignments },
  {
    name: 'AssignmentExtension',
    walk: listedBelow(assignments, 'assignmentId', ({ db, clubId }, id, page) => listExtensions(db, clubId, id, page)),
  },
  {
    name: 'AssignmentSubmissionDetail',
    walk: whole(
      listed(({ db, clubId }, page) => listSubmissions(db, clubId, page)),
      ({ db, storage, clubId }, id) => readSubmission(db, storage, clubId, id),
    ),
  },
  {
    name: 'LessonComment',
    walk: listedBelow(lessons, 'lessonId', ({ db, clubId }, id, page) => listComments(db, clubId, id, page)),
  },
  {
    name: 'CourseProgress',
    walk: listedBelow(students, 'studentId', ({ db, clubId, now }, id, page) =>
      listProgress(db, clubId, id, page, now),
    ),
  },
  { name: 'Certificate', walk: listed(({ db, clubId }, page) => listCertificates(db, clubId, page)) },
  {
    name: 'Repository',
    walk: whole(
      listed(({ db, storage, clubId }, page) => listRepositories({ db, storage }, clubId, page)),
      ({ db, storage, clubId }, id) => findRepository({ db, storage }, clubId, id),
    ),
  },
  { name: 'Mentorship', walk: listed(({ db, clubId }, page) => listMentorships(db, clubId, page)) },
  { name: 'MentorshipSession', walk: listed(({ db, clubId, now }, page) => listSessions(db, clubId, page, now)) },
];
