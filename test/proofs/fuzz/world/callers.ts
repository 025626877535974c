/**
 * The callers of requests: members, students and API keys of the fuzzed club and of another club, and callers without a valid session or
 * key.
 */
import { Transaction } from '../../../../platform/infra/postgres/database.ts';
import type { CallerKind } from '../../../../contract/contract.ts';
import { scopes as everyScope, type Scope } from '../../../../contract/rules/scopes.ts';
import type { Role } from '../../../../entities/clubs/values.ts';
import type { Id } from '../../../../platform/core/ids.ts';
import { sha256 } from '../../../../platform/infra/keys/vault.ts';
import { freshForMs } from '../../../../domain/identity/sessions/sign-in-rules.policy.ts';
import { openSession } from '../../../../domain/identity/sessions/sessions.ts';
import { clock } from '../../../toolkit/drive/api.ts';
import { buildApiKey } from '../../../toolkit/builders/api-keys.ts';
import { buildAdministrator, buildClub, buildMember } from '../../../toolkit/builders/clubs.ts';
import { endedSession, expiredSession } from '../../../toolkit/builders/sessions.ts';
import { testDatabase } from '../../../toolkit/stack/database.ts';
import type { ClubName } from '../requests/pool.ts';
import type { CallerName } from '../requests/step.ts';

export interface Caller {
  readonly token?: string;
  /** Undefined without a valid session or key. */
  readonly kind?: CallerKind | 'key';
  readonly id?: Id;
  readonly club?: ClubName;
  readonly role?: Role;
  /** The scopes of an API key. */
  readonly scopes?: readonly Scope[];
}

export type Callers = Record<CallerName, Caller>;

/** The scopes of a key that may only read. */
export const readScopes: readonly Scope[] = everyScope.filter((scope) => scope.endsWith(':read'));

/** Builds an active key, which lives longer than the clock of a run can jump between two restorations. */
export async function buildKeyCaller(clubId: Id, club: ClubName, scopes: readonly Scope[]): Promise<Caller> {
  const { id, token } = await buildApiKey(clubId, scopes, {
    expiresAt: new Date(clock.now().getTime() + keyLifetimeMs),
  });
  return { id, token, kind: 'key', club, scopes };
}

const keyLifetimeMs = 366 * 86_400_000;

/** Builds the callers without a valid session, once for a whole run. */
export async function buildStrangers(): Promise<Partial<Callers>> {
  return {
    nobody: {},
    expiredStudent: { token: await expiredSession('student') },
    expiredAdmin: { token: await expiredSession('admin') },
    endedStudent: { token: await endedSession('student') },
    endedAdmin: { token: await endedSession('admin') },
    expiredKey: { token: await expiredKey() },
    malformed: { token: 'no-token-of-ours' },
    outsider: { ...(await buildAdministrator()), kind: 'admin' },
  };
}

async function expiredKey(): Promise<string> {
  const { id: clubId } = await buildClub();
  const times = { createdAt: new Date(Date.now() - 2_000), expiresAt: new Date(Date.now() - 1_000) };
  return (await buildApiKey(clubId, everyScope, times)).token;
}

/**
 * Requests can end sessions, change roles and remove people. Such callers are replaced. An owner whose last proof is no longer fresh signs in
 * again, so that operations with a fresh factor can succeed. Other members keep their sessions, so that these operations also refuse.
 * @param rebuild a function that makes a student like the student of this name
 */
export async function restoreCallers(
  callers: Callers,
  clubIds: Readonly<Record<ClubName, Id>>,
  rebuild: (name: CallerName, club: ClubName) => Promise<Id>,
): Promise<void> {
  for (const [name, caller] of Object.entries(callers) as [CallerName, Caller][]) {
    const { kind, id = '', club, role } = caller;
    if (kind === undefined) continue;
    if (kind === 'key') {
      if (club && !(await isUnchangedKey(caller)))
        callers[name] = await buildKeyCaller(clubIds[club], club, caller.scopes ?? []);
      continue;
    }
    const standing = await standingOf({ ...caller, kind }, club && clubIds[club]);
    const { isSamePerson } = standing;
    if (isSamePerson && standing.hasSession) continue;
    const personId = isSamePerson ? id : await anotherPerson(name, { club, role }, { clubIds, rebuild });
    callers[name] = { ...caller, id: personId, token: await newSession(kind, personId) };
  }
}

function anotherPerson(
  name: CallerName,
  { club, role }: { club: ClubName | undefined; role: Role | undefined },
  {
    clubIds,
    rebuild,
  }: { clubIds: Readonly<Record<ClubName, Id>>; rebuild: (name: CallerName, club: ClubName) => Promise<Id> },
): Promise<Id> {
  if (club === undefined) return buildAdministrator().then(({ id }) => id); // the former person has erased the account
  return role === undefined ? rebuild(name, club) : memberOf(clubIds[club], role);
}

/** Returns whether the key is active, has its scopes, and is accepted from every network. Owners and admins may change keys. */
async function isUnchangedKey({ token = '', scopes }: Caller): Promise<boolean> {
  const source = await testDatabase();
  const keys = await source.query<object[]>(
    `SELECT FROM api_keys WHERE secret_hash = $1 AND revoked_at IS NULL AND expires_at > $2 AND scopes = $3 AND allowed_networks = '{}'`,
    [sha256(token), clock.now(), scopes],
  );
  return keys.length === 1;
}

async function standingOf(
  { token = '', kind, id, role }: Caller & { kind: CallerKind },
  clubId: Id | undefined,
): Promise<{ isSamePerson: boolean; hasSession: boolean }> {
  const source = await testDatabase();
  const person =
    kind === 'admin'
      ? `$2::text IS NULL AND EXISTS (SELECT FROM administrators WHERE id = $3 AND removed_at IS NULL)
         OR EXISTS (SELECT FROM memberships WHERE administrator_id = $3 AND club_id = $4 AND role = $2)`
      : `$2::text IS NULL AND EXISTS (SELECT FROM students WHERE id = $3 AND club_id = $4 AND removed_at IS NULL)`;
  const sessions = kind === 'admin' ? 'administrator_sessions' : 'student_sessions';
  const fresh = role === 'owner' ? `created_at > $5::timestamptz - interval '${freshForMs} milliseconds'` : 'true';
  const [standing] = await source.query<{ isSamePerson: boolean; hasSession: boolean }[]>(
    `SELECT (${person}) AS "isSamePerson",
            EXISTS (SELECT FROM ${sessions} WHERE token_hash = $1 AND expires_at > $5 AND ${fresh}) AS "hasSession"`,
    [sha256(token), role ?? null, id, clubId ?? null, clock.now()],
  );
  if (!standing) throw new Error('The query of the caller returned no row');
  return standing;
}

async function memberOf(clubId: Id, role: Role): Promise<Id> {
  return (await buildMember(clubId, role)).id;
}

async function newSession(kind: CallerKind, ownerId: Id): Promise<string> {
  const source = await testDatabase();
  const { token } = await source.transaction((tx) => openSession(new Transaction(tx), kind, ownerId, clock.now()));
  return token;
}
