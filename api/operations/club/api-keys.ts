/** API keys: owners and admins manage them in person. */
import * as keys from '../../../domain/identity/api-keys/api-keys.ts';
import type { Operation } from '../../operation.ts';
import { data, noContent, page } from '../answers.ts';

export const listApiKeys: Operation<'listApiKeys'> = async ({ params, query, db, now }) =>
  page(await keys.listKeys(db, params.clubId, query, now));

export const createApiKey: Operation<'createApiKey'> = async ({ params, body, administrator, deps, now }) =>
  data(await keys.createKey(deps, { clubId: params.clubId, createdBy: administrator.id }, body, now));

export const getApiKey: Operation<'getApiKey'> = async ({ params, db, now }) =>
  data(await keys.findKey(db, params.clubId, params.keyId, now));

export const getCurrentApiKey: Operation<'getCurrentApiKey'> = async ({ params, actor, db, now }) =>
  data(await keys.findCurrentKey(db, params.clubId, actor, now));

export const updateApiKey: Operation<'updateApiKey'> = async ({ params, body, deps, now }) =>
  data(await keys.updateKey(deps, params.clubId, params.keyId, body, now));

export const rotateApiKey: Operation<'rotateApiKey'> = async ({ params, body, deps, now }) =>
  data(await keys.rotateKey(deps, params.clubId, params.keyId, body ?? {}, now));

export const revokeApiKey: Operation<'revokeApiKey'> = async ({ params, deps, now }) =>
  noContent(await keys.revokeKey(deps, params.clubId, params.keyId, now));
