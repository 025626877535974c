/** Creates, changes, rotates, revokes and lists the API keys of a club (KEY-1 to KEY-6). */
import type { RecordOf } from '../../../contract/contract.ts';
import { Club } from '../../../entities/clubs/club.ts';
import { ApiKey } from '../../../entities/identity/api-key.ts';
import { DomainError, notFound } from '../../../platform/core/errors.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { hasVisible, tidyName } from '../../../platform/core/text/text.policy.ts';
import { sha256, type Vault } from '../../../platform/infra/keys/vault.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { newestFirst } from '../../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page, type PageRequest } from '../../../platform/infra/postgres/lists/page.ts';
import { columns, sql, type RowOf } from '../../../platform/infra/postgres/sql.ts';
import type { DatabaseDeps, VaultDeps } from '../../deps.ts';
import { requestMail } from '../../mail/transactional/requests.ts';
import { newKey, startOfKey } from './key-format.ts';
import { apiKeyRules, hoursInMs, statusOfKey } from './keys.policy.ts';
import { networkIn } from './networks.policy.ts';

type Creation = RecordOf<'ApiKeyCreation'>;
type Change = RecordOf<'ApiKeyChange'>;

const keyColumns = columns(
  ApiKey,
  [
    'id',
    'name',
    'scopes',
    'allowedNetworks',
    'createdBy',
    'createdAt',
    'updatedAt',
    'expiresAt',
    'lastUsedAt',
    'previousSecretExpiresAt',
    'revokedAt',
  ],
  'key',
);
type KeyRow = RowOf<typeof keyColumns>;

/** @returns a page of the club's keys, newest first */
export async function listKeys(
  db: Queries,
  clubId: Id,
  page: PageRequest,
  now: Date,
): Promise<Page<RecordOf<'ApiKey'>>> {
  const { rows, total, next } = await listPage(db, page, {
    columns: keyColumns,
    from: sql`FROM api_keys key WHERE key.club_id = ${clubId}`,
    orderBy: newestFirst('key'),
  });
  return { rows: rows.map((row) => present(row, now)), total, next };
}

/** @throws DomainError not_found */
export async function findKey(db: Queries, clubId: Id, keyId: Id, now: Date): Promise<RecordOf<'ApiKey'>> {
  const row = await db.one<KeyRow>(
    sql`SELECT ${keyColumns} FROM api_keys key WHERE key.id = ${keyId} AND key.club_id = ${clubId}`,
  );
  if (!row) throw noKey();
  return present(row, now);
}

/**
 * Reads the key that calls.
 * @throws DomainError not_found if a person calls
 */
export async function findCurrentKey(
  db: Queries,
  clubId: Id,
  actor: { readonly kind: string; readonly id: Id },
  now: Date,
): Promise<RecordOf<'ApiKey'>> {
  if (actor.kind !== 'key') throw new DomainError('not_found', 'This request has no API key.');
  return findKey(db, clubId, actor.id, now);
}

/**
 * Creates a key, and informs the owners of the club by mail.
 * @param createdBy the administrator who creates the key
 * @returns the key and its secret, which is shown only here and at a rotation
 * @throws DomainError invalid_request (the name, a network or the expiry), key_limit_reached
 */
export async function createKey(
  { db, vault }: VaultDeps,
  { clubId, createdBy }: { clubId: Id; createdBy: Id },
  input: Creation,
  now: Date,
): Promise<RecordOf<'ApiKeyWithSecret'>> {
  const { expires_at: expiresAt = new Date(now.getTime() + apiKeyRules.lifetimeMs).toISOString() } = input;
  const checked = checkedFields({ ...input, expires_at: expiresAt }, now);
  const id = newId();
  const secret = newKey(id);
  return db.transaction(async (tx) => {
    await requireRoom(tx, clubId, now);
    await tx.manager.insert(ApiKey, {
      id,
      clubId,
      name: tidyName(input.name),
      scopes: input.scopes.toSorted(),
      allowedNetworks: [],
      ...checked,
      expiresAt: new Date(expiresAt),
      secretHash: sha256(secret),
      createdBy,
      createdAt: now,
      updatedAt: now,
    });
    await mailOwners(tx, vault, clubId, now);
    return { api_key: await findKey(tx, clubId, id, now), secret };
  });
}

