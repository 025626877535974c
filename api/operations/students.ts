/** Students as administrators see them. */
import { presentStudent } from '../../domain/identity/student-identity.ts';
import {
  createStudent as create,
  removeStudent as remove,
  updateStudent as update,
} from '../../domain/students/students.ts';
import { findStudent, listStudents as list } from '../../domain/identity/students.ts';
import type { Operation } from '../operation.ts';
import { listed } from './answers.ts';

export const listStudents: Operation<'listStudents'> = async ({ params, query, services }) => {
  const { rows, total } = await list(services.database.source.manager, params.clubId, query);
  return listed({ rows: rows.map(presentStudent), total });
};

export const createStudent: Operation<'createStudent'> = async ({ params, body, services, now }) => ({
  data: presentStudent(await create(services, params.clubId, body, now)),
});

export const getStudent: Operation<'getStudent'> = async ({ params, services }) => ({
  data: presentStudent(await findStudent(services.database.source.manager, params.clubId, params.studentId)),
});

export const updateStudent: Operation<'updateStudent'> = async ({ params, body, services, now }) => ({
  data: presentStudent(await update(services, params.clubId, params.studentId, body, now)),
});

export const removeStudent: Operation<'removeStudent'> = async ({ params, services, now }) => {
  await remove(services, params.clubId, params.studentId, now);
  return undefined;
};
