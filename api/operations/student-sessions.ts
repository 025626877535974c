/** How a student gets, proves and ends a session. */
import { inTransaction } from '../../platform/infra/postgres/transaction.ts';
import { endSession as end } from '../../domain/identity/sessions.ts';
import { signUpStudent as signUp } from '../../domain/students/sign-up.ts';
import {
  confirmStudentPasswordReset as confirmReset,
  exchangeStudentCode as exchangeCode,
  requestStudentCode as requestCode,
  requestStudentPasswordReset as requestReset,
  resendStudentVerification as resendVerification,
  signInStudent as signIn,
  verifyStudentEmail as verifyEmail,
} from '../../domain/identity/student-accounts.ts';
import { presentStudent } from '../../domain/identity/student-identity.ts';
import type { Operation } from '../operation.ts';
import { accepted } from './answers.ts';

export const signUpStudent: Operation<'signUpStudent'> = async ({ params, body, services, now }) => {
  await signUp(services, params.clubId, body, now);
  return accepted;
};

export const signInStudent: Operation<'signInStudent'> = async ({ body, services, now }) => ({
  data: await signIn(services, body, now),
});

export const verifyStudentEmail: Operation<'verifyStudentEmail'> = async ({ body, services, now }) => ({
  data: await verifyEmail(services, body.token, now),
});

export const resendStudentVerification: Operation<'resendStudentVerification'> = async ({ body, services, now }) => {
  await resendVerification(services, body, now);
  return accepted;
};

export const requestStudentPasswordReset: Operation<'requestStudentPasswordReset'> = async ({
  body,
  services,
  now,
}) => {
  await requestReset(services, body, now);
  return accepted;
};

export const confirmStudentPasswordReset: Operation<'confirmStudentPasswordReset'> = async ({
  body,
  services,
  now,
}) => ({
  data: await confirmReset(services, body, now),
});

export const requestStudentCode: Operation<'requestStudentCode'> = async ({ body, services, now }) => {
  await requestCode(services, body, now);
  return accepted;
};

export const exchangeStudentCode: Operation<'exchangeStudentCode'> = async ({ body, services, now }) => ({
  data: await exchangeCode(services, body, now),
});

export const getSession: Operation<'getSession'> = async ({ student }) => ({ data: presentStudent(student) });

export const endSession: Operation<'endSession'> = async ({ caller, services }) => {
  await inTransaction(services.database, (tx) => end(tx, caller.kind, caller.token));
  return undefined;
};
