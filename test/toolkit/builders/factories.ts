/** Records that tests start from, one function a record: real rows, made by the domain's own functions where it has them. */
import { hashPassword } from '../../../domain/identity/passwords.ts';
import type { Role } from '../../../domain/clubs/roles.policy.ts';
import { createOrganization } from '../../../domain/clubs/organizations.ts';
import { newId, type Id } from '../../../domain/core/ids.ts';
import { tokenText, type TokenPurpose } from '../../../domain/identity/one-time-tokens.ts';
import { endSession, openSession, sessionLifetimeMs, type CallerKind } from '../../../domain/identity/sessions.ts';
import type { EventType } from '../../../domain/facts/catalogue.policy.ts';
import { newSecret } from '../../../domain/webhooks/signature.ts';
import { testDatabase, testPlatform } from '../stack/database.ts';

/** Every account of the factories has it; hashed once, because hashing is slow on purpose. */
export const password = 'correct horse battery';
const passwordHash = hashPassword(password);

export interface TestAdministrator {
  id: Id;
  email: string;
  /** A session's token. */
  token: string;
}

export interface TestClub {
  id: Id;
  owner: TestAdministrator;
}

export interface TestStudent {
  id: Id;
  email: string;
  /** A session's token. */
  token: string;
}

/** A confirmed administrator with a session, in no club. */
export async function buildAdministrator(): Promise<TestAdministrator> {
  const source = await testDatabase();
  const id = newId();
  const email = `administrator-${id}@example.com`;
  await source.query(
    `INSERT INTO administrators (id, name, email, password_hash, verified_at, created_at) VALUES ($1, $2, $3, $4, $5, $5)`,
    [id, 'Ada Administrator', email, await passwordHash, new Date()],
  );
  const { token } = await source.transaction((tx) => openSession(tx, 'admin', id, new Date()));
  return { id, email, token };
}

/** A club with its owner. */
export async function buildClub(): Promise<TestClub> {
  const source = await testDatabase();
  const owner = await buildAdministrator();
  const club = await source.transaction((tx) => createOrganization(tx, owner.id, `Club ${owner.id}`, new Date()));
  return { id: club.organization_id, owner };
}

/** A further member of a club. */
export async function buildMember(clubId: Id, role: Role): Promise<TestAdministrator> {
  const source = await testDatabase();
  const administrator = await buildAdministrator();
  await source.query(`INSERT INTO memberships (club_id, administrator_id, role, joined_at) VALUES ($1, $2, $3, $4)`, [
    clubId,
    administrator.id,
    role,
    new Date(),
  ]);
  return administrator;
}

/** A confirmed student with a session; raises no fact. */
export async function buildStudent(
  clubId: Id,
  { name = 'Stella Student', verified = true, email: given = '', createdAt = new Date() } = {},
): Promise<TestStudent> {
  const source = await testDatabase();
  const id = newId();
  const email = given || `student-${id}@example.com`;
  await source.query(
    `INSERT INTO students (id, club_id, name, email, password_hash, verified_at, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    [id, clubId, name, email, await passwordHash, verified ? new Date() : null, createdAt],
  );
  const { token } = await source.transaction((tx) => openSession(tx, 'student', id, new Date()));
  return { id, email, token };
}

export interface TestEndpoint {
  id: Id;
  secret: string;
}

/** An enabled endpoint, registered past the egress guard. */
export async function buildEndpoint(
  clubId: Id,
  url: string,
  eventTypes: readonly EventType[] = ['student.created', 'student.updated', 'student.removed'],
): Promise<TestEndpoint> {
  const { database, vault } = await testPlatform();
  const id = newId();
  const secret = newSecret();
  await database.source.query(
    `INSERT INTO webhook_endpoints (id, club_id, url, event_types, secret, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $6)`,
    [id, clubId, url, eventTypes, vault.seal(secret, id), new Date()],
  );
  return { id, secret };
}

/** A session of somebody who exists, which was ended. @returns its token */
export async function endedSession(kind: CallerKind): Promise<string> {
  const source = await testDatabase();
  const { token } = await buildCaller(kind);
  await source.transaction((tx) => endSession(tx, kind, token));
  return token;
}

/** A session of somebody who exists, whose time ran out a second ago. @returns its token */
export async function expiredSession(kind: CallerKind): Promise<string> {
  const source = await testDatabase();
  const { id } = await buildCaller(kind);
  const opened = new Date(Date.now() - sessionLifetimeMs[kind] - 1_000);
  const { token } = await source.transaction((tx) => openSession(tx, kind, id, opened));
  return token;
}

async function buildCaller(kind: CallerKind): Promise<TestAdministrator | TestStudent> {
  const club = await buildClub();
  return kind === 'student' ? buildStudent(club.id) : club.owner;
}

/**
 * What the newest mail of this purpose to somebody says: the token of its link, or the code.
 * @param ownerId the student's, the administrator's or the invitation's id
 */
export async function mailedToken(purpose: TokenPurpose, ownerId: Id): Promise<string> {
  const { database, vault } = await testPlatform();
  const [newest] = await database.source.query<{ id: Id }[]>(
    `SELECT id FROM one_time_tokens
      WHERE purpose = $1 AND $2 IN (student_id, administrator_id, invitation_id) ORDER BY created_at DESC, id DESC LIMIT 1`,
    [purpose, ownerId],
  );
  if (!newest) throw new Error(`No ${purpose} is out for ${ownerId}.`);
  return tokenText(vault, purpose, newest.id);
}

/** A second session of somebody: another browser. @returns its token */
export async function openFurtherSession(kind: CallerKind, ownerId: Id): Promise<string> {
  const source = await testDatabase();
  const { token } = await source.transaction((tx) => openSession(tx, kind, ownerId, new Date()));
  return token;
}
