/** Sign-up, sign-in and sign-out of students. */
import * as sessions from '../../../domain/identity/sessions/sessions.ts';
import type { Client } from '../../../domain/identity/sessions/sessions.ts';
import * as accounts from '../../../domain/identity/accounts/student-accounts.ts';
import { presentStudent } from '../../../domain/identity/student-identity.ts';
import { acceptedLanguage } from '../../../domain/language/chosen.ts';
import * as signUp from '../../../domain/students/sign-up.ts';
import * as students from '../../../domain/students/students.ts';
import type { Operation } from '../../operation.ts';
import { tryCode } from '../../rate-limits/tries.ts';
import { accepted, data, noContent } from '../answers.ts';
import { openByCode, openByMail, signIn } from './sign-ins.ts';

export const signUpStudent: Operation<'signUpStudent'> = async ({
  params,
  body,
  header,
  network,
  deps,
  limiter,
  ip,
  now,
}) => {
  const language = acceptedLanguage(header('accept-language'));
  const act = () => signUp.signUpStudent(deps, params.clubId, { ...body, network, language }, now);
  if (body.registration_code === undefined) return accepted(await act());
  return accepted(await tryCode(limiter, { ip, now: now.getTime() }, act));
};

export const signInStudent: Operation<'signInStudent'> = async (request) =>
  data(
    await signIn(request, request.body, (client) =>
      accounts.signInStudent(request.deps, request.body, client, request.now),
    ),
  );

export const verifyStudentEmail: Operation<'verifyStudentEmail'> = async (request) =>
  data(
    await openByMail(request, () =>
      accounts.verifyStudentEmail(request.deps, request.body.token, request.client, request.now),
    ),
  );

export const resendStudentVerification: Operation<'resendStudentVerification'> = async ({ body, deps, now }) =>
  accepted(await accounts.resendStudentVerification(deps, body, now));

export const requestStudentPasswordReset: Operation<'requestStudentPasswordReset'> = async ({ body, deps, now }) =>
  accepted(await accounts.requestStudentPasswordReset(deps, body, now));

export const confirmStudentPasswordReset: Operation<'confirmStudentPasswordReset'> = async (request) =>
  data(
    await openByMail(request, () =>
      accounts.confirmStudentPasswordReset(request.deps, request.body, request.client, request.now),
    ),
  );

export const requestStudentCode: Operation<'requestStudentCode'> = async ({ body, deps, now }) =>
  data(await accounts.requestStudentCode(deps, body, now));

export const exchangeStudentCode: Operation<'exchangeStudentCode'> = async (request) => {
  const { body, network, deps, now } = request;
  const exchange = (client: Client) => accounts.exchangeStudentCode(deps, { ...body, network }, client, now);
  return data(await openByCode(request, body, exchange));
};

export const setStudentPassword: Operation<'setStudentPassword'> = async ({ student, body, deps }) =>
  data(await accounts.setStudentPassword(deps, student.id, body.password));

export const getSession: Operation<'getSession'> = async ({ student, deps }) =>
  data(await presentStudent(student, deps.storage));

export const updateOwnStudent: Operation<'updateOwnStudent'> = async ({ student, body, deps, now }) =>
  data(await students.updateOwnStudent(deps, student, body, now));

export const endSession: Operation<'endSession'> = async ({ caller, deps }) =>
  noContent(await sessions.endSession(deps, caller.kind, caller.token));
