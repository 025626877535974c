/** Students as administrators see them. */
import { presentStudent } from '../../domain/identity/student-identity.ts';
import * as students from '../../domain/identity/students.ts';
import { presented } from '../../platform/infra/postgres/lists/page.ts';
import type { Operation } from '../operation.ts';
import { data, noContent, page } from './answers.ts';

export const listStudents: Operation<'listStudents'> = async ({ params, query, db }) =>
  page(presented(await students.listStudents(db, params.clubId, query), presentStudent));

export const createStudent: Operation<'createStudent'> = async ({ params, body, deps, now }) =>
  data(presentStudent(await students.createStudent(deps, params.clubId, body, now)));

export const getStudent: Operation<'getStudent'> = async ({ params, db }) =>
  data(presentStudent(await students.findStudent(db, params.clubId, params.studentId)));

export const updateStudent: Operation<'updateStudent'> = async ({ params, body, deps, now }) =>
  data(presentStudent(await students.updateStudent(deps, params.clubId, params.studentId, body, now)));

export const removeStudent: Operation<'removeStudent'> = async ({ params, deps, now }) =>
  noContent(await students.removeStudent(deps, params.clubId, params.studentId, now));
