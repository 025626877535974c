/** Imports of students from a file: administrators start, monitor and cancel them. */
import * as imports from '../../../domain/access/imports/imports.ts';
import * as upload from '../../../domain/access/imports/upload.ts';
import type { Operation } from '../../operation.ts';
import { data, page } from '../answers.ts';

export const importStudents: Operation<'importStudents'> = async ({ params, query, bodyStream, deps, now, newId }) => {
  const { delivery_ids: deliveryIds = [], invite = false, file_name: fileName } = query;
  const request = { id: newId(), deliveryIds, invite, fileName };
  return data(await upload.beginImport(deps, params.clubId, request, bodyStream, now));
};

export const listStudentImports: Operation<'listStudentImports'> = async ({ params, query, db }) =>
  page(await imports.listImports(db, params.clubId, query));

export const getStudentImport: Operation<'getStudentImport'> = async ({ params, db }) =>
  data(await imports.findImport(db, params.clubId, params.importId));

export const listStudentImportRows: Operation<'listStudentImportRows'> = async ({ params, query, db }) =>
  page(await imports.listImportRows(db, params.clubId, params.importId, query));

export const cancelStudentImport: Operation<'cancelStudentImport'> = async ({ params, deps, now }) =>
  data(await imports.cancelImport(deps, params.clubId, params.importId, now));