/** Changes the fields that are present. @throws DomainError invalid_request, not_found, key_not_active */
export async function updateKey(
  { db }: DatabaseDeps,
  clubId: Id,
  keyId: Id,
  input: Change,
  now: Date,
): Promise<RecordOf<'ApiKey'>> {
  const checked = checkedFields(input, now);
  return db.transaction(async (tx) => {
    await requireActive(tx, clubId, keyId, now);
    await tx.manager.update(ApiKey, { id: keyId, clubId }, { ...checked, updatedAt: now });
    return findKey(tx, clubId, keyId, now);
  });
}

/**
 * Gives the key a new secret.
 * @param overlapHours how long the old secret is still accepted; 0 ends all earlier secrets immediately
 * @throws DomainError not_found, key_not_active, rotation_in_progress
 */
export async function rotateKey(
  { db }: DatabaseDeps,
  clubId: Id,
  keyId: Id,
  { overlap_hours: overlapHours = apiKeyRules.defaultOverlapHours }: RecordOf<'ApiKeyRotation'>,
  now: Date,
): Promise<RecordOf<'ApiKeyWithSecret'>> {
  const secret = newKey(keyId);
  return db.transaction(async (tx) => {
    const { secretHash, previousSecretExpiresAt } = await requireActive(tx, clubId, keyId, now);
    const isRotating = previousSecretExpiresAt !== null && previousSecretExpiresAt.getTime() > now.getTime();
    if (isRotating && overlapHours > 0) {
      throw new DomainError(
        'rotation_in_progress',
        'The secret from before the last rotation is still accepted; set overlap_hours to 0 to end it.',
      );
    }
    const previous =
      overlapHours === 0
        ? { previousSecretHash: null, previousSecretExpiresAt: null }
        : {
            previousSecretHash: secretHash,
            previousSecretExpiresAt: new Date(now.getTime() + hoursInMs(overlapHours)),
          };
    await tx.manager.update(ApiKey, { id: keyId, clubId }, { secretHash: sha256(secret), ...previous, updatedAt: now });
    return { api_key: await findKey(tx, clubId, keyId, now), secret };
  });
}

/** Revokes the key. A key that is expired or revoked does not change. @throws DomainError not_found */
export async function revokeKey({ db }: DatabaseDeps, clubId: Id, keyId: Id, now: Date): Promise<void> {
  await db.transaction(async (tx) => {
    const key = await lockKey(tx, clubId, keyId);
    if (statusOfKey(key, now) === 'active') {
      await tx.manager.update(ApiKey, { id: keyId, clubId }, { revokedAt: now, updatedAt: now });
    }
  });
}

const keysPerBatch = 500;

/** Deletes a batch of keys that expired or were revoked 400 days ago. */
export async function removeOldKeys(db: Queries, now: Date): Promise<{ rows: { apiKeys: number }; more: boolean }> {
  const before = new Date(now.getTime() - apiKeyRules.retentionMs);
  const removed = await db.run(sql`DELETE FROM api_keys WHERE id IN (
    SELECT id FROM api_keys WHERE least(expires_at, revoked_at) <= ${before} LIMIT ${keysPerBatch} FOR UPDATE SKIP LOCKED)`);
  return { rows: { apiKeys: removed }, more: removed >= keysPerBatch };
}

const noKey = () => notFound('API key');

async function lockKey(
  tx: Transaction,
  clubId: Id,
  keyId: Id,
): Promise<Pick<ApiKey, 'secretHash' | 'previousSecretExpiresAt' | 'expiresAt' | 'revokedAt'>> {
  const key = await tx.manager.findOne(ApiKey, {
    select: { secretHash: true, previousSecretExpiresAt: true, expiresAt: true, revokedAt: true },
    where: { id: keyId, clubId },
    lock: { mode: 'for_no_key_update' },
  });
  if (!key) throw noKey();
  return key;
}

