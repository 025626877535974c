/** Exports of a club. */
import * as exports from '../../../domain/exports/clubs/exports.ts';
import type { Operation } from '../../operation.ts';
import { data, noContent, page } from '../answers.ts';

export const createClubExport: Operation<'createClubExport'> = async ({ params, administrator, deps, now }) =>
  data(await exports.askForExport(deps, { clubId: params.clubId, administratorId: administrator.id }, now));

export const listClubExports: Operation<'listClubExports'> = async ({ params, query, db, deps }) =>
  page(await exports.listExports(db, deps.storage, params.clubId, query));

export const getClubExport: Operation<'getClubExport'> = async ({ params, db, deps }) =>
  data(await exports.readExport(db, deps.storage, params.clubId, params.exportId));

export const deleteClubExport: Operation<'deleteClubExport'> = async ({ params, deps, now }) =>
  noContent(await exports.eraseExport(deps, params, now));

export const listClubExportFiles: Operation<'listClubExportFiles'> = async ({ params, query, db, deps }) =>
  page(await exports.listExportFiles(db, deps.storage, params, query));
