/**
 * Opens and ends sessions. Callers prove them with opaque tokens. Students and administrators have separate tables. Deleting the row ends
 * the session (AUTH-1 to AUTH-4, AUTH-6).
 */
import { createHash, randomBytes } from 'node:crypto';
import { AdministratorSession } from '../../../entities/identity/administrator-session.ts';
import { SignInChallenge } from '../../../entities/identity/sign-in-challenge.ts';
import { StudentSession } from '../../../entities/identity/student-session.ts';
import type { SessionOpener } from '../../../entities/identity/values.ts';
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

export const stores = {
  student: { table: 'student_sessions', owner: 'student_id' },
  admin: { table: 'administrator_sessions', owner: 'administrator_id' },
} as const satisfies Record<CallerKind, { table: string; owner: string }>;

/** The device and the network from which a person signs in. Null if they are unknown. */
export interface Client {
  /** A short label, such as `Firefox (Windows)`. */
  readonly device: string | null;
  /** The /24 of an IPv4 address, the /48 of an IPv6 address. */
  readonly network: string | null;
  /**
   * Whether the account knows neither the device nor the network. Then the owner of the account gets a mail (SES-11). Absent if a link of a
   * mail opens the session.
   */
  readonly isNew?: boolean;
}

/** How and from where a session is opened. */
export interface SessionOrigin extends Client {
  readonly openedBy: SessionOpener;
  /** The identity provider of a session that is opened by `provider`. If it belongs to a club, the session acts only there (OIDC-7). */
  readonly provider?: { readonly id: Id; readonly clubId: Id | null };
  /** Whether the person has just shown a second factor. Only for administrators. */
  readonly withSecondFactor?: boolean;
}

/**
 * @returns the public id of a session, in lists of sessions. It is a hash of the stored hash, so it is no credential, and sessions from before
 * such lists have one too
 */
export function sessionIdOf(tokenHash: Buffer): Id {
  const bytes = createHash('sha256').update('session id').update(tokenHash).digest().subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6); // version 8: an id of our own making
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

export interface OpenedSession {
  token: string;
  expiresAt: Date;
}

/** @returns how the session of a student was opened; undefined if it has ended */
export async function openerOfStudentSession(db: Queries, token: string): Promise<SessionOpener | undefined> {
  const session = await db.one<{ openedBy: SessionOpener }>(
    sql`SELECT opened_by AS "openedBy" FROM student_sessions WHERE token_hash = ${sha256(token)}`,
  );
  return session?.openedBy;
}

export const unknownClient: Client = { device: null, network: null };
const unknownOrigin: SessionOrigin = { openedBy: 'password', ...unknownClient };

/**
 * Opens a session.
 * @param origin unknown if absent
 * @returns the token. Only its hash is stored
 */
export async function openSession(
  tx: Transaction,
  kind: CallerKind,
  ownerId: Id,
  now: Date,
  origin = unknownOrigin,
): Promise<OpenedSession> {
  const token = `${tokenPrefix}${randomBytes(32).toString('base64url')}`;
  const expiresAt = new Date(now.getTime() + sessionLifetimeMs[kind]);
  const { openedBy, device, network } = origin;
  const session = { tokenHash: sha256(token), createdAt: now, expiresAt, openedBy, device, network };
  if (kind === 'student') await tx.manager.insert(StudentSession, { ...session, studentId: ownerId });
  else
    await tx.manager.insert(AdministratorSession, {
      ...session,
      administratorId: ownerId,
      providerId: origin.provider?.id ?? null,
      clubId: origin.provider?.clubId ?? null,
      secondFactorAt: origin.withSecondFactor === true ? now : null,
    });
  await endOldest(tx, kind, ownerId, session.tokenHash);
  return { token, expiresAt };
}

/** The number of sessions that a person may have (SES-12). */
export const maxSessions = 100;

/** Ends the sessions beyond the limit. The sessions that were not used for the longest time end first. */
async function endOldest(tx: Transaction, kind: CallerKind, ownerId: Id, opened: Buffer): Promise<void> {
  const { table, owner } = stores[kind];
  await tx.run(sql`
    DELETE FROM ${raw(table)} WHERE token_hash IN (
      SELECT token_hash FROM ${raw(table)} WHERE ${raw(owner)} = ${ownerId} AND token_hash <> ${opened}
       ORDER BY coalesce(last_used_at, created_at) DESC OFFSET ${maxSessions - 1})`);
}

export async function endSession({ db }: DatabaseDeps, kind: CallerKind, token: string): Promise<void> {
  await db.run(sql`DELETE FROM ${raw(stores[kind].table)} WHERE token_hash = ${sha256(token)}`);
}

/** Ends every session of a person immediately, and every sign-in that waits for a second factor. */
export async function endSessionsOf(tx: Transaction, kind: CallerKind, ownerId: Id): Promise<void> {
  const { table, owner } = stores[kind];
  await tx.run(sql`DELETE FROM ${raw(table)} WHERE ${raw(owner)} = ${ownerId}`);
  if (kind === 'admin') await tx.manager.delete(SignInChallenge, { administratorId: ownerId });
}

/**
 * Ends the sessions of a person except one, and every sign-in that waits for a second factor (FAC-3). The waiting ones come first: a
 * sign-in that is finished at the same moment is committed before, so its session is ended, too.
 * @param token the token of the session that stays
 */
export async function endOtherSessions(tx: Transaction, kind: CallerKind, ownerId: Id, token: string): Promise<void> {
  const { table, owner } = stores[kind];
  if (kind === 'admin') await tx.manager.delete(SignInChallenge, { administratorId: ownerId });
  await tx.run(sql`DELETE FROM ${raw(table)} WHERE ${raw(owner)} = ${ownerId} AND token_hash <> ${sha256(token)}`);
}

/**
 * Ends every session that an identity provider opened, and every sign-in there that waits for a second factor. The waiting ones come first:
 * a sign-in that is finished at the same moment is committed before, so its session is ended, too.
 * @param administratorId only the sessions of this account; of all accounts if absent
 */
export async function endSessionsOfProvider(tx: Transaction, providerId: Id, administratorId?: Id): Promise<void> {
  const whose = administratorId === undefined ? sql`true` : sql`administrator_id = ${administratorId}`;
  await tx.run(sql`DELETE FROM sign_in_challenges WHERE provider_id = ${providerId} AND ${whose}`);
  await tx.run(sql`DELETE FROM administrator_sessions WHERE provider_id = ${providerId} AND ${whose}`);
}

/**
 * Ends the sessions of providers that the operator has removed from the settings. Their identities stay, because a mistake in the settings
 * must not delete them.
 * @param providerIds the providers of the settings
 */
export async function endSessionsOfOtherProviders(db: Queries, providerIds: readonly Id[]): Promise<void> {
  await db.run(sql`DELETE FROM sign_in_challenges
    WHERE provider_id IS NOT NULL AND club_id IS NULL AND provider_id <> ALL (${providerIds}::uuid[])`);
  await db.run(sql`DELETE FROM administrator_sessions
    WHERE provider_id IS NOT NULL AND club_id IS NULL AND provider_id <> ALL (${providerIds}::uuid[])`);
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
