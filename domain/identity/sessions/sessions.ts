/**
 * Opens and ends sessions. Callers prove them with opaque tokens. Students and administrators have separate tables. Deleting the row ends
 * the session (AUTH-1 to AUTH-4, AUTH-6).
 */
import { randomBytes } from 'node:crypto';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { raw, sql } from '../../../platform/infra/postgres/sql.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { sha256 } from '../../../platform/infra/keys/vault.ts';
import type { DatabaseDeps } from '../../deps.ts';

export type CallerKind = 'student' | 'admin';

const hour = 3_600_000;
const day = 24 * hour;
/**
 * The lifetime of a session (DEC-10): for a student, from the beginning of the session; for an administrator, from the last use of the
 * session.
 */
export const sessionLifetimeMs = { student: 30 * day, admin: 12 * hour } as const satisfies Record<CallerKind, number>;
/** The longest lifetime of an administrator's session, even if it is used constantly (DEC-10). */
export const administratorSessionMaxMs = 30 * day;

/**
 * The prefix of the tokens of students and of administrators. Secret scanners find leaked tokens by this prefix. The code does not trust
 * the prefix: the table that contains the token decides whether it belongs to a student or an administrator (AUTH-4).
 */
const tokenPrefix = 'cls_';

const stores = {
  student: { table: 'student_sessions', owner: 'student_id' },
  admin: { table: 'administrator_sessions', owner: 'administrator_id' },
} as const satisfies Record<CallerKind, { table: string; owner: string }>;

export interface OpenedSession {
  token: string;
  expiresAt: Date;
}

/** Opens a session. @returns the token. Only its hash is stored */
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

/** Ends every session of a person immediately. */
export async function endSessionsOf(tx: Transaction, kind: CallerKind, ownerId: Id): Promise<void> {
  const { table, owner } = stores[kind];
  await tx.run(sql`DELETE FROM ${raw(table)} WHERE ${raw(owner)} = ${ownerId}`);
}

/** In milliseconds. An expired session stays this long, because the clocks of processes differ. */
const retentionMs = day;
const sessionsPerBatch = 1_000;

/**
 * Removes a batch of sessions of each kind that expired a day ago.
 * @returns the number of sessions, and whether there may be more to do now
 */
export async function removeEndedSessions(
  db: Queries,
  now: Date,
): Promise<{ rows: { sessions: number }; more: boolean }> {
  const counts: number[] = [];
  for (const { table } of Object.values(stores)) {
    counts.push(
      await db.run(sql`DELETE FROM ${raw(table)} WHERE token_hash IN (
        SELECT token_hash FROM ${raw(table)} WHERE expires_at <= ${new Date(now.getTime() - retentionMs)}
         ORDER BY expires_at LIMIT ${sessionsPerBatch} FOR UPDATE SKIP LOCKED)`),
    );
  }
  return {
    rows: { sessions: counts.reduce((sum, count) => sum + count, 0) },
    more: counts.some((count) => count >= sessionsPerBatch),
  };
}
