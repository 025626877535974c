/** Exports of students: owners, admins and the students themselves ask for them and download them. */
import * as exports from '../../../domain/exports/students/exports.ts';
import * as own from '../../../domain/exports/students/own-exports.ts';
import type { Operation } from '../../operation.ts';
import { data, page } from '../answers.ts';

export const listStudentExports: Operation<'listStudentExports'> = async ({ params, query, db }) =>
  page(await exports.listExports(db, params, query));

export const requestStudentExport: Operation<'requestStudentExport'> = async ({ params, administrator, deps, now }) =>
  data(await exports.requestExport(deps, params, { kind: 'administrator', id: administrator.id }, now));

export const getStudentExport: Operation<'getStudentExport'> = async ({ params, db, deps }) =>
  data(await exports.readExport({ ...deps, db }, params, params.exportId, true));

export const listOwnExports: Operation<'listOwnExports'> = async ({ query, student, db }) =>
  page(await exports.listExports(db, { clubId: student.clubId, studentId: student.id }, query));

export const requestOwnExport: Operation<'requestOwnExport'> = async ({ student, caller, deps, now }) =>
  data(await own.requestOwnExport(deps, student, caller.token, now));

export const getOwnExport: Operation<'getOwnExport'> = async ({ params, student, caller, db, deps }) =>
  data(await own.readOwnExport({ ...deps, db }, student, caller.token, params.exportId));
