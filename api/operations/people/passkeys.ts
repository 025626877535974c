/** Passkeys of administrators and of students, and the sign-in with a passkey alone. */
import { offerPasskeyForSignIn } from '../../../domain/identity/factors/second-step.ts';
import * as administrators from '../../../domain/identity/passkeys/administrator-passkeys.ts';
import { offerFactor } from '../../../domain/identity/passkeys/passkey-factor.ts';
import * as signIns from '../../../domain/identity/passkeys/passkey-sign-in.ts';
import * as students from '../../../domain/identity/passkeys/student-passkeys.ts';
import type { Operation } from '../../operation.ts';
import { data, noContent } from '../answers.ts';
import { openByMail as openByPasskey } from './sign-ins.ts';

export const requestAdministratorPasskey: Operation<'requestAdministratorPasskey'> = async ({ deps, now }) =>
  data(signIns.offerAdministratorSignIn(deps, now));

export const signInAdministratorWithPasskey: Operation<'signInAdministratorWithPasskey'> = async (request) => {
  const { body, deps, client, now } = request;
  return data(
    await openByPasskey(request, () => signIns.signInAdministratorWithPasskey(deps, body.passkey, client, now)),
  );
};

export const requestPasskeyForSignIn: Operation<'requestPasskeyForSignIn'> = async ({ body, deps, now }) =>
  data(await offerPasskeyForSignIn(deps, body.challenge, now));

export const requestPasskeyForProof: Operation<'requestPasskeyForProof'> = async ({ administrator, deps, now }) =>
  data(await offerFactor(deps, { administratorId: administrator.id, occasion: administrator.session.id, now }));

export const requestStudentPasskey: Operation<'requestStudentPasskey'> = async ({ body, deps, now }) =>
  data(signIns.offerStudentSignIn(deps, body.club_id, now));

export const signInStudentWithPasskey: Operation<'signInStudentWithPasskey'> = async (request) => {
  const { body, deps, client, now } = request;
  return data(await openByPasskey(request, () => signIns.signInStudentWithPasskey(deps, body, client, now)));
};

export const requestAdministratorPasskeyCreation: Operation<'requestAdministratorPasskeyCreation'> = async ({
  administrator,
  deps,
  now,
}) => data(await administrators.offerAdministratorPasskey(deps, administrator.id, now));

export const addAdministratorPasskey: Operation<'addAdministratorPasskey'> = async ({
  administrator,
  caller,
  body,
  deps,
  now,
}) => {
  const owner = { id: administrator.id, sessionToken: caller.token };
  return data(await administrators.addAdministratorPasskey(deps, owner, body, now));
};

export const getStudentPasskeys: Operation<'getStudentPasskeys'> = async ({ student, db }) =>
  data(await students.getStudentPasskeys(db, student.id));

export const requestStudentPasskeyCreation: Operation<'requestStudentPasskeyCreation'> = async ({
  student,
  deps,
  now,
}) => data(await students.offerStudentPasskey(deps, student.id, now));

export const addStudentPasskey: Operation<'addStudentPasskey'> = async ({ student, body, deps, now }) =>
  data(await students.addStudentPasskey(deps, student.id, body, now));

export const renameStudentPasskey: Operation<'renameStudentPasskey'> = async ({ student, params, body, deps }) =>
  data(await students.renameStudentPasskey(deps, student.id, params.passkeyId, body.name));

export const removeStudentPasskey: Operation<'removeStudentPasskey'> = async ({ student, params, deps, now }) =>
  noContent(await students.removeStudentPasskey(deps, student.id, params.passkeyId, now));
