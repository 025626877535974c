/** Creates and spends session links: a club's own site opens the classroom for a student who is signed in there (ENTRY-1 to ENTRY-5). */
import { randomBytes } from 'node:crypto';
import type { Scope } from '../../../contract/rules/scopes.ts';
import type { RecordOf } from '../../../contract/contract.ts';
import { SessionLink } from '../../../entities/identity/session-link.ts';
import { DomainError, notFound } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { sha256 } from '../../../platform/infra/keys/vault.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { AddressedDeps, StudentDeps } from '../../deps.ts';
import { isOpenClub } from '../../open-clubs.ts';
import { RefusalToPerson } from '../../language/refusal.ts';
import { openStudentSession } from '../accounts/student-accounts.ts';
import { pendingSignUp } from '../accounts/pending-sign-ups.ts';
import { isClassroomPath, sessionLinkRules } from './session-links.policy.ts';
import type { Client } from './sessions.ts';

const scope: Scope = 'sessions:write';

/** A key that asks for a link for one of its students. */
export interface LinkRequest {
  clubId: Id;
  studentId: Id;
  apiKeyId: Id;
  /** The page of the classroom on which the student lands. */
  path?: string | undefined;
}

/**
 * Creates a link. If the student has as many open links as allowed, the oldest of them become void.
 * @throws DomainError not_found, invalid_request (the path leaves the classroom), email_not_verified (a pending sign-up)
 */
export async function createSessionLink(
  { db, classroomUrl }: Pick<AddressedDeps, 'db' | 'classroomUrl'>,
  { clubId, studentId, apiKeyId, path }: LinkRequest,
  now: Date,
): Promise<RecordOf<'SessionLink'>> {
  if (path !== undefined && !isClassroomPath(path))
    throw new DomainError(
      'invalid_request',
      'path must be a path inside the classroom, percent-encoded, without dot segments and encoded slashes.',
    );
  const token = randomBytes(32).toString('base64url');
  const expiresAt = new Date(now.getTime() + sessionLinkRules.lifetimeMs);
  return db.transaction(async (tx) => {
    // The lock lets simultaneous requests for a student see each other's links.
    const student = await tx.one<{ isPending: boolean; slug: string | null }>(
      sql`SELECT ${pendingSignUp} AS "isPending", (SELECT slug FROM clubs WHERE clubs.id = club_id) AS slug FROM students
           WHERE id = ${studentId} AND club_id = ${clubId} AND removed_at IS NULL FOR NO KEY UPDATE`,
    );
    if (!student) throw notFound('student');
    if (student.isPending)
      throw new RefusalToPerson('email_not_verified', 'refusal.email_not_verified', {
        technical:
          'The sign-up is not confirmed. Create the student with this address first, or wait for the confirmation.',
      });
    await voidOldestLinks(tx, studentId);
    await tx.manager.insert(SessionLink, {
      tokenHash: sha256(token),
      studentId,
      apiKeyId,
      path: path ?? null,
      createdAt: now,
      expiresAt,
    });
    const url = `${classroomUrl.replace('{slug}', student.slug ?? '')}/enter#token=${token}`;
    return { url, expires_at: expiresAt.toISOString() };
  });
}

/** Keeps one link less than allowed. Also deletes links that have expired. */
async function voidOldestLinks(tx: Transaction, studentId: Id): Promise<void> {
  await tx.run(sql`DELETE FROM session_links WHERE token_hash IN (
    SELECT token_hash FROM session_links WHERE student_id = ${studentId}
     ORDER BY created_at DESC, token_hash OFFSET ${sessionLinkRules.openPerStudent - 1})`);
}

/** Every link that cannot be used gets this error, without a reason (ENTRY-2). */
const linkRefused = () => new RefusalToPerson('invalid_credentials', 'refusal.token_gone');

/**
 * Spends a link and opens a session of its student, in one transaction. The confirmation of the address does not change (ENTRY-4).
 * @param club_id the club of the classroom. A link of another club is refused, and stays valid there
 * @throws DomainError invalid_credentials if the link is used, expired, void or unknown, or if its student was removed
 */
export async function exchangeSessionLink(
  { db, storage }: StudentDeps,
  { club_id: clubId, token }: RecordOf<'SessionLinkExchange'>,
  client: Client,
  now: Date,
): Promise<RecordOf<'StudentSession'> & { path?: string }> {
  const tokenHash = sha256(token);
  return db.transaction(async (tx) => {
    // The student is locked before the link (ENG-6).
    const student = await tx.one<{ id: Id }>(sql`SELECT id FROM students
       WHERE id = (SELECT student_id FROM session_links WHERE token_hash = ${tokenHash})
         AND club_id = ${clubId} AND removed_at IS NULL AND ${isOpenClub(clubId)} FOR SHARE`);
    const link = student && (await spendLink(tx, tokenHash, now));
    if (!link) throw linkRefused();
    const session = await openStudentSession(tx, storage, student.id, { openedBy: 'link', ...client }, now);
    return { ...session, ...(link.path !== null && { path: link.path }) };
  });
}

/**
 * Deletes the link. Each change of the key makes the earlier links of the key void. So a request that is under way during a revocation gets
 * a void link.
 * @returns undefined if the link cannot be used
 */
async function spendLink(tx: Transaction, tokenHash: Buffer, now: Date): Promise<{ path: string | null } | undefined> {
  const rows = await tx.rows<{ path: string | null }>(sql`DELETE FROM session_links link USING api_keys key
      WHERE link.token_hash = ${tokenHash} AND link.expires_at > ${now} AND key.id = link.api_key_id
        AND key.revoked_at IS NULL AND key.expires_at > ${now} AND key.updated_at <= link.created_at
        AND ${scope} = ANY (key.scopes)
  RETURNING link.path`);
  return rows[0];
}

/** Makes the open links of a student void: after a removal, or a new e-mail address. */
export async function voidLinksOf(tx: Transaction, studentId: Id): Promise<void> {
  await tx.manager.delete(SessionLink, { studentId });
}

const linksPerBatch = 1_000;

/** Deletes a batch of links that expired an hour ago. @returns the number of links, and whether there may be more to do now */
export async function removeExpiredLinks(
  db: Queries,
  now: Date,
): Promise<{ rows: { sessionLinks: number }; more: boolean }> {
  const before = new Date(now.getTime() - sessionLinkRules.retentionMs);
  const removed = await db.run(sql`DELETE FROM session_links WHERE token_hash IN (
    SELECT token_hash FROM session_links WHERE expires_at <= ${before}
     ORDER BY expires_at LIMIT ${linksPerBatch} FOR UPDATE SKIP LOCKED)`);
  return { rows: { sessionLinks: removed }, more: removed >= linksPerBatch };
}
