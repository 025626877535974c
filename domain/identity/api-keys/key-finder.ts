/** Finds the API key of a request. Each request searches again, so that a revoked key is refused immediately (KEY-4). */
import type { Scope } from '../../../contract/rules/scopes.ts';
import { gathered } from '../../../platform/core/gathered.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { sha256 } from '../../../platform/infra/keys/vault.ts';
import type { Database } from '../../../platform/infra/postgres/database.ts';
import { prepared } from '../../../platform/infra/postgres/prepared.ts';
import { forAllClubs } from '../../../platform/infra/postgres/shared-pool.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { isWellFormedKey } from './key-format.ts';
import { apiKeyRules } from './keys.policy.ts';

/** Look-ups use only a few of the process's connections. */
const maxConcurrentLookUps = 4;

export interface KeyFound {
  id: Id;
  clubId: Id;
  scopes: readonly Scope[];
}

export interface KeyFinder {
  /**
   * @param ip the address of the caller; null if it is unknown
   * @returns the key; undefined if it is malformed, unknown, expired, revoked, or not accepted from this address
   */
  find(key: string, ip: string | null, now: Date): Promise<KeyFound | undefined>;
}

interface LookUp {
  secretHash: Buffer;
  ip: string | null;
  now: Date;
}

interface KeyRow extends KeyFound {
  position: number;
  lastUsedAt: Date | null;
}

/** @returns the finder of a process. It looks up the keys of concurrent requests together */
export function createKeyFinder(db: Database): KeyFinder {
  const lookUp = gathered(
    (lookUps: readonly LookUp[]) =>
      forAllClubs(async () => {
        const columns = {
          secretHashes: lookUps.map(({ secretHash }) => secretHash),
          ips: lookUps.map(({ ip }) => ip),
          times: lookUps.map(({ now }) => now),
        };
        const present = await selectKeys(db.source, columns);
        // Most keys are found by their present secret, so the second statement is rare.
        const rows =
          present.length === lookUps.length ? present : [...present, ...(await selectRotatedKeys(db.source, columns))];
        const rowsByPosition = new Map(rows.map((row) => [row.position, row]));
        return lookUps.map((_, index) => rowsByPosition.get(index + 1));
      }),
    { atOnce: maxConcurrentLookUps },
  );
  return {
    async find(key, ip, now) {
      if (!isWellFormedKey(key)) return undefined;
      const row = await lookUp({ secretHash: sha256(key), ip, now });
      if (!row) return undefined;
      const { id, clubId, scopes, lastUsedAt } = row;
      if (lastUsedAt === null || now.getTime() - lastUsedAt.getTime() > apiKeyRules.useWrittenEveryMs)
        await recordUse(db, id, now);
      return { id, clubId, scopes };
    },
  };
}

/** Concurrent requests with a key write the time once. */
async function recordUse(db: Database, id: Id, now: Date): Promise<void> {
  const staleBefore = new Date(now.getTime() - apiKeyRules.useWrittenEveryMs);
  await db.run(sql`UPDATE api_keys SET last_used_at = ${now}
    WHERE id = ${id} AND (last_used_at IS NULL OR last_used_at < ${staleBefore})`);
}

interface KeyLookUps {
  secretHashes: readonly Buffer[];
  ips: readonly (string | null)[];
  times: readonly Date[];
}

/** One index lookup for each hash. Both indexes are unique, so a hash finds at most one key. */
const selectKeys = prepared<KeyRow, KeyLookUps>('select_api_keys', (value) =>
  statementOf(value, 'key.secret_hash = asked.secret_hash'),
);

/** Finds the keys by their secrets from before a rotation. */
const selectRotatedKeys = prepared<KeyRow, KeyLookUps>('select_rotated_api_keys', (value) =>
  statementOf(value, 'key.previous_secret_hash = asked.secret_hash AND key.previous_secret_expires_at > asked.now'),
);

function statementOf(value: { readonly [Name in keyof KeyLookUps]: string }, isOfSecret: string): string {
  return `SELECT asked.position::int, key.id, key.club_id AS "clubId", key.scopes, key.last_used_at AS "lastUsedAt"
     FROM unnest(${value.secretHashes}::bytea[], ${value.ips}::inet[], ${value.times}::timestamptz[])
          WITH ORDINALITY AS asked (secret_hash, ip, now, position)
     JOIN api_keys key ON ${isOfSecret}
      AND key.revoked_at IS NULL AND key.expires_at > asked.now
      AND (key.allowed_networks = '{}' OR asked.ip <<= ANY (key.allowed_networks::inet[]))
     JOIN clubs club ON club.id = key.club_id AND club.erasing_at IS NULL`;
}
