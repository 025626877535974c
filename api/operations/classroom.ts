/** Courses and lessons as students take them. */
import {
  findVisibleLesson,
  listCourses,
  openCourse,
  presentVisibleLesson,
} from '../../domain/learning/courses/classroom.ts';
import { completeLesson as complete, undoCompletion } from '../../domain/learning/courses/completion.ts';
import type { Operation } from '../operation.ts';
import { listed } from './answers.ts';

export const listClassroomCourses: Operation<'listClassroomCourses'> = async ({ query, student, services, now }) =>
  listed(await listCourses(services.database, student, query, now));

export const getClassroomCourse: Operation<'getClassroomCourse'> = async ({ params, student, services, now }) => ({
  data: await openCourse(services.database, student, params.publicId, now),
});

export const getClassroomLesson: Operation<'getClassroomLesson'> = async ({ params, student, services, now }) => ({
  data: presentVisibleLesson(await findVisibleLesson(services.database, student, params.publicId, now)),
});

export const completeLesson: Operation<'completeLesson'> = async ({ params, student, services, now }) => ({
  data: await complete(services, student, params.publicId, now),
});

export const undoLessonCompletion: Operation<'undoLessonCompletion'> = async ({ params, student, services, now }) => {
  await undoCompletion(services.database, student, params.publicId, now);
  return undefined;
};
