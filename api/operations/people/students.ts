/** Students, for administrators. */
import * as reads from '../../../domain/identity/students.ts';
import * as students from '../../../domain/students/students.ts';
import type { Operation } from '../../operation.ts';
import { roleOf } from '../acting.ts';
import { data, noContent, page } from '../answers.ts';

export const listStudents: Operation<'listStudents'> = async ({ params, query, db, deps }) =>
  page(await reads.listStudents(db, deps.storage, params.clubId, query));

export const createStudent: Operation<'createStudent'> = async ({ params, body, deps, now }) =>
  data(await students.createStudent(deps, params.clubId, body, now));

export const getStudent: Operation<'getStudent'> = async ({ params, db, deps }) =>
  data(await reads.readStudent(db, deps.storage, params.clubId, params.studentId));

export const updateStudent: Operation<'updateStudent'> = async ({ params, body, actor, deps, now }) =>
  data(await students.updateStudent(deps, params.clubId, params.studentId, body, roleOf(actor), now));

export const removeStudent: Operation<'removeStudent'> = async ({ params, actor, deps, now }) =>
  noContent(await students.removeStudent(deps, params.clubId, params.studentId, now, actor.id));
