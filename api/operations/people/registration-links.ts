/** Links that give access to a student: administrators manage them, and students claim them. */
import * as claims from '../../../domain/access/links/claims.ts';
import * as links from '../../../domain/access/links/links.ts';
import type { Operation } from '../../operation.ts';
import { tryCode } from '../../rate-limits/tries.ts';
import { data, page } from '../answers.ts';

export const listRegistrationLinks: Operation<'listRegistrationLinks'> = async ({ params, query, db, deps }) =>
  page(await links.listLinks(db, deps, params.clubId, query));

export const createRegistrationLink: Operation<'createRegistrationLink'> = async ({ params, body, deps, now }) =>
  data(await links.createLink(deps, params.clubId, body, now));

export const getRegistrationLink: Operation<'getRegistrationLink'> = async ({ params, db, deps }) =>
  data(await links.findLink(db, deps, params.clubId, params.linkId));

export const updateRegistrationLink: Operation<'updateRegistrationLink'> = async ({ params, body, deps, now }) =>
  data(await links.updateLink(deps, params.clubId, params.linkId, body, now));

export const revokeRegistrationLink: Operation<'revokeRegistrationLink'> = async ({ params, deps, now }) =>
  data(await links.revokeLink(deps, params.clubId, params.linkId, now));

export const claimRegistrationLink: Operation<'claimRegistrationLink'> = async ({
  params: { clubId, code },
  student,
  deps,
  limiter,
  ip,
  now,
}) =>
  data(
    await tryCode(limiter, { studentId: student.id, ip, now: now.getTime() }, () =>
      claims.claimRegistrationLink(deps, clubId, student.id, code, now),
    ),
  );
