/** Erases the account of an administrator. Only an id without a name stays, because reviews, posts and moderations refer to it (ERS-44). */
import type { RecordOf } from '../../contract/contract.ts';
import { Administrator, removedAdministratorName } from '../../entities/identity/administrator.ts';
import type { Role } from '../../entities/clubs/values.ts';
import { DomainError } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import { foldEmail } from '../../platform/core/text/text.policy.ts';
import { addressKeyOf } from '../../platform/infra/keys/address-keys.ts';
import { StaleRead, type Queries, type Transaction } from '../../platform/infra/postgres/database.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { recordEntry, type Audited } from '../audit/entries.ts';
import { clubsWithoutOtherOwner, LastOwner } from '../clubs/membership-rules.ts';
import { contextsInLockOrder } from '../contexts.ts';
import type { VaultDeps } from '../deps.ts';
import { certificateAddress } from '../erasures/certificate-address.ts';
import { recordErasure } from '../erasures/erasures.ts';
import { accountErased } from '../identity/accounts/credentials.ts';
import { withdrawTokensOf } from '../mail/codes/one-time-tokens.ts';
import { endMembership } from './leaving.ts';

/** The request, for the audit logs of the clubs. */
type AuditedRequest = Pick<Audited, 'actor' | 'operation' | 'requestId' | 'network'>;

interface OwnErasure extends Pick<AuditedRequest, 'requestId' | 'network'> {
  administratorId: Id;
  /** The own address, as the person typed it. */
  typedEmail: string;
}

/**
 * Erases the own account, in one transaction. Afterwards the address can sign up again, as a new account. The picture's object follows with
 * the next round of maintenance.
 * @returns the address of the certificate of the erasure
 * @throws DomainError unauthenticated, if the account was erased meanwhile; invalid_request, if another address was typed; last_owner with
 * all clubs that would be left without an owner
 */
export async function eraseOwnAccount(
  deps: VaultDeps & { publicUrl: string },
  { administratorId, typedEmail, requestId, network }: OwnErasure,
  now: Date,
): Promise<RecordOf<'AccountErasure'>> {
  const erasureId = await deps.db.transaction(async (tx) => {
    const email = await addressOf(tx, administratorId);
    if (foldEmail(typedEmail) !== email)
      throw new DomainError('invalid_request', 'email must be the address of this account.');
    const actor = { kind: 'administrator', id: administratorId } as const;
    const request = { actor, operation: 'eraseOwnAccount', requestId, network };
    return eraseIn(tx, deps, { administratorId, email, request, requestedBy: administratorId }, now);
  });
  return {
    requested_at: now.toISOString(),
    certificate_url: certificateAddress(deps.vault, deps.publicUrl, erasureId),
  };
}

/**
 * Erases an account that a restore of Postgres brought back (ERS-25).
 * @throws DomainError unauthenticated, if the account is erased; last_owner
 */
export async function eraseAccountAgain(
  deps: VaultDeps,
  { administratorId, request }: { administratorId: Id; request: AuditedRequest },
  now: Date,
): Promise<void> {
  await deps.db.transaction(async (tx) => {
    const email = await addressOf(tx, administratorId);
    await eraseIn(tx, deps, { administratorId, email, request, requestedBy: null }, now);
  });
}

interface ErasedAccount {
  administratorId: Id;
  email: string;
  request: AuditedRequest;
  requestedBy: Id | null;
}

/** @returns the id of the erasure */
async function eraseIn(tx: Transaction, deps: VaultDeps, account: ErasedAccount, now: Date): Promise<Id> {
  const { administratorId, email, requestedBy } = account;
  const memberships = await lockMemberships(tx, administratorId);
  await endAll(tx, { ...account, memberships }, now);
  await lockAccount(tx, administratorId);
  await eraseRows(tx, deps, { administratorId, email, clubIds: memberships.map(({ clubId }) => clubId) }, now);
  return recordErasure(tx, { kind: 'administrator', subjectId: administratorId, clubId: null, requestedBy }, now);
}

