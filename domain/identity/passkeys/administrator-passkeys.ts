/** Adds passkeys of an administrator. Each is a second factor, and is listed, renamed and removed as one (PKY-1, PKY-7, FAC-4). */
import { accountErased } from '../accounts/credentials.ts';
import type { RecordOf } from '../../../contract/contract.ts';
import { SecondFactor } from '../../../entities/identity/second-factor.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { plainName } from '../../../platform/core/text/names.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { completeEnrollment, lockAccount, requireRoomForFactor, type FactorOwner } from '../factors/factors.ts';
import { credentialsOf } from './passkey-factor.ts';
import { checkRegistration, creationOptions, storePasskey, type PasskeyDeps } from './registration.ts';
import { originOf } from './sites.policy.ts';

/** @returns the options of `navigator.credentials.create()` */
export async function offerAdministratorPasskey(
  { db, vault, passkeySites }: PasskeyDeps,
  administratorId: Id,
  now: Date,
): Promise<RecordOf<'PasskeyCreationOptions'>> {
  const account = await db.one<{ email: string; name: string }>(
    sql`SELECT email, name FROM administrators WHERE id = ${administratorId} AND removed_at IS NULL`,
  );
  if (!account) throw accountErased();
  const { rpId } = passkeySites.dashboard;
  const existing = await credentialsOf(db, administratorId);
  return creationOptions(vault, { id: rpId, name: rpId }, { id: administratorId, ...account }, existing, now);
}

/**
 * Adds a passkey as a second factor, and informs the person by mail.
 * @returns the factor, and the recovery codes if it is the first factor of the account
 * @throws DomainError invalid_request (the name, or a passkey that is not accepted), factor_limit_reached
 */
export async function addAdministratorPasskey(
  deps: PasskeyDeps,
  owner: FactorOwner,
  { name: text, passkey }: RecordOf<'PasskeyCreation'>,
  now: Date,
): Promise<RecordOf<'EnrolledSecondFactor'>> {
  const name = plainName(text);
  const { dashboard } = deps.passkeySites;
  const page = { ownerId: owner.id, rpId: dashboard.rpId, origin: originOf(dashboard) };
  const checked = await checkRegistration(deps.vault, passkey, page, now);
  return deps.db.transaction(async (tx) => {
    await lockAccount(tx, owner.id);
    await requireRoomForFactor(tx, owner.id);
    const factorId = newId();
    const factor = { administratorId: owner.id, kind: 'passkey', name, createdAt: now, confirmedAt: now } as const;
    await tx.manager.insert(SecondFactor, { id: factorId, ...factor });
    await storePasskey(tx, { factorId }, checked, now);
    return completeEnrollment(tx, deps, owner, factorId, now);
  });
}
