/** The passkeys of a student: lists, adds, renames and removes them (PKY-1, PKY-5, PKY-6). */
import type { RecordOf } from '../../../contract/contract.ts';
import { Passkey } from '../../../entities/identity/passkey.ts';
import { DomainError, notFound } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { hasVisible, tidyName } from '../../../platform/core/text/text.policy.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../../platform/infra/postgres/sql.ts';
import type { DatabaseDeps, VaultDeps } from '../../deps.ts';
import { RefusalToPerson } from '../../language/refusal.ts';
import { requestMail } from '../../mail/transactional/requests.ts';
import { emailNotVerified } from '../accounts/credentials.ts';
import { descriptorOf } from './assertions.ts';
import { passkeyRules } from './passkeys.policy.ts';
import {
  checkRegistration,
  creationOptions,
  storePasskey,
  type PasskeyDeps,
  type VisiblePasskey,
} from './registration.ts';
import { originOf } from './sites.policy.ts';

const visibleColumns = columns(Passkey, ['id', 'name', 'isSynced', 'createdAt', 'lastUsedAt']);

/** @returns the passkeys of a student, the oldest first */
export async function getStudentPasskeys(db: Queries, studentId: Id): Promise<RecordOf<'PasskeyList'>> {
  const rows = await db.rows<VisiblePasskey>(
    sql`SELECT ${visibleColumns} FROM passkeys WHERE student_id = ${studentId} ORDER BY created_at, id`,
  );
  return { passkeys: rows.map(presentPasskey) };
}

/** @returns the options of `navigator.credentials.create()` @throws DomainError email_not_verified */
export async function offerStudentPasskey(
  { db, vault, passkeySites }: PasskeyDeps,
  studentId: Id,
  now: Date,
): Promise<RecordOf<'PasskeyCreationOptions'>> {
  const account = await requireConfirmedAccount(db, studentId);
  const existing = await db.rows<Pick<Passkey, 'credentialId' | 'transports'>>(
    sql`SELECT ${columns(Passkey, ['credentialId', 'transports'])} FROM passkeys WHERE student_id = ${studentId} ORDER BY created_at, id`,
  );
  const rp = { id: passkeySites.classroom.rpId, name: account.club };
  return creationOptions(vault, rp, { id: studentId, ...account }, existing.map(descriptorOf), now);
}

/**
 * Adds a passkey, and informs the student by mail.
 * @throws DomainError email_not_verified, invalid_request (the answer is wrong, or the passkey exists), passkey_limit_reached
 */
export async function addStudentPasskey(
  { db, vault, passkeySites: { classroom } }: PasskeyDeps,
  studentId: Id,
  { name: text, passkey }: RecordOf<'PasskeyCreation'>,
  now: Date,
): Promise<RecordOf<'Passkey'>> {
  const name = visibleName(text);
  const { clubId, clubSlug, email } = await requireConfirmedAccount(db, studentId);
  const page = { ownerId: studentId, rpId: classroom.rpId, origin: originOf(classroom, clubSlug) };
  const checked = await checkRegistration(vault, passkey, page, now);
  return db.transaction(async (tx) => {
    await lockAccount(tx, studentId);
    const { passkeys } = await getStudentPasskeys(tx, studentId);
    if (passkeys.length >= passkeyRules.perStudent)
      throw new RefusalToPerson('passkey_limit_reached', 'refusal.passkey_limit_reached');
    const row = await storePasskey(tx, { studentId, clubId, name }, checked, now);
    await requestMail(tx, vault, { template: 'student_passkey_added', clubId, recipient: { studentId }, email }, now);
    return presentPasskey(row);
  });
}

/** @throws DomainError not_found, invalid_request (the name) */
export async function renameStudentPasskey(
  { db }: DatabaseDeps,
  studentId: Id,
  passkeyId: Id,
  text: string,
): Promise<RecordOf<'Passkey'>> {
  const name = visibleName(text);
  const row = await db.one<VisiblePasskey>(sql`UPDATE passkeys SET name = ${name}
    WHERE id = ${passkeyId} AND student_id = ${studentId} RETURNING ${visibleColumns}`);
  if (!row) throw notFound('passkey');
  return presentPasskey(row);
}

/** Removes a passkey, and informs the student by mail. Open sessions stay. @throws DomainError not_found */
export async function removeStudentPasskey(
  { db, vault }: VaultDeps,
  studentId: Id,
  passkeyId: Id,
  now: Date,
): Promise<void> {
  await db.transaction(async (tx) => {
    await lockAccount(tx, studentId);
    const removed = await tx.run(sql`DELETE FROM passkeys WHERE id = ${passkeyId} AND student_id = ${studentId}`);
    if (removed === 0) throw notFound('passkey');
    const { clubId, email } = await requireAccount(tx, studentId);
    const mail = { template: 'student_passkey_removed', clubId, recipient: { studentId }, email } as const;
    await requestMail(tx, vault, mail, now);
  });
}

/** Removes all passkeys of a student: after a removal, or a new e-mail address (PKY-6). The caller has locked the student. */
export async function forgetPasskeys(tx: Transaction, studentId: Id): Promise<void> {
  await tx.run(sql`DELETE FROM passkeys WHERE student_id = ${studentId}`);
}

interface Account {
  name: string;
  email: string;
  clubId: Id;
  clubSlug: string;
  club: string;
  isVerified: boolean;
}

/** @throws DomainError unauthenticated if the student was removed meanwhile */
async function requireAccount(db: Queries, studentId: Id): Promise<Account> {
  const account =
    await db.one<Account>(sql`SELECT student.name, student.email, student.club_id AS "clubId", club.slug AS "clubSlug", club.name AS club, student.verified_at IS NOT NULL AS "isVerified"
           FROM students student JOIN clubs club ON club.id = student.club_id
          WHERE student.id = ${studentId} AND student.removed_at IS NULL`);
  if (!account) throw accountGone();
  return account;
}

/**
 * A session link proves no address. A passkey of an unconfirmed account would stay when the owner of the address confirms it (ENTRY-4).
 * @throws DomainError unauthenticated, email_not_verified
 */
async function requireConfirmedAccount(db: Queries, studentId: Id): Promise<Account> {
  const account = await requireAccount(db, studentId);
  if (!account.isVerified) throw emailNotVerified();
  return account;
}

/** Changes of one student's passkeys run one after another, so the limit holds. @throws DomainError unauthenticated */
async function lockAccount(tx: Transaction, studentId: Id): Promise<void> {
  const row = await tx.one(
    sql`SELECT 1 FROM students WHERE id = ${studentId} AND removed_at IS NULL FOR NO KEY UPDATE`,
  );
  if (!row) throw accountGone();
}

function presentPasskey({ id, name, isSynced, createdAt, lastUsedAt }: VisiblePasskey): RecordOf<'Passkey'> {
  return {
    id,
    name: name ?? '',
    synced: isSynced,
    created_at: createdAt.toISOString(),
    ...(lastUsedAt && { last_used_at: lastUsedAt.toISOString() }),
  };
}

function visibleName(text: string): string {
  const name = tidyName(text);
  if (!hasVisible(name)) throw new DomainError('invalid_request', 'name must have a letter.');
  return name;
}

const accountGone = () => new DomainError('unauthenticated', 'The account was removed meanwhile.');
