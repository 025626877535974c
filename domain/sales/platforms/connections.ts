/** Manages the connections of a club. A connection is a secret URL to which a sales platform posts notices. */
import { IsNull } from 'typeorm';
import { SalesConnection } from '../../../entities/sales/sales-connection.ts';
import { randomBytes } from 'node:crypto';
import type { RecordOf } from '../../../contract/contract.ts';
import { requireFeature } from '../../billing/allowances.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { columns, sql, type RowOf } from '../../../platform/infra/postgres/sql.ts';
import { notFound } from '../../../platform/core/errors.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { ascending } from '../../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page, type PageRequest } from '../../../platform/infra/postgres/lists/page.ts';
import type { AddressedDeps, DatabaseDeps } from '../../deps.ts';
import { sha256 } from '../../../platform/infra/keys/vault.ts';
import { tidyName } from '../../../platform/core/text/text.policy.ts';
import type { SalesPlatform } from '../../../entities/sales/values.ts';

type Connection = RecordOf<'SalesConnection'>;
type ConnectionWithToken = RecordOf<'SalesConnectionWithToken'>;

const connectionColumns = columns(
  SalesConnection,
  ['id', 'platform', 'name', 'createdAt', 'rotatedAt'],
  'connection',
).and<{ hasSecret: boolean; lastNoticeAt: Date | null }>(
  sql`connection.secret IS NOT NULL AS "hasSecret",
      (SELECT max(received_at) FROM sales_notices WHERE connection_id = connection.id) AS "lastNoticeAt"`,
);
type ConnectionRow = RowOf<typeof connectionColumns>;

/** The token has 32 random bytes, which are impossible to guess. */
const newToken = () => randomBytes(32).toString('base64url');

/** @returns the connection with its token. Only this answer and the answer to a rotation show the token */
export async function createConnection(
  { db, vault, publicUrl }: AddressedDeps,
  clubId: Id,
  input: { platform: SalesPlatform; name: string; secret?: string },
  now: Date,
): Promise<ConnectionWithToken> {
  const id = newId();
  const token = newToken();
  return db.transaction(async (tx) => {
    await requireFeature(tx, clubId, 'sales_notices');
    await tx.manager.insert(SalesConnection, {
      id,
      clubId,
      platform: input.platform,
      name: tidyName(input.name),
      tokenHash: sha256(token),
      secret: input.secret === undefined ? null : vault.seal(input.secret, id),
      createdAt: now,
      rotatedAt: now,
    });
    return withToken(await findConnection(tx, clubId, id), token, publicUrl);
  });
}

/**
 * Replaces the token of the connection. The old token becomes invalid immediately.
 * @throws DomainError not_found
 */
export async function rotateConnection(
  { db, publicUrl }: AddressedDeps,
  clubId: Id,
  connectionId: Id,
  now: Date,
): Promise<ConnectionWithToken> {
  const token = newToken();
  return db.transaction(async (tx) => {
    await tx.manager.update(
      SalesConnection,
      { id: connectionId, clubId, deletedAt: IsNull() },
      { tokenHash: sha256(token), rotatedAt: now },
    );
    return withToken(await findConnection(tx, clubId, connectionId), token, publicUrl);
  });
}

/** Deletes the connection, so that it receives no more notices. Earlier notices and their results remain. @throws DomainError not_found */
export async function deleteConnection({ db }: DatabaseDeps, clubId: Id, connectionId: Id, now: Date): Promise<void> {
  const active = { id: connectionId, clubId, deletedAt: IsNull() };
  await db.transaction(async (tx) => {
    const { affected } = await tx.manager.update(SalesConnection, active, { deletedAt: now });
    if (affected === 0) throw noConnection();
  });
}

/** @returns a page of the club's connections, oldest first */
export async function listConnections(db: Queries, clubId: Id, page: PageRequest): Promise<Page<Connection>> {
  const { rows, total, next } = await listPage(db, page, {
    columns: connectionColumns,
    from: sql`FROM sales_connections connection WHERE connection.club_id = ${clubId} AND connection.deleted_at IS NULL`,
    orderBy: [ascending('connection.created_at', 'timestamptz'), ascending('connection.id', 'uuid')],
  });
  return { rows: rows.map(present), total, next };
}

const noConnection = () => notFound('sales connection');

async function findConnection(tx: Transaction, clubId: Id, connectionId: Id): Promise<ConnectionRow> {
  const row = await tx.one<ConnectionRow>(sql`SELECT ${connectionColumns} FROM sales_connections connection
      WHERE connection.id = ${connectionId} AND connection.club_id = ${clubId} AND connection.deleted_at IS NULL`);
  if (!row) throw noConnection();
  return row;
}

function withToken(row: ConnectionRow, token: string, publicUrl: string): ConnectionWithToken {
  return { ...present(row), token, url: `${publicUrl}/webhooks/${row.platform}/${token}` };
}

function present(row: ConnectionRow): Connection {
  return {
    id: row.id,
    platform: row.platform,
    name: row.name,
    has_secret: row.hasSecret,
    created_at: row.createdAt.toISOString(),
    rotated_at: row.rotatedAt.toISOString(),
    ...(row.lastNoticeAt !== null && { last_notice_at: row.lastNoticeAt.toISOString() }),
  };
}
