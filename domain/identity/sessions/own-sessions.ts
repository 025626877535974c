/** Lists the sessions of a person, and ends them (SES-8, SES-10). */
import type { RecordOf } from '../../../contract/contract.ts';
import type { SessionOpener } from '../../../entities/identity/values.ts';
import { notFound } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { sha256 } from '../../../platform/infra/keys/vault.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { windowOf, type Page, type PageRequest } from '../../../platform/infra/postgres/lists/page.ts';
import { raw, sql } from '../../../platform/infra/postgres/sql.ts';
import type { DatabaseDeps } from '../../deps.ts';
import { endOtherSessions, sessionIdOf, stores, type CallerKind } from './sessions.ts';

/** The owner of the sessions, with the session of the request. */
export interface SessionOwner {
  kind: CallerKind;
  id: Id;
  token: string;
}

/** @returns a page of the person's sessions that have not ended, the last used first. A person has at most 100 (SES-12) */
export async function listOwnSessions(
  db: Queries,
  owner: SessionOwner,
  request: PageRequest,
  now: Date,
): Promise<Page<RecordOf<'SignInSession'>>> {
  const current = sha256(owner.token);
  const sessions = await findSessions(db, owner, now);
  const { limit, offset } = windowOf(request);
  const rows = sessions
    .slice(offset, offset + limit)
    .map(({ tokenHash, device, network, openedBy, createdAt, lastUsedAt, expiresAt }) => ({
      id: sessionIdOf(tokenHash),
      current: tokenHash.equals(current),
      ...(device !== null && { device }),
      ...(network !== null && { network }),
      opened_by: openedBy,
      created_at: createdAt.toISOString(),
      last_used_at: (lastUsedAt ?? createdAt).toISOString(),
      expires_at: expiresAt.toISOString(),
    }));
  return { rows, total: sessions.length, next: undefined };
}

/**
 * Ends one session of the person. The id is compared only with the ids of the person's own sessions. So neither the answer nor its time
 * shows whether the id belongs to another person.
 * @throws DomainError not_found
 */
export async function endOwnSession(
  { db }: DatabaseDeps,
  owner: SessionOwner,
  sessionId: Id,
  now: Date,
): Promise<void> {
  await db.transaction(async (tx) => {
    const sessions = await findSessions(tx, owner, now);
    const ended = sessions.find(({ tokenHash }) => sessionIdOf(tokenHash) === sessionId.toLowerCase());
    if (!ended) throw notFound('session');
    await tx.run(sql`DELETE FROM ${raw(stores[owner.kind].table)} WHERE token_hash = ${ended.tokenHash}`);
  });
}

/** Ends all sessions of the person except the session of the request. */
export async function endOtherOwnSessions({ db }: DatabaseDeps, { kind, id, token }: SessionOwner): Promise<void> {
  await db.transaction((tx) => endOtherSessions(tx, kind, id, token));
}

interface FoundSession {
  tokenHash: Buffer;
  device: string | null;
  network: string | null;
  openedBy: SessionOpener;
  createdAt: Date;
  lastUsedAt: Date | null;
  expiresAt: Date;
}

function findSessions(db: Queries, { kind, id }: SessionOwner, now: Date): Promise<FoundSession[]> {
  const { table, owner } = stores[kind];
  return db.rows<FoundSession>(sql`
    SELECT token_hash AS "tokenHash", device, network, opened_by AS "openedBy", created_at AS "createdAt", last_used_at AS "lastUsedAt",
           expires_at AS "expiresAt"
      FROM ${raw(table)} WHERE ${raw(owner)} = ${id} AND expires_at > ${now}
     ORDER BY coalesce(last_used_at, created_at) DESC, created_at DESC, token_hash`);
}
