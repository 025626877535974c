/** Reads the accounts whose password is set or changed, with the public data that must not be the main part of the password (ACC-7). */
import type { Id } from '../../../platform/core/ids.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { listOrganizations } from '../memberships.ts';
import type { PasswordOwner } from './password-rules.ts';

export interface PasswordAccount extends PasswordOwner {
  /** Null if the account has no password. */
  passwordHash: string | null;
  /** Whether the address was confirmed. */
  isVerified: boolean;
  /** The student's club; null for an administrator. */
  clubId: Id | null;
}

/** @returns undefined for a removed student */
export async function findStudentAccount(db: Queries, studentId: Id): Promise<PasswordAccount | undefined> {
  const row = await db.one<{
    email: string;
    name: string;
    club: string;
    clubId: Id;
    passwordHash: string | null;
    isVerified: boolean;
  }>(sql`SELECT student.email, student.name, club.name AS club, student.verified_at IS NOT NULL AS "isVerified", student.club_id AS "clubId", student.password_hash AS "passwordHash"
       FROM students student JOIN clubs club ON club.id = student.club_id
      WHERE student.id = ${studentId} AND student.removed_at IS NULL`);
  if (!row) return undefined;
  const { name, club, ...account } = row;
  return { ...account, names: [name, club] };
}

/** @returns undefined if there is no such administrator */
export async function findAdministratorAccount(db: Queries, administratorId: Id): Promise<PasswordAccount | undefined> {
  const row = await db.one<{ email: string; name: string; isVerified: boolean; passwordHash: string | null }>(
    sql`SELECT email, name, verified_at IS NOT NULL AS "isVerified", password_hash AS "passwordHash" FROM administrators WHERE id = ${administratorId} AND removed_at IS NULL`,
  );
  if (!row) return undefined;
  const { name, ...account } = row;
  const organizations = await listOrganizations(db, administratorId);
  return { ...account, clubId: null, names: [name, ...organizations.map((organization) => organization.name)] };
}
