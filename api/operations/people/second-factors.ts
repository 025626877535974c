/** The second factors of the acting administrator, and proofs in a session. */
import * as factors from '../../../domain/identity/factors/factors.ts';
import { prove } from '../../../domain/identity/factors/proofs.ts';
import * as totp from '../../../domain/identity/factors/totp-enrollment.ts';
import type { Operation } from '../../operation.ts';
import { tryProof } from '../../rate-limits/tries.ts';
import { data, noContent } from '../answers.ts';

export const getSecondFactors: Operation<'getSecondFactors'> = async ({ administrator, db }) =>
  data(await factors.listFactors(db, administrator.id));

export const beginTotp: Operation<'beginTotp'> = async ({ administrator, body, deps, now }) =>
  data(await totp.beginTotp(deps, administrator.id, body, now));

export const confirmTotp: Operation<'confirmTotp'> = async ({ administrator, caller, params, body, deps, now }) => {
  const owner = { id: administrator.id, sessionToken: caller.token };
  return data(await totp.confirmTotp(deps, owner, { ...params, ...body }, now));
};

export const renameSecondFactor: Operation<'renameSecondFactor'> = async ({ administrator, params, body, deps }) =>
  data(await factors.renameFactor(deps, administrator.id, params.factorId, body.name));

export const removeSecondFactor: Operation<'removeSecondFactor'> = async ({ administrator, params, deps, now }) =>
  noContent(await factors.removeFactor(deps, administrator.id, params.factorId, now));

export const renewRecoveryCodes: Operation<'renewRecoveryCodes'> = async ({ administrator, deps, now }) =>
  data(await factors.renewRecoveryCodes(deps, administrator.id, now));

export const proveIdentity: Operation<'proveIdentity'> = async ({
  administrator,
  caller,
  body,
  deps,
  limiter,
  now,
}) => {
  const { id, session } = administrator;
  const owner = { id, sessionToken: caller.token };
  return data(
    await tryProof(limiter, { account: id, sessionId: session.id, now: now.getTime() }, () =>
      prove(deps, owner, session.id, body, now),
    ),
  );
};
