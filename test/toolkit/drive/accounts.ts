/**
 * Calls operations for passwords and addresses, of students and of administrators. Equal rules apply to both, so each test runs for both.
 */
import type { TokenPurpose } from '../../../entities/mail/values.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { buildAdministrator, buildStudent } from '../builders/clubs.ts';
import { call, type Answer } from './api.ts';
import { testDatabase } from '../stack/database.ts';

interface Account {
  id: Id;
  email: string;
  /** A session's token. */
  token: string;
}

export interface AccountKind {
  name: 'student' | 'administrator';
  paths: string;
  subject: 'student' | 'administrator';
  purposes: { verify: TokenPurpose; reset: TokenPurpose };
  templates: { verify: string; alreadyRegistered: string; reset: string };
  build: () => Promise<Account>;
  signUp: (email: string, password: string) => Promise<Answer>;
  signIn: (email: string, password: string) => Promise<Answer>;
  resend: (email: string) => Promise<Answer>;
  requestReset: (email: string) => Promise<Answer>;
  verify: (token: string) => Promise<Answer>;
  confirmReset: (token: string, password: string) => Promise<Answer>;
  /** The status is 200 while the session is valid. */
  read: (token: string) => Promise<Answer>;
  idOf: (email: string) => Promise<Id>;
}

export function studentAccounts(clubId: Id): AccountKind {
  return {
    ...common('/v1/auth', { club_id: clubId }, '/v1/auth/session'),
    name: 'student',
    subject: 'student',
    purposes: { verify: 'student_verify_email', reset: 'student_reset_password' },
    templates: {
      verify: 'student_verify_email',
      alreadyRegistered: 'student_already_registered',
      reset: 'student_reset_password',
    },
    build: () => buildStudent(clubId),
    signUp: (email, password) =>
      call('POST', `/v1/clubs/${clubId}/classroom/sign-up`, { body: { name: 'Ada Example', email, password } }),
    idOf: (email) => find(`SELECT id FROM students WHERE club_id = $2 AND email = $1`, [email.toLowerCase(), clubId]),
  };
}

export function administratorAccounts(): AccountKind {
  return {
    ...common('/v1/auth/admin', {}, '/v1/me'),
    name: 'administrator',
    subject: 'administrator',
    purposes: { verify: 'administrator_verify_email', reset: 'administrator_reset_password' },
    templates: {
      verify: 'administrator_verify_email',
      alreadyRegistered: 'administrator_already_registered',
      reset: 'administrator_reset_password',
    },
    build: buildAdministrator,
    signUp: (email, password) =>
      call('POST', '/v1/auth/admin/sign-up', {
        body: { name: 'Ada Example', email, password, organization: { name: 'Harbour Academy' } },
      }),
    idOf: (email) => find(`SELECT id FROM administrators WHERE email = $1`, [email.toLowerCase()]),
  };
}

function common(paths: string, club: object, whoAmI: string) {
  return {
    paths,
    signIn: (email: string, password: string) =>
      call('POST', `${paths}/sign-in`, { body: { ...club, email, password } }),
    resend: (email: string) => call('POST', `${paths}/verify-email/resend`, { body: { ...club, email } }),
    requestReset: (email: string) => call('POST', `${paths}/password-reset`, { body: { ...club, email } }),
    verify: (token: string) => call('POST', `${paths}/verify-email`, { body: { token } }),
    confirmReset: (token: string, password: string) =>
      call('POST', `${paths}/password-reset/confirm`, { body: { token, password } }),
    read: (token: string) => call('GET', whoAmI, { token }),
  };
}

async function find(sql: string, parameters: unknown[]): Promise<Id> {
  const source = await testDatabase();
  const [row] = await source.query<{ id: Id }[]>(sql, parameters);
  if (!row) throw new Error('The account does not exist');
  return row.id;
}
