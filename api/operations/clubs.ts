/** A club's own settings. */
import * as settings from '../../domain/clubs/settings.ts';
import type { Operation } from '../operation.ts';
import { data } from './answers.ts';

export const getClub: Operation<'getClub'> = async ({ params, db }) => data(await settings.findClub(db, params.clubId));

export const updateClub: Operation<'updateClub'> = async ({ params, body, deps, now }) =>
  data(await settings.updateClub(deps, params.clubId, body, now));
