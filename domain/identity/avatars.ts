/**
 * Presents the pictures of people, and replaces the pictures of students. The row of the person stores the key, and callers get a signed URL
 * (MED-28, SES-3).
 */
import { Administrator } from '../../entities/identity/administrator.ts';
import { Student } from '../../entities/identity/student.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { ObjectStore } from '../../platform/infra/store/object-store.ts';
import type { Transaction } from '../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../platform/infra/postgres/sql.ts';
import { accountErased } from './accounts/credentials.ts';

/** @param key the key of the picture, or null if there is none @returns the field `avatar_url` of a record, or no field */
export async function avatarOf(storage: ObjectStore, key: string | null): Promise<{ avatar_url?: string }> {
  return key === null ? {} : { avatar_url: await storage.signGet(key) };
}

/** Sets the student's picture. The caller holds the lock of the student. @param key the key of the new picture; null removes the picture */
export async function setAvatar(tx: Transaction, studentId: Id, key: string | null): Promise<void> {
  await tx.manager.update(Student, { id: studentId }, { avatarKey: key });
}

/**
 * Sets the picture of an administrator, and locks the administrator.
 * @param key the key of the new picture; null removes the picture
 * @returns the key of the earlier picture; null if there was none
 * @throws DomainError unauthenticated, if the account was erased meanwhile
 */
export async function setOwnAvatar(tx: Transaction, administratorId: Id, key: string | null): Promise<string | null> {
  const before = await tx.one<Pick<Administrator, 'avatarKey'>>(
    sql`SELECT ${columns(Administrator, ['avatarKey'])} FROM administrators WHERE id = ${administratorId} AND removed_at IS NULL FOR NO KEY UPDATE`,
  );
  if (!before) throw accountErased();
  await tx.manager.update(Administrator, { id: administratorId }, { avatarKey: key });
  return before.avatarKey;
}
