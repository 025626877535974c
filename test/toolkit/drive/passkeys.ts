/** Adds passkeys and signs in with them, through the API and a software authenticator. */
import { expect } from 'chai';
import type { RecordOf } from '../../../contract/contract.ts';
import type { JsonObject } from '../../../contract/openapi.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { SoftwareAuthenticator, type Deviations } from '../fakes/authenticator.ts';
import { testDatabase } from '../stack/database.ts';
import { call, type Answer } from './api.ts';

type Assertion = RecordOf<'PasskeyAssertion'>;
type AuthenticatorSettings = NonNullable<ConstructorParameters<typeof SoftwareAuthenticator>[1]>;

/** The paths of one kind of person. */
export interface PasskeyPaths {
  passkeys: string;
  /** The list of passkeys, and the path above their ids. */
  list: string;
  signIn: string;
  /** Fields that a sign-in needs besides the passkey. */
  fields: Readonly<Record<string, string>>;
  origin: string;
}

export const ofAdministrators: PasskeyPaths = {
  passkeys: '/v1/me/second-factors/passkeys',
  list: '/v1/me/second-factors',
  signIn: '/v1/auth/admin/passkeys',
  fields: {},
  origin: 'http://dashboard.localhost:3000',
};

/** The paths of the students of a club. */
export async function ofStudentsOf(clubId: Id): Promise<PasskeyPaths> {
  const [club] = await (
    await testDatabase()
  ).query<{ slug: string }[]>(`SELECT slug FROM clubs WHERE id = $1`, [clubId]);
  return {
    passkeys: '/v1/auth/session/passkeys',
    list: '/v1/auth/session/passkeys',
    signIn: '/v1/auth/passkeys',
    fields: { club_id: clubId },
    origin: `http://${club?.slug}.classroom.localhost:3000`,
  };
}

/** Creates a passkey, and sends it. @returns the answer, which may be a refusal */
export async function sendNewPasskey(
  { passkeys }: PasskeyPaths,
  token: string,
  authenticator: SoftwareAuthenticator,
  deviations: Deviations = {},
): Promise<Answer> {
  const body = { name: 'Laptop', passkey: authenticator.create(await creationOptions(passkeys, token), deviations) };
  return call('POST', passkeys, { token, body });
}

async function creationOptions(passkeys: string, token: string): Promise<RecordOf<'PasskeyCreationOptions'>> {
  const options = await call('POST', `${passkeys}/options`, { token });
  expect(options.status).to.equal(200);
  return options.body.data;
}

/** @returns the body of a request that adds a new passkey */
export async function newPasskey({ passkeys, origin }: PasskeyPaths, token: string): Promise<JsonObject> {
  const authenticator = new SoftwareAuthenticator(origin);
  return { name: 'Laptop', passkey: authenticator.create(await creationOptions(passkeys, token)) };
}

/** @returns an authenticator with a passkey of the person */
export async function addPasskey(
  paths: PasskeyPaths,
  token: string,
  settings: AuthenticatorSettings = {},
): Promise<SoftwareAuthenticator> {
  const authenticator = new SoftwareAuthenticator(paths.origin, settings);
  expect((await sendNewPasskey(paths, token, authenticator)).status).to.equal(201);
  return authenticator;
}

export async function signInOptions({ signIn, fields }: PasskeyPaths): Promise<RecordOf<'PasskeyRequestOptions'>> {
  const answer = await call('POST', `${signIn}/options`, fieldsAsBody(fields));
  expect(answer.status).to.equal(200);
  return answer.body.data;
}

export function sendAssertion({ signIn, fields }: PasskeyPaths, passkey: Assertion): Promise<Answer> {
  return call('POST', `${signIn}/sign-in`, { body: { ...fields, passkey } });
}

/** Requests options, and signs in with them. @returns the answer, which may be a refusal */
export async function signInWithPasskey(
  paths: PasskeyPaths,
  authenticator: SoftwareAuthenticator,
  deviations: Deviations = {},
): Promise<Answer> {
  return sendAssertion(paths, authenticator.get(await signInOptions(paths), deviations));
}

const fieldsAsBody = (fields: PasskeyPaths['fields']) => (Object.keys(fields).length > 0 ? { body: fields } : {});
