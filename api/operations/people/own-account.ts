/** The profile, the picture, the telephone number and the password of the person of a session. */
import * as profiles from '../../../domain/identity/accounts/profiles.ts';
import * as passwords from '../../../domain/identity/passwords/changing.ts';
import * as phoneCodes from '../../../domain/identity/phones/codes.ts';
import * as avatars from '../../../domain/media/purposes/own-avatars.ts';
import type { Operation } from '../../operation.ts';
import { idOf } from '../../operation.ts';
import { tryOwnPassword } from '../../rate-limits/tries.ts';
import { accepted, data, noContent } from '../answers.ts';

export const getProfile: Operation<'getProfile'> = async ({ administrator, db, deps }) =>
  data(await profiles.getProfile(db, deps.storage, administrator.id));

export const updateProfile: Operation<'updateProfile'> = async ({ administrator, body, deps, now }) =>
  data(await profiles.updateProfile(deps, administrator.id, body, now));

export const putOwnAvatar: Operation<'putOwnAvatar'> = async ({ administrator, bodyStream, deps, now }) => {
  const pieces: Buffer[] = [];
  for await (const piece of bodyStream) pieces.push(piece); // at most 10 MB, by the contract
  await avatars.putOwnAvatar(deps, administrator.id, Buffer.concat(pieces), now);
  return data(await profiles.getProfile(deps.db, deps.storage, administrator.id));
};

export const deleteOwnAvatar: Operation<'deleteOwnAvatar'> = async ({ administrator, deps, now }) =>
  noContent(await avatars.deleteOwnAvatar(deps, administrator.id, now));

export const removePhone: Operation<'removePhone'> = async ({ administrator, deps, now }) =>
  noContent(await profiles.removePhone(deps, administrator.id, now));

export const requestPhoneCode: Operation<'requestPhoneCode'> = async ({ administrator, deps, now }) =>
  accepted(await phoneCodes.requestPhoneCode(deps, administrator.id, now));

export const verifyPhone: Operation<'verifyPhone'> = async ({ administrator, body, deps, now }) => {
  await phoneCodes.verifyPhone(deps, administrator.id, body.code, now);
  return data(await profiles.getProfile(deps.db, deps.storage, administrator.id));
};

export const changeOwnPassword: Operation<'changeOwnPassword'> = async ({ caller, body, deps, limiter, ip, now }) => {
  const { kind, token } = caller;
  const change = () => passwords.changePassword(deps, { kind, id: idOf(caller), token }, body, now);
  return noContent(await tryOwnPassword(limiter, { session: token, ip, now: now.getTime() }, change));
};
