/** Courses and lessons for students. */
import * as assignments from '../../../domain/assignments/completion.ts';
import * as classroom from '../../../domain/learning/courses/classroom.ts';
import * as completion from '../../../domain/learning/courses/completion.ts';
import * as covers from '../../../domain/learning/courses/covers.ts';
import type { Operation } from '../../operation.ts';
import { data, noContent, page } from '../answers.ts';

export const listClassroomCourses: Operation<'listClassroomCourses'> = async ({ query, student, db, deps, now }) =>
  page(await covers.pageWithCovers({ ...deps, db }, classroom.listCourses(db, student, query, now)));

export const getClassroomCourse: Operation<'getClassroomCourse'> = async ({ params, student, db, deps, now }) =>
  data(await covers.withCover({ ...deps, db }, classroom.openCourse(db, student, params.publicId, now)));

export const getClassroomLesson: Operation<'getClassroomLesson'> = async ({ params, student, db, deps, now }) =>
  data(await classroom.openLesson(db, deps.storage, student, params.publicId, now));

export const completeLesson: Operation<'completeLesson'> = async ({ params, student, deps, now }) =>
  data(await assignments.completeLesson(deps, student, params.publicId, now));

export const undoLessonCompletion: Operation<'undoLessonCompletion'> = async ({ params, student, deps, now }) =>
  noContent(await completion.undoCompletion(deps, student, params.publicId, now));
