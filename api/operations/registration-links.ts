/** Links that give their claimant access: kept by administrators, claimed by students. */
import { claimLink } from '../../domain/access/links/claims.ts';
import { createLink, findLink, listLinks, revokeLink, updateLink } from '../../domain/access/links/links.ts';
import type { Operation } from '../operation.ts';
import { listed } from './answers.ts';

export const listRegistrationLinks: Operation<'listRegistrationLinks'> = async ({ params, query, services }) =>
  listed(await listLinks(services.database, services, params.clubId, query));

export const createRegistrationLink: Operation<'createRegistrationLink'> = async ({ params, body, services, now }) => ({
  data: await services.database.transaction((tx) => createLink(tx, services, params.clubId, body, now)),
});

export const getRegistrationLink: Operation<'getRegistrationLink'> = async ({ params, services }) => ({
  data: await findLink(services.database, services, params.clubId, params.linkId),
});

export const updateRegistrationLink: Operation<'updateRegistrationLink'> = async ({ params, body, services, now }) => ({
  data: await services.database.transaction((tx) => updateLink(tx, services, params.clubId, params.linkId, body, now)),
});

export const revokeRegistrationLink: Operation<'revokeRegistrationLink'> = async ({ params, services, now }) => ({
  data: await services.database.transaction((tx) => revokeLink(tx, services, params.clubId, params.linkId, now)),
});

export const claimRegistrationLink: Operation<'claimRegistrationLink'> = async ({
  params,
  student,
  services,
  now,
}) => ({
  data: await services.database.transaction((tx) => claimLink(tx, params.clubId, student.id, params.code, now)),
});