/** @throws DomainError unauthenticated */
async function addressOf(db: Queries, administratorId: Id): Promise<string> {
  const account = await db.one<{ email: string }>(
    sql`SELECT email FROM administrators WHERE id = ${administratorId} AND removed_at IS NULL`,
  );
  if (!account) throw accountErased();
  return account.email;
}

interface OwnMembership {
  clubId: Id;
  role: Role;
}

/**
 * Locks the clubs in the order of their ids, so that two owners of the same clubs do not wait for each other.
 * @returns the memberships under the locks
 * @throws StaleRead if the person became a member of another club meanwhile. DomainError last_owner
 */
async function lockMemberships(tx: Transaction, administratorId: Id): Promise<OwnMembership[]> {
  const locked = await tx.rows<{ id: Id }>(sql`
    SELECT id FROM clubs WHERE id IN (SELECT club_id FROM memberships WHERE administrator_id = ${administratorId})
     ORDER BY id FOR NO KEY UPDATE`);
  const lockedIds = new Set(locked.map(({ id }) => id));
  const memberships = await tx.rows<OwnMembership>(sql`
    SELECT club_id AS "clubId", role FROM memberships WHERE administrator_id = ${administratorId} ORDER BY club_id`);
  if (memberships.some(({ clubId }) => !lockedIds.has(clubId))) throw new StaleRead();
  const owned = memberships.filter(({ role }) => role === 'owner').map(({ clubId }) => clubId);
  const ownerless = await clubsWithoutOtherOwner(tx, owned, administratorId);
  if (ownerless.length > 0) throw new LastOwner(ownerless);
  return memberships;
}

/**
 * Ends the memberships, the open invitations to the address, and the mailed tokens. This comes before the lock of the account, because
 * bookings, acceptances of invitations and uses of tokens lock these rows before the account.
 */
async function endAll(
  tx: Transaction,
  { administratorId, email, request, memberships }: ErasedAccount & { memberships: readonly OwnMembership[] },
  now: Date,
): Promise<void> {
  const records = [{ kind: 'administrator', id: administratorId }];
  for (const { clubId, role } of memberships) {
    await endMembership(tx, { clubId, administratorId, role, isRemoved: false }, now);
    await recordEntry(tx, { ...request, clubId, records, fields: ['email'] }, now);
  }
  await endInvitationsTo(tx, email);
  await withdrawTokensOf(tx, { administratorId });
}

/** An acceptance uses the token before the invitation, so this function deletes the tokens first. */
async function endInvitationsTo(tx: Transaction, email: string): Promise<void> {
  const invitations = await tx.rows<{ id: Id }>(sql`SELECT id FROM invitations WHERE email = ${email} ORDER BY id`);
  for (const { id } of invitations) await withdrawTokensOf(tx, { invitationId: id });
  await tx.run(sql`DELETE FROM invitations WHERE email = ${email}`);
}

/** @throws StaleRead if the person accepted an invitation or opened a club meanwhile. DomainError unauthenticated */
async function lockAccount(tx: Transaction, administratorId: Id): Promise<void> {
  const account = await tx.one(
    sql`SELECT 1 FROM administrators WHERE id = ${administratorId} AND removed_at IS NULL FOR UPDATE`,
  );
  if (!account) throw accountErased();
  const missed = await tx.one(sql`SELECT 1 FROM memberships WHERE administrator_id = ${administratorId} LIMIT 1`);
  if (missed) throw new StaleRead();
}

async function eraseRows(
  tx: Transaction,
  { vault }: VaultDeps,
  account: { administratorId: Id; email: string; clubIds: readonly Id[] },
  now: Date,
): Promise<void> {
  const { administratorId, email } = account;
  const erased = { ...account, addressKey: addressKeyOf(vault, email) };
  for (const { eraseAdministrator } of contextsInLockOrder) await eraseAdministrator?.(tx, erased, now);
  await tx.manager.update(
    Administrator,
    { id: administratorId },
    {
      name: removedAdministratorName,
      email: null,
      passwordHash: null,
      verifiedAt: null,
      language: null,
      phone: null,
      phoneVerifiedAt: null,
      hasSecondFactor: false,
      avatarKey: null,
      removedAt: now,
    },
  );
}
