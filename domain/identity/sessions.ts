/** Sessions: opaque tokens in two stores, one for each kind of caller. Deleting its row ends a session (AUTH-1 to AUTH-4, AUTH-6). */
import { randomBytes } from 'node:crypto';
import { AdministratorSession } from '../../entities/identity/administrator-session.ts';
import type { Role } from '../../entities/clubs/values.ts';
import type { Queries, Transaction } from '../../platform/infra/postgres/database.ts';
import { prepared } from '../../platform/infra/postgres/prepared.ts';
import { raw, sql } from '../../platform/infra/postgres/sql.ts';
import type { Id } from '../../platform/core/ids.ts';
import { sha256 } from '../../platform/infra/vault.ts';
import type { DatabaseDeps } from '../deps.ts';
import type { StudentIdentity } from './student-identity.ts';

export type CallerKind = 'student' | 'admin';

const hour = 3_600_000;
const day = 24 * hour;
/** How long a session lasts (DEC-10): a student's from its beginning, an administrator's from its last use. */
export const sessionLifetimeMs = { student: 30 * day, admin: 12 * hour } as const satisfies Record<CallerKind, number>;
/** An administrator's session ends so long after its beginning, however much it is used (DEC-10). */
export const administratorSessionMaxMs = 30 * day;
/** A session in use is prolonged at most this often, so that reading does not mean writing. */
const slideEveryMs = 5 * 60_000;

/** Both kinds: scanners for leaked secrets find the prefix, and it says nothing of the kind. The store decides it (AUTH-4). */
const tokenPrefix = 'cls_';

const stores = {
  student: { table: 'student_sessions', owner: 'student_id' },
  admin: { table: 'administrator_sessions', owner: 'administrator_id' },
} as const satisfies Record<CallerKind, { table: string; owner: string }>;

export interface OpenedSession {
  token: string;
  expiresAt: Date;
}

/** Opens a session. @returns the token, which is in no store: only its hash is kept */
export async function openSession(tx: Transaction, kind: CallerKind, ownerId: Id, now: Date): Promise<OpenedSession> {
  const token = `${tokenPrefix}${randomBytes(32).toString('base64url')}`;
  const expiresAt = new Date(now.getTime() + sessionLifetimeMs[kind]);
  const { table, owner } = stores[kind];
  await tx.run(
    sql`INSERT INTO ${raw(table)} (token_hash, ${raw(owner)}, created_at, expires_at) VALUES (${sha256(token)}, ${ownerId}, ${now}, ${expiresAt})`,
  );
  return { token, expiresAt };
}

export async function endSession({ db }: DatabaseDeps, kind: CallerKind, token: string): Promise<void> {
  await db.run(sql`DELETE FROM ${raw(stores[kind].table)} WHERE token_hash = ${sha256(token)}`);
}

/** Ends every session of a person, at once. */
export async function endSessionsOf(tx: Transaction, kind: CallerKind, ownerId: Id): Promise<void> {
  const { table, owner } = stores[kind];
  await tx.run(sql`DELETE FROM ${raw(table)} WHERE ${raw(owner)} = ${ownerId}`);
}

/** So long a session that has ended by itself stays, in milliseconds: the clocks of two processes differ. */
const endedForMs = day;
/** Sessions of a kind a batch. */
const removedABatch = 1_000;

/** Removes a batch of each kind that ended by itself a day ago. @returns how many, and whether there may be more to do at once */
export async function removeEndedSessions(
  db: Queries,
  now: Date,
): Promise<{ rows: { sessions: number }; more: boolean }> {
  const counts: number[] = [];
  for (const { table } of Object.values(stores)) {
    counts.push(
      await db.run(sql`DELETE FROM ${raw(table)} WHERE token_hash IN (
        SELECT token_hash FROM ${raw(table)} WHERE expires_at <= ${new Date(now.getTime() - endedForMs)}
         ORDER BY expires_at LIMIT ${removedABatch} FOR UPDATE SKIP LOCKED)`),
    );
  }
  return {
    rows: { sessions: counts.reduce((sum, count) => sum + count, 0) },
    more: counts.some((count) => count >= removedABatch),
  };
}

/** By the token's hash and the time: the student of a living session, with the club's slug. */
export const studentSessionSql = `
  SELECT student.id, student.name, student.email, student.verified_at AS "verifiedAt",
         student.password_hash IS NOT NULL AS "hasPassword", student.created_at AS "createdAt",
         student.avatar_key AS "avatarKey", student.club_id AS "clubId", club.slug AS "clubSlug"
    FROM student_sessions session
    JOIN students student ON student.id = session.student_id
    JOIN clubs club ON club.id = student.club_id
   WHERE session.token_hash = $1 AND session.expires_at > $2 AND student.removed_at IS NULL`;

const selectStudentSession = prepared<StudentIdentity>('select_student_session', studentSessionSql);

/** @returns the student of a living session, in one query, or undefined */
export async function findStudentSession(db: Queries, token: string, now: Date): Promise<StudentIdentity | undefined> {
  const [row] = await selectStudentSession(db, [sha256(token), now]);
  return row;
}

export interface AdministratorSessionFound {
  administratorId: Id;
  /** What the administrator is in the club asked about; null for no membership or no such club, which look alike. */
  role: Role | null;
}

/** With the membership of a club, where the session's owner has one. */
const selectAdministratorSession = prepared<AdministratorSessionFound & { createdAt: Date; expiresAt: Date }>(
  'select_administrator_session',
  `SELECT session.administrator_id AS "administratorId", session.created_at AS "createdAt",
          session.expires_at AS "expiresAt", membership.role
     FROM administrator_sessions session
     LEFT JOIN memberships membership
       ON membership.administrator_id = session.administrator_id AND membership.club_id = $3
    WHERE session.token_hash = $1 AND session.expires_at > $2`,
);

/**
 * @param clubId the club of the path, if it has one: its membership is read in the same query
 * @returns who a living session belongs to, or undefined; prolongs it
 */
export async function findAdministratorSession(
  db: Queries,
  token: string,
  clubId: Id | undefined,
  now: Date,
): Promise<AdministratorSessionFound | undefined> {
  const tokenHash = sha256(token);
  const [row] = await selectAdministratorSession(db, [tokenHash, now, clubId ?? null]);
  if (!row) return undefined;

  const latest = row.createdAt.getTime() + administratorSessionMaxMs;
  const expiresAt = new Date(Math.min(now.getTime() + sessionLifetimeMs.admin, latest));
  if (expiresAt.getTime() - row.expiresAt.getTime() > slideEveryMs) {
    await db.manager.update(AdministratorSession, { tokenHash }, { expiresAt });
  }
  return { administratorId: row.administratorId, role: row.role };
}

/** @returns of each session, in their order, whether it lives: it has not ended, and its student is not removed */
export async function findLivingSessions(db: Queries, tokenHashes: readonly Buffer[], now: Date): Promise<boolean[]> {
  const rows = await db.rows<{ lives: boolean }>(sql`
    SELECT EXISTS (SELECT FROM student_sessions session JOIN students student ON student.id = session.student_id
                    WHERE session.token_hash = given.hash AND session.expires_at > ${now} AND student.removed_at IS NULL)
        OR EXISTS (SELECT FROM administrator_sessions session
                    WHERE session.token_hash = given.hash AND session.expires_at > ${now}) AS lives
      FROM unnest(${tokenHashes}::bytea[]) WITH ORDINALITY AS given (hash, place) ORDER BY place`);
  return rows.map(({ lives }) => lives);
}
