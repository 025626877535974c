/** The profile, the picture, the telephone number, the password and the sessions of the person of a session. */
import * as erasure from '../../../domain/administrators/erasure.ts';
import * as profiles from '../../../domain/identity/accounts/profiles.ts';
import * as passwords from '../../../domain/identity/passwords/changing.ts';
import * as sessions from '../../../domain/identity/sessions/own-sessions.ts';
import * as phoneCodes from '../../../domain/identity/phones/codes.ts';
import * as avatars from '../../../domain/media/processing/own-avatars.ts';
import type { Operation } from '../../operation.ts';
import { idOf, type Person } from '../../operation.ts';
import { tryOwnPassword } from '../../rate-limits/tries.ts';
import { accepted, data, noContent, page } from '../answers.ts';

export const getProfile: Operation<'getProfile'> = async ({ administrator, db, deps }) =>
  data(await profiles.getProfile(db, deps.storage, administrator.id, administrator.session.onlyClubId));

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
  const change = () => passwords.changePassword(deps, changerOf(caller), body, now);
  return noContent(await tryOwnPassword(limiter, { session: caller.token, ip, now: now.getTime() }, change));
};

export const listOwnSessions: Operation<'listOwnSessions'> = async ({ caller, query, db, now }) =>
  page(await sessions.listOwnSessions(db, ownerOf(caller), query, now));

export const endOwnSession: Operation<'endOwnSession'> = async ({ params, caller, deps, now }) =>
  noContent(await sessions.endOwnSession(deps, ownerOf(caller), params.signInSessionId, now));

export const endOtherOwnSessions: Operation<'endOtherOwnSessions'> = async ({ caller, deps }) =>
  noContent(await sessions.endOtherOwnSessions(deps, ownerOf(caller)));

const ownerOf = (caller: Person): sessions.SessionOwner => ({
  kind: caller.kind,
  id: idOf(caller),
  token: caller.token,
});

const changerOf = (caller: Person): passwords.PasswordChanger =>
  caller.kind === 'admin' ? { ...ownerOf(caller), proofs: caller } : ownerOf(caller);

export const eraseOwnAccount: Operation<'eraseOwnAccount'> = async (request) => {
  const { administrator, body, deps, requestId, network, now } = request;
  const erased = { administratorId: administrator.id, typedEmail: body.email, requestId, network };
  return data(await erasure.eraseOwnAccount(deps, erased, now));
};
