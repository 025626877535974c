/** Lets owners request and cancel the erasure of their club (ERS-1 to ERS-4). */
import type { RecordOf } from '../../contract/contract.ts';
import { DomainError } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { Transaction } from '../../platform/infra/postgres/database.ts';
import { hasPaidPlan } from '../billing/paid-plan.ts';
import type { VaultDeps } from '../deps.ts';
import { isSameName } from '../erasures/erasures.policy.ts';
import { mailAboutErasure } from '../erasures/mails.ts';
import { cancelPlannedErasure, findClubErasure, planClubErasure, type CertifiedDeps } from '../erasures/planned.ts';
import { lockClub } from './membership-rules.ts';
import { findClub } from './settings.ts';

type ClubErasure = RecordOf<'ClubErasure'>;

/** @throws DomainError not_found if no erasure is planned */
export async function getClubErasure(deps: CertifiedDeps, clubId: Id): Promise<ClubErasure> {
  const erasure = await findClubErasure(deps, clubId);
  if (!erasure) throw noErasure();
  return erasure;
}

/**
 * Plans the erasure of the club, and informs its owners and admins by mail. If an erasure is planned already, it stays unchanged.
 * @param by the acting administrator
 * @param input.name the name of the club
 * @throws DomainError invalid_request if the name is wrong; plan_active; role_not_permitted if the role was lost meanwhile
 */
export async function requestClubErasure(
  { db, vault, publicUrl }: VaultDeps & { publicUrl: string },
  clubId: Id,
  by: Id,
  input: RecordOf<'ClubErasureRequest'>,
  now: Date,
): Promise<ClubErasure> {
  return db.transaction(async (tx) => {
    await requireOwner(tx, clubId, by);
    const { name } = await findClub(tx, clubId);
    if (!isSameName(input.name, name)) throw new DomainError('invalid_request', 'name must be the name of the club.');
    const planned = await findClubErasure({ db: tx, vault, publicUrl }, clubId);
    if (planned) return planned;
    if (await hasPaidPlan(tx, clubId))
      throw new DomainError('plan_active', 'The plan of the club is still paid. Cancel the subscription first.');
    await planClubErasure(tx, { clubId, requestedBy: by }, now);
    await mailAboutErasure(tx, vault, { clubId, template: 'club_erasure_requested' }, now);
    return getClubErasure({ db: tx, vault, publicUrl }, clubId);
  });
}

/**
 * Cancels the planned erasure, and informs the owners and admins by mail.
 * @throws DomainError not_found if no erasure is planned or if it has begun; role_not_permitted if the role was lost meanwhile
 */
export async function cancelClubErasure({ db, vault }: VaultDeps, clubId: Id, by: Id, now: Date): Promise<void> {
  await db.transaction(async (tx) => {
    await requireOwner(tx, clubId, by);
    if (!(await cancelPlannedErasure(tx, clubId))) throw noErasure();
    await mailAboutErasure(tx, vault, { clubId, template: 'club_erasure_canceled' }, now);
  });
}

const noErasure = () => new DomainError('not_found', 'No erasure of this club is planned.');

async function requireOwner(tx: Transaction, clubId: Id, by: Id): Promise<void> {
  const role = await lockClub(tx, clubId, by);
  if (role !== 'owner') throw new DomainError('role_not_permitted', 'Only an owner may erase the club.');
}
