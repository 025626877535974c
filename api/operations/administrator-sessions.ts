/** How an administrator gets an account, a session and an organization. */
import { createOrganization as create } from '../../domain/clubs/organizations.ts';
import { acceptInvitation as accept } from '../../domain/clubs/members.ts';
import { inTransaction } from '../../platform/infra/postgres/transaction.ts';
import { signUpAdministrator as signUp } from '../../domain/clubs/sign-up.ts';
import {
  confirmAdministratorPasswordReset as confirmReset,
  getProfile as profileOf,
  requestAdministratorPasswordReset as requestReset,
  resendAdministratorVerification as resendVerification,
  signInAdministrator as signIn,
  verifyAdministratorEmail as verifyEmail,
} from '../../domain/identity/administrator-accounts.ts';
import type { Operation } from '../operation.ts';
import { accepted } from './answers.ts';

export const signUpAdministrator: Operation<'signUpAdministrator'> = async ({ body, services, now }) => {
  await signUp(services, body, now);
  return accepted;
};

export const verifyAdministratorEmail: Operation<'verifyAdministratorEmail'> = async ({ body, services, now }) => ({
  data: await verifyEmail(services, body.token, now),
});

export const resendAdministratorVerification: Operation<'resendAdministratorVerification'> = async ({
  body,
  services,
  now,
}) => {
  await resendVerification(services, body.email, now);
  return accepted;
};

export const requestAdministratorPasswordReset: Operation<'requestAdministratorPasswordReset'> = async ({
  body,
  services,
  now,
}) => {
  await requestReset(services, body.email, now);
  return accepted;
};

export const confirmAdministratorPasswordReset: Operation<'confirmAdministratorPasswordReset'> = async ({
  body,
  services,
  now,
}) => ({
  data: await confirmReset(services, body, now),
});

export const signInAdministrator: Operation<'signInAdministrator'> = async ({ body, services, now }) => ({
  data: await signIn(services, body, now),
});

export const acceptInvitation: Operation<'acceptInvitation'> = async ({ body, services, now }) => ({
  data: await accept(services, body, now),
});

export const getProfile: Operation<'getProfile'> = async ({ administrator, services }) => ({
  data: await profileOf(services.database.source.manager, administrator.id),
});

export const createOrganization: Operation<'createOrganization'> = async ({ administrator, body, services, now }) => ({
  data: await inTransaction(services.database, (tx) => create(tx, administrator.id, body.name, now)),
});
