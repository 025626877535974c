/** Tracks openings and clicks of mails by an image and by redirecting links. */
import { Binary, Redirect } from '../../../contract/contract.ts';
import * as visits from '../../../domain/mail/tracking/visits.ts';
import type { Operation } from '../../operation.ts';

/** A transparent pixel. */
const pixel = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');

export const loadMailPicture: Operation<'loadMailPicture'> = async ({ params, method, header, deps, now }) => {
  await visits.recordOpening(deps, params.token, { method, header }, now);
  return new Binary('image/gif', pixel, 'opened.gif');
};

export const followMailLink: Operation<'followMailLink'> = async ({ params, method, header, deps, now }) =>
  new Redirect(new URL(await visits.followLink(deps, params.token, { method, header }, now)).href);
