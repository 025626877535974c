/** Exports of a club. */
import * as exports from '../../../domain/exports/clubs/exports.ts';
import { readHasSecondFactor } from '../../../domain/identity/accounts/administrator-accounts.ts';
import { isFresh, type SignInProofs } from '../../../domain/identity/sessions/sign-in-rules.policy.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import type { Operation } from '../../operation.ts';
import { data, noContent, page } from '../answers.ts';

export const requestClubExport: Operation<'requestClubExport'> = async ({ params, administrator, deps, now }) =>
  data(await exports.askForExport(deps, { clubId: params.clubId, administratorId: administrator.id }, now));

export const listClubExports: Operation<'listClubExports'> = async ({ params, query, db }) =>
  page(await exports.listExports(db, params.clubId, query));

/** The archive has the data of all people of the club, so its address needs a fresh factor, as the request does (EXP-10). */
async function provesPerson(
  db: Queries,
  { id, session }: { id: Id; session: SignInProofs },
  now: Date,
): Promise<boolean> {
  return isFresh(session, await readHasSecondFactor(db, id), now);
}

export const getClubExport: Operation<'getClubExport'> = async ({ params, administrator, db, deps, now }) =>
  data(await exports.readExport(db, deps.storage, params, await provesPerson(db, administrator, now)));

export const deleteClubExport: Operation<'deleteClubExport'> = async ({ params, deps, now }) =>
  noContent(await exports.eraseExport(deps, params, now));

export const listClubExportFiles: Operation<'listClubExportFiles'> = async ({ params, query, db, deps }) =>
  page(await exports.listExportFiles(db, deps.storage, params, query));