/** @throws DomainError not_found, key_not_active */
async function requireActive(tx: Transaction, clubId: Id, keyId: Id, now: Date) {
  const key = await lockKey(tx, clubId, keyId);
  const status = statusOfKey(key, now);
  if (status !== 'active') throw new DomainError('key_not_active', `The API key is ${status}.`);
  return key;
}

/** @throws DomainError key_limit_reached */
async function requireRoom(tx: Transaction, clubId: Id, now: Date): Promise<void> {
  // The lock prevents two concurrent requests from both creating the last allowed key.
  await tx.manager.findOne(Club, {
    select: { id: true },
    where: { id: clubId },
    lock: { mode: 'for_no_key_update' },
  });
  const counted = await tx.one<{ active: number }>(sql`SELECT count(*)::int AS active FROM api_keys
    WHERE club_id = ${clubId} AND revoked_at IS NULL AND expires_at > ${now}`);
  if ((counted?.active ?? 0) >= apiKeyRules.perClub)
    throw new DomainError('key_limit_reached', `A club has at most ${apiKeyRules.perClub} active API keys.`);
}

function checkedFields(
  { name: text, scopes, allowed_networks: networks, expires_at: expiry }: Change,
  now: Date,
): Partial<Pick<ApiKey, 'name' | 'scopes' | 'allowedNetworks' | 'expiresAt'>> {
  const name = text === undefined ? undefined : tidyName(text);
  if (name !== undefined && !hasVisible(name)) throw new DomainError('invalid_request', 'name must have a letter.');
  const expiresAt = expiry === undefined ? undefined : new Date(expiry);
  if (expiresAt) requireExpiry(expiresAt, now);
  return {
    ...(name !== undefined && { name }),
    ...(scopes && { scopes: scopes.toSorted() }),
    ...(networks && { allowedNetworks: networks.map(networkAt) }),
    ...(expiresAt && { expiresAt }),
  };
}

function networkAt(text: string, index: number): string {
  const network = networkIn(text);
  if (network === undefined)
    throw new DomainError(
      'invalid_request',
      `allowed_networks/${index} must be an address or a network, such as 203.0.113.0/24.`,
    );
  return network;
}

function requireExpiry(expiresAt: Date, now: Date): void {
  const remainingMs = expiresAt.getTime() - now.getTime();
  if (remainingMs <= 0) throw new DomainError('invalid_request', 'expires_at must be in the future.');
  if (remainingMs > apiKeyRules.lifetimeMs)
    throw new DomainError('invalid_request', 'expires_at must be at most 366 days from now.');
}

/** A key can do much in the name of the club, so the owners get a mail even if an admin creates it. */
async function mailOwners(tx: Transaction, vault: Vault, clubId: Id, now: Date): Promise<void> {
  const owners = await tx.rows<{ id: Id; email: string }>(
    sql`SELECT administrator.id, administrator.email
       FROM memberships JOIN administrators administrator ON administrator.id = memberships.administrator_id
      WHERE memberships.club_id = ${clubId} AND memberships.role = 'owner' AND administrator.removed_at IS NULL ORDER BY administrator.id`,
  );
  for (const { id: administratorId, email } of owners) {
    await requestMail(tx, vault, { template: 'api_key_created', clubId, recipient: { administratorId }, email }, now);
  }
}

function present(row: KeyRow, now: Date): RecordOf<'ApiKey'> {
  const { previousSecretExpiresAt: previous, lastUsedAt, revokedAt } = row;
  return {
    id: row.id,
    name: row.name,
    start: startOfKey(row.id),
    scopes: row.scopes as RecordOf<'ApiKey'>['scopes'],
    allowed_networks: row.allowedNetworks,
    status: statusOfKey(row, now),
    ...(row.createdBy !== null && { created_by: row.createdBy }),
    created_at: row.createdAt.toISOString(),
    updated_at: row.updatedAt.toISOString(),
    expires_at: row.expiresAt.toISOString(),
    ...(lastUsedAt && { last_used_at: lastUsedAt.toISOString() }),
    ...(previous && previous.getTime() > now.getTime() && { previous_secret_expires_at: previous.toISOString() }),
    ...(revokedAt && { revoked_at: revokedAt.toISOString() }),
  };
}
