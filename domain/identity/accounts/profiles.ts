/** Reads and changes the profiles of administrators (ACC-2, SES-1, SES-4). */
import { Administrator } from '../../../entities/identity/administrator.ts';
import type { RecordOf } from '../../../contract/contract.ts';
import { plainName } from '../../../platform/core/text/names.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { ObjectStore } from '../../../platform/infra/store/object-store.ts';
import type { StudentDeps } from '../../deps.ts';
import { requireOffered } from '../../language/chosen.ts';
import { avatarOf } from '../avatars.ts';
import { listOrganizations } from '../memberships.ts';
import { withdrawPhoneCodes } from '../phones/codes.ts';
import { phoneNumber } from '../phones/numbers.ts';
import { accountErased } from './credentials.ts';

type Profile = RecordOf<'AdministratorProfile'>;

/**
 * @param onlyClubId the club in which the session acts, if it acts only in one. Then the profile shows neither the other clubs nor the
 * telephone number, because the club's provider may have opened the session without the person (OIDC-7)
 * @returns the administrator and the administrator's clubs (ACC-2)
 * @throws Error if there is no such administrator
 */
export async function getProfile(
  db: Queries,
  storage: ObjectStore,
  administratorId: Id,
  onlyClubId: Id | null = null,
): Promise<Profile> {
  const row = await db.one<{
    id: Id;
    name: string;
    email: string;
    verified: boolean;
    phone_verified: boolean;
    has_password: boolean;
    phone: string | null;
    language: string | null;
    avatarKey: string | null;
  }>(sql`SELECT id, name, email, verified_at IS NOT NULL AS verified, phone_verified_at IS NOT NULL AS phone_verified,
            password_hash IS NOT NULL AS has_password, phone, language, avatar_key AS "avatarKey"
       FROM administrators WHERE id = ${administratorId} AND removed_at IS NULL`);
  if (!row) throw new Error(`There is no administrator ${administratorId}`);
  const { phone, language, avatarKey, ...profile } = row;
  const organizations = await listOrganizations(db, administratorId);
  return {
    ...profile,
    ...(phone !== null && onlyClubId === null && { phone }),
    ...(language !== null && { language }),
    ...(await avatarOf(storage, avatarKey)),
    organizations: organizations.filter(({ organization_id: id }) => onlyClubId === null || id === onlyClubId),
  };
}

/**
 * Changes the given fields. Another number is not verified, and the codes for the former number become invalid. The same number stays
 * verified.
 * @throws DomainError invalid_request (a web address in the name, a language that is not offered, a number that no country assigns);
 * unauthenticated, if the account was erased meanwhile
 */
export async function updateProfile(
  { db, storage }: StudentDeps,
  administratorId: Id,
  { name, language, phone }: RecordOf<'ProfileChange'>,
  now: Date,
): Promise<Profile> {
  const changes = {
    ...(name !== undefined && { name: plainName(name) }),
    ...(language !== undefined && { language: requireOffered(language) }),
  };
  const number = phone === undefined ? undefined : phoneNumber(phone);
  return db.transaction(async (tx) => {
    await lockLivingAdministrator(tx, administratorId);
    if (Object.keys(changes).length > 0) await tx.manager.update(Administrator, { id: administratorId }, changes);
    if (number !== undefined) await setNumber(tx, administratorId, number, now);
    return getProfile(tx, storage, administratorId);
  });
}

/** Removes the telephone number and its verification. */
export async function removePhone({ db }: Pick<StudentDeps, 'db'>, administratorId: Id, now: Date): Promise<void> {
  await db.transaction((tx) => setNumber(tx, administratorId, null, now));
}

/**
 * Locks the account of a request, which may have been erased since its session was checked.
 * @throws DomainError unauthenticated
 */
export async function lockLivingAdministrator(tx: Transaction, administratorId: Id): Promise<void> {
  const living = await tx.one(
    sql`SELECT 1 FROM administrators WHERE id = ${administratorId} AND removed_at IS NULL FOR NO KEY UPDATE`,
  );
  if (!living) throw accountErased();
}

async function setNumber(tx: Transaction, administratorId: Id, number: string | null, now: Date): Promise<void> {
  const changedRows = await tx.run(sql`
    UPDATE administrators SET phone = ${number}, phone_verified_at = NULL
     WHERE id = ${administratorId} AND phone IS DISTINCT FROM ${number}`);
  if (changedRows > 0) await withdrawPhoneCodes(tx, administratorId, now);
}
