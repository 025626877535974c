/** A club's own settings. */
import { findClub, updateClub as update } from '../../domain/clubs/settings.ts';
import type { Operation } from '../operation.ts';

export const getClub: Operation<'getClub'> = async ({ params, services }) => ({
  data: await findClub(services.database, params.clubId),
});

export const updateClub: Operation<'updateClub'> = async ({ params, body, services, now }) => ({
  data: await update(services.database, params.clubId, body, now),
});
