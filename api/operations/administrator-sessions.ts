/** How an administrator gets an account, a session and an organization. */
import * as members from '../../domain/clubs/members.ts';
import * as organizations from '../../domain/clubs/organizations.ts';
import * as signUp from '../../domain/clubs/sign-up.ts';
import * as accounts from '../../domain/identity/administrator-accounts.ts';
import type { Operation } from '../operation.ts';
import { accepted, data } from './answers.ts';

export const signUpAdministrator: Operation<'signUpAdministrator'> = async ({ body, deps, now }) =>
  accepted(await signUp.signUpAdministrator(deps, body, now));

export const verifyAdministratorEmail: Operation<'verifyAdministratorEmail'> = async ({ body, deps, now }) =>
  data(await accounts.verifyAdministratorEmail(deps, body.token, now));

export const resendAdministratorVerification: Operation<'resendAdministratorVerification'> = async ({
  body,
  deps,
  now,
}) => accepted(await accounts.resendAdministratorVerification(deps, body.email, now));

export const requestAdministratorPasswordReset: Operation<'requestAdministratorPasswordReset'> = async ({
  body,
  deps,
  now,
}) => accepted(await accounts.requestAdministratorPasswordReset(deps, body.email, now));

export const confirmAdministratorPasswordReset: Operation<'confirmAdministratorPasswordReset'> = async ({
  body,
  deps,
  now,
}) => data(await accounts.confirmAdministratorPasswordReset(deps, body, now));

export const signInAdministrator: Operation<'signInAdministrator'> = async ({ body, deps, now }) =>
  data(await accounts.signInAdministrator(deps, body, now));

export const acceptInvitation: Operation<'acceptInvitation'> = async ({ body, deps, now }) =>
  data(await members.acceptInvitation(deps, body, now));

export const getProfile: Operation<'getProfile'> = async ({ administrator, db }) =>
  data(await accounts.getProfile(db, administrator.id));

export const createOrganization: Operation<'createOrganization'> = async ({ administrator, body, deps, now }) =>
  data(await organizations.openOrganization(deps, administrator.id, body.name, now));
