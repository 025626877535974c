/** The erasure of a club. */
import * as erasure from '../../../domain/clubs/erasure.ts';
import type { Operation } from '../../operation.ts';
import { data, noContent } from '../answers.ts';

export const getClubErasure: Operation<'getClubErasure'> = async ({ params, deps }) =>
  data(await erasure.getClubErasure(deps, params.clubId));

export const requestClubErasure: Operation<'requestClubErasure'> = async ({ params, administrator, body, deps, now }) =>
  data(await erasure.requestClubErasure(deps, params.clubId, administrator.id, body, now));

export const cancelClubErasure: Operation<'cancelClubErasure'> = async ({ params, administrator, deps, now }) =>
  noContent(await erasure.cancelClubErasure(deps, params.clubId, administrator.id, now));
