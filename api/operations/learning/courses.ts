/** Courses with their modules and lessons, and the progress of students, for administrators. */
import * as covers from '../../../domain/learning/courses/covers.ts';
import * as courses from '../../../domain/learning/courses/courses.ts';
import * as lessons from '../../../domain/learning/courses/lessons.ts';
import * as modules from '../../../domain/learning/courses/modules.ts';
import * as progress from '../../../domain/learning/courses/progress.ts';
import type { Operation } from '../../operation.ts';
import { data, noContent, page } from '../answers.ts';

export const listCourses: Operation<'listCourses'> = async ({ params, query, db, deps }) =>
  page(await covers.pageWithCovers({ ...deps, db }, courses.listCourses(db, params.clubId, query)));

export const createCourse: Operation<'createCourse'> = async ({ params, body, deps, now }) =>
  data(await covers.withCover(deps, courses.createCourse(deps, params.clubId, body, now)));

export const getCourse: Operation<'getCourse'> = async ({ params, db, deps }) =>
  data(await covers.withCover({ ...deps, db }, courses.findCourse(db, params.clubId, params.courseId)));

export const updateCourse: Operation<'updateCourse'> = async ({ params, body, deps, now }) =>
  data(await covers.withCover(deps, courses.updateCourse(deps, params.clubId, params.courseId, body, now)));

export const orderCourse: Operation<'orderCourse'> = async ({ params, body, deps, now }) =>
  data(await covers.withCover(deps, courses.orderCourse(deps, params.clubId, params.courseId, body, now)));

export const createModule: Operation<'createModule'> = async ({ params, body, deps, now }) =>
  data(await modules.createModule(deps, params.clubId, params.courseId, body, now));

export const updateModule: Operation<'updateModule'> = async ({ params, body, deps }) =>
  data(await modules.updateModule(deps, params.clubId, params.moduleId, body));

export const deleteModule: Operation<'deleteModule'> = async ({ params, deps }) =>
  noContent(await modules.deleteModule(deps, params.clubId, params.moduleId));

export const createLesson: Operation<'createLesson'> = async ({ params, body, deps, now }) =>
  data(await lessons.createLesson(deps, params.clubId, params.moduleId, body, now));

export const getLesson: Operation<'getLesson'> = async ({ params, db }) =>
  data(await lessons.findLesson(db, params.clubId, params.lessonId));

export const updateLesson: Operation<'updateLesson'> = async ({ params, body, deps, now }) =>
  data(await lessons.updateLesson(deps, params.clubId, params.lessonId, body, now));

export const deleteLesson: Operation<'deleteLesson'> = async ({ params, deps, now }) =>
  noContent(await lessons.removeLesson(deps, params.clubId, params.lessonId, now));

export const listStudentProgress: Operation<'listStudentProgress'> = async ({ params, query, db, now }) =>
  page(await progress.listProgress(db, params.clubId, params.studentId, query, now));
