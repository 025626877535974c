/** Courses with their modules and lessons, and the progress of students in them, as administrators see them. */
import {
  createCourse as create,
  findCourse,
  listCourses as list,
  orderCourse as order,
  updateCourse as update,
} from '../../domain/learning/courses/courses.ts';
import {
  createLesson as addLesson,
  findLesson,
  removeLesson,
  updateLesson as changeLesson,
} from '../../domain/learning/courses/lessons.ts';
import {
  createModule as addModule,
  deleteModule as takeModule,
  updateModule as changeModule,
} from '../../domain/learning/courses/modules.ts';
import { listProgress } from '../../domain/learning/courses/progress.ts';
import type { Operation } from '../operation.ts';
import { listed } from './answers.ts';

export const listCourses: Operation<'listCourses'> = async ({ params, query, services }) =>
  listed(await list(services.database, params.clubId, query));

export const createCourse: Operation<'createCourse'> = async ({ params, body, services, now }) => ({
  data: await create(services.database, params.clubId, body, now),
});

export const getCourse: Operation<'getCourse'> = async ({ params, services }) => ({
  data: await findCourse(services.database, params.clubId, params.courseId),
});

export const updateCourse: Operation<'updateCourse'> = async ({ params, body, services, now }) => ({
  data: await update(services.database, params.clubId, params.courseId, body, now),
});

export const orderCourse: Operation<'orderCourse'> = async ({ params, body, services, now }) => ({
  data: await order(services.database, params.clubId, params.courseId, body, now),
});

export const createModule: Operation<'createModule'> = async ({ params, body, services, now }) => ({
  data: await addModule(services.database, params.clubId, params.courseId, body, now),
});

export const updateModule: Operation<'updateModule'> = async ({ params, body, services }) => ({
  data: await changeModule(services.database, params.clubId, params.moduleId, body),
});

export const deleteModule: Operation<'deleteModule'> = async ({ params, services }) => {
  await takeModule(services.database, params.clubId, params.moduleId);
  return undefined;
};

export const createLesson: Operation<'createLesson'> = async ({ params, body, services, now }) => ({
  data: await addLesson(services.database, params.clubId, params.moduleId, body, now),
});

export const getLesson: Operation<'getLesson'> = async ({ params, services }) => ({
  data: await findLesson(services.database, params.clubId, params.lessonId),
});

export const updateLesson: Operation<'updateLesson'> = async ({ params, body, services, now }) => ({
  data: await changeLesson(services.database, params.clubId, params.lessonId, body, now),
});

export const deleteLesson: Operation<'deleteLesson'> = async ({ params, services, now }) => {
  await removeLesson(services.database, params.clubId, params.lessonId, now);
  return undefined;
};

export const listStudentProgress: Operation<'listStudentProgress'> = async ({ params, query, services, now }) =>
  listed(await listProgress(services.database, params.clubId, params.studentId, query, now));
