/** Sign-up and sign-in of administrators, and the creation of organizations. */
import * as members from '../../../domain/clubs/members.ts';
import * as organizations from '../../../domain/clubs/organizations.ts';
import * as signUp from '../../../domain/clubs/sign-up.ts';
import * as accounts from '../../../domain/identity/accounts/administrator-accounts.ts';
import { acceptedLanguage } from '../../../domain/language/chosen.ts';
import type { Operation } from '../../operation.ts';
import { accepted, data } from '../answers.ts';
import { openByMail, signIn, signInWithSecondFactor } from './sign-ins.ts';

export const signUpAdministrator: Operation<'signUpAdministrator'> = async ({ body, header, deps, now }) =>
  accepted(
    await signUp.signUpAdministrator(deps, { ...body, language: acceptedLanguage(header('accept-language')) }, now),
  );

export const verifyAdministratorEmail: Operation<'verifyAdministratorEmail'> = async (request) =>
  data(
    await openByMail(request, () =>
      accounts.verifyAdministratorEmail(request.deps, request.body.token, request.client, request.now),
    ),
  );

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

export const confirmAdministratorPasswordReset: Operation<'confirmAdministratorPasswordReset'> = async (request) =>
  data(
    await openByMail(request, () =>
      accounts.confirmAdministratorPasswordReset(request.deps, request.body, request.client, request.now),
    ),
  );

export const signInAdministrator: Operation<'signInAdministrator'> = async (request) =>
  data(
    await signIn(request, request.body, () =>
      accounts.signInAdministrator(request.deps, request.body, request.client, request.now),
    ),
  );

export const finishAdministratorSignIn: Operation<'finishAdministratorSignIn'> = async (request) =>
  data(await signInWithSecondFactor(request, request.body));

export const acceptInvitation: Operation<'acceptInvitation'> = async (request) =>
  data(
    await openByMail(request, () => members.acceptInvitation(request.deps, request.body, request.client, request.now)),
  );

export const getProfile: Operation<'getProfile'> = async ({ administrator, db }) =>
  data(await accounts.getProfile(db, administrator.id, administrator.session.onlyClubId));

export const updateProfile: Operation<'updateProfile'> = async ({ administrator, body, deps }) =>
  data(await accounts.updateProfile(deps, administrator.id, body));

export const createOrganization: Operation<'createOrganization'> = async ({ administrator, body, deps, now }) =>
  data(await organizations.openOrganization(deps, administrator.id, body.name, now));
