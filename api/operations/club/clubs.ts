/** A club's settings, and its public data by its slug. */
import * as branding from '../../../domain/clubs/branding.ts';
import * as settings from '../../../domain/clubs/settings.ts';
import * as slugs from '../../../domain/clubs/slugs.ts';
import type { Operation } from '../../operation.ts';
import { data } from '../answers.ts';

export const getClub: Operation<'getClub'> = async ({ params, db }) => data(await settings.findClub(db, params.clubId));

export const updateClub: Operation<'updateClub'> = async ({ params, body, deps, now }) =>
  data(await settings.updateClub(deps, params.clubId, body, now));

export const getBranding: Operation<'getBranding'> = async ({ params, db, deps }) =>
  data(await branding.readBranding(db, deps.publicUrl, params.clubId));

export const setBranding: Operation<'setBranding'> = async ({ params, body, deps, now }) =>
  data(await branding.setBranding(deps, params.clubId, body, now));

/** This time can be short, because a former slug redirects for much longer. */
const frontSeconds = 60;

export const getClubBySlug: Operation<'getClubBySlug'> = async ({ params, db, deps, now, answerWith }) => {
  const front = await slugs.findClubFront({ db, publicUrl: deps.publicUrl }, params.slug, now);
  answerWith('Cache-Control', `public, max-age=${frontSeconds}`);
  return data(front);
};
