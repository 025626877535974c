/** How a student gets, proves and ends a session. */
import * as sessions from '../../domain/identity/sessions.ts';
import * as accounts from '../../domain/identity/student-accounts.ts';
import { presentStudent } from '../../domain/identity/student-identity.ts';
import * as signUp from '../../domain/students/sign-up.ts';
import type { Operation } from '../operation.ts';
import { accepted, data, noContent } from './answers.ts';

export const signUpStudent: Operation<'signUpStudent'> = async ({ params, body, network, deps, now }) =>
  accepted(await signUp.signUpStudent(deps, params.clubId, { ...body, network }, now));

export const signInStudent: Operation<'signInStudent'> = async ({ body, deps, now }) =>
  data(await accounts.signInStudent(deps, body, now));

export const verifyStudentEmail: Operation<'verifyStudentEmail'> = async ({ body, deps, now }) =>
  data(await accounts.verifyStudentEmail(deps, body.token, now));

export const resendStudentVerification: Operation<'resendStudentVerification'> = async ({ body, deps, now }) =>
  accepted(await accounts.resendStudentVerification(deps, body, now));

export const requestStudentPasswordReset: Operation<'requestStudentPasswordReset'> = async ({ body, deps, now }) =>
  accepted(await accounts.requestStudentPasswordReset(deps, body, now));

export const confirmStudentPasswordReset: Operation<'confirmStudentPasswordReset'> = async ({ body, deps, now }) =>
  data(await accounts.confirmStudentPasswordReset(deps, body, now));

export const requestStudentCode: Operation<'requestStudentCode'> = async ({ body, deps, now }) =>
  data(await accounts.requestStudentCode(deps, body, now));

export const exchangeStudentCode: Operation<'exchangeStudentCode'> = async ({ body, network, deps, now }) =>
  data(await accounts.exchangeStudentCode(deps, { ...body, network }, now));

export const setStudentPassword: Operation<'setStudentPassword'> = async ({ student, body, deps }) =>
  data(await accounts.setStudentPassword(deps, student.id, body.password));

export const getSession: Operation<'getSession'> = async ({ student, deps }) =>
  data(await presentStudent(student, deps.storage));

export const endSession: Operation<'endSession'> = async ({ caller, deps }) =>
  noContent(await sessions.endSession(deps, caller.kind, caller.token));
