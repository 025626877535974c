/** Builds clubs, administrators, members and students. If the domain has a function for this, the builder calls it. */
import { Transaction } from '../../../platform/infra/postgres/database.ts';
import type { Language, Role } from '../../../entities/clubs/values.ts';
import { createOrganization } from '../../../domain/clubs/organizations.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { hashPassword } from '../../../domain/identity/passwords/passwords.ts';
import { openSession } from '../../../domain/identity/sessions/sessions.ts';
import { addressKeyOf } from '../../../platform/infra/keys/address-keys.ts';
import { testDatabase, testDeps } from '../stack/database.ts';

/** The password of every account of the builders. It is hashed only once, because hashing is slow on purpose. */
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

/** A confirmed administrator with a session, who is a member of no club. */
export async function buildAdministrator(): Promise<TestAdministrator> {
  const source = await testDatabase();
  const id = newId();
  const email = `administrator-${id}@example.com`;
  await source.query(
    `INSERT INTO administrators (id, name, email, password_hash, verified_at, created_at) VALUES ($1, $2, $3, $4, $5, $5)`,
    [id, 'Ada Administrator', email, await passwordHash, new Date()],
  );
  const { token } = await source.transaction((tx) => openSession(new Transaction(tx), 'admin', id, new Date()));
  return { id, email, token };
}

/** @param language the language, which is English by default, as for every new club */
export async function buildClub({ language }: { language?: Language } = {}): Promise<TestClub> {
  const source = await testDatabase();
  const owner = await buildAdministrator();
  const club = await source.transaction((tx) =>
    createOrganization(new Transaction(tx), owner.id, { name: `Club ${owner.id}`, plan: 'professional' }, new Date()),
  );
  if (language !== undefined)
    await source.query(`UPDATE clubs SET language = $2 WHERE id = $1`, [club.organization_id, language]);
  return { id: club.organization_id, owner };
}

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

/** A confirmed student with a session. This builder records no fact. */
export async function buildStudent(
  clubId: Id,
  { name = 'Stella Student', verified = true, email: given = '', createdAt = new Date(), openedBy = 'club' } = {},
): Promise<TestStudent> {
  const source = await testDatabase();
  const id = newId();
  const email = given || `student-${id}@example.com`;
  const { vault } = await testDeps();
  await source.query(
    `INSERT INTO students (id, club_id, name, email, email_key, password_hash, verified_at, created_at, opened_by) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [
      id,
      clubId,
      name,
      email,
      addressKeyOf(vault, email),
      await passwordHash,
      verified ? new Date() : null,
      createdAt,
      openedBy,
    ],
  );
  const { token } = await source.transaction((tx) => openSession(new Transaction(tx), 'student', id, new Date()));
  return { id, email, token };
}
