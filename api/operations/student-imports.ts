/** Imports of students from a file: begun, watched and canceled. */
import { beginImport } from '../../domain/access/imports/upload.ts';
import { cancelImport, findImport, listImportRows, listImports } from '../../domain/access/imports/imports.ts';
import type { Operation } from '../operation.ts';
import { listed } from './answers.ts';

export const importStudents: Operation<'importStudents'> = async ({ params, query, bodyStream, services, now }) => {
  const { delivery_ids: deliveryIds = [], invite = false, file_name: fileName } = query;
  return { data: await beginImport(services, params.clubId, { deliveryIds, invite, fileName }, bodyStream, now) };
};

export const listStudentImports: Operation<'listStudentImports'> = async ({ params, query, services }) =>
  listed(await listImports(services.database, params.clubId, query));

export const getStudentImport: Operation<'getStudentImport'> = async ({ params, services }) => ({
  data: await findImport(services.database, params.clubId, params.importId),
});

export const listStudentImportRows: Operation<'listStudentImportRows'> = async ({ params, query, services }) =>
  listed(await listImportRows(services.database, params.clubId, params.importId, query));

export const cancelStudentImport: Operation<'cancelStudentImport'> = async ({ params, services, now }) => ({
  data: await cancelImport(services.database, params.clubId, params.importId, now),
});
