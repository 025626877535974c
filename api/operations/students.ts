/** Students as administrators see them. */
import { presentStudent } from '../../domain/identity/student-identity.ts';
import {
  createStudent as create,
  findStudent,
  listStudents as list,
  removeStudent as remove,
  updateStudent as update,
} from '../../domain/identity/students.ts';
import type { Operation } from '../operation.ts';
import { listed } from './answers.ts';

export const listStudents: Operation<'listStudents'> = async ({ params, query, services }) => {
  const { rows, total } = await list(services.database, params.clubId, query);
  return listed({ rows: rows.map(presentStudent), total });
};

export const createStudent: Operation<'createStudent'> = async ({ params, body, services, now }) => ({
  data: presentStudent(await create(services, params.clubId, body, now)),
});

export const getStudent: Operation<'getStudent'> = async ({ params, services }) => ({
  data: presentStudent(await findStudent(services.database, params.clubId, params.studentId)),
});

export const updateStudent: Operation<'updateStudent'> = async ({ params, body, services, now }) => ({
  data: presentStudent(await update(services, params.clubId, params.studentId, body, now)),
});

export const removeStudent: Operation<'removeStudent'> = async ({ params, services, now }) => {
  await remove(services, params.clubId, params.studentId, now);
  return undefined;
};
