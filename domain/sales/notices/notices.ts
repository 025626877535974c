/** Notices of sales platforms: stored as they come (SALE-1), shown to administrators, replayed. */
import { SalesNotice } from '../../../entities/sales/sales-notice.ts';
import type { RecordOf } from '../../../contract/contract.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { all, columns, sql, type RowOf } from '../../../platform/infra/postgres/sql.ts';
import { DomainError, notFound } from '../../../platform/core/errors.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { type Page, type PageRequest, listPage } from '../../../platform/infra/postgres/lists/page.ts';
import type { DatabaseDeps, VaultDeps } from '../../deps.ts';
import { sha256 } from '../../../platform/infra/vault.ts';
import { wake } from '../../../platform/engine/wakes.ts';
import { addressesIn } from './addresses.policy.ts';
import { type NoticeStatus, type SalesPlatform, salesPlatforms } from '../../../entities/sales/values.ts';
import { salesAdapters } from '../platforms/index.ts';

type Notice = RecordOf<'SalesNotice'>;

export interface ReceivedNotice {
  /** From the path, as it was typed. */
  platform: string;
  token: string;
  raw: Buffer;
  body: unknown;
  /** @returns a header of the request, empty where it is absent */
  header: (name: string) => string;
  signature: string | undefined;
}

/** No platform's proof is longer; what is longer proves nothing. */
const longestProof = 512;

/**
 * Keeps the notice as it came and wakes its processing.
 * @throws DomainError not_found, alike for a token of nobody, a rotated one and one of another platform
 */
export async function receiveNotice({ db, vault }: VaultDeps, received: ReceivedNotice, now: Date): Promise<void> {
  const platform = salesPlatforms.find((known) => known === received.platform);
  if (platform === undefined) throw noConnection();
  const { proofIn } = salesAdapters[platform];
  const tokenHash = sha256(received.token);
  // Before anything of the body is read: a stranger costs one look-up.
  await requireConnection(db, platform, tokenHash);
  const stated = proofIn === 'signature' ? (received.signature ?? '') : received.header(proofIn.header);
  const proof = stated === '' || stated.length > longestProof ? null : stated;
  const id = newId();
  await db.transaction(async (tx) => {
    const connection = await tx.one<
      Pick<SalesNotice, 'clubId'>
    >(sql`INSERT INTO sales_notices (id, club_id, connection_id, platform, body, proof, addresses, next_attempt_at, received_at)
       SELECT ${id}, club_id, id, platform, ${received.raw}, ${proof === null ? null : vault.seal(proof, id)}, ${addressesIn(received.body)}, ${now}, ${now} FROM sales_connections
        WHERE token_hash = ${tokenHash} AND platform = ${platform} AND deleted_at IS NULL
       RETURNING ${columns(SalesNotice, ['clubId'])}`);
    if (!connection) throw noConnection();
    await wake(tx, 'salesNotice', [{ id, clubId: connection.clubId }], now);
  });
}

async function requireConnection(db: Queries, platform: SalesPlatform, tokenHash: Buffer): Promise<void> {
  const connection = await db.one(
    sql`SELECT 1 FROM sales_connections WHERE token_hash = ${tokenHash} AND platform = ${platform} AND deleted_at IS NULL`,
  );
  if (!connection) throw noConnection();
}

const noConnection = () => new DomainError('not_found', 'There is no such connection.');

const noticeColumns = columns(SalesNotice, [
  'id',
  'connectionId',
  'platform',
  'status',
  'errorCode',
  'errorPath',
  'attemptCount',
  'studentId',
  'receivedAt',
  'processedAt',
]).and<{ purged: boolean }>(sql`body IS NULL AS purged`);
type NoticeRow = RowOf<typeof noticeColumns>;

export interface NoticeFilter extends PageRequest {
  status?: NoticeStatus;
  connection_id?: Id;
}

/** @returns a page of the club's notices, newest first */
export async function listNotices(db: Queries, clubId: Id, filter: NoticeFilter): Promise<Page<Notice>> {
  const { rows, total } = await listPage(db, filter, {
    columns: noticeColumns,
    from: sql`FROM sales_notices WHERE ${all([
      sql`club_id = ${clubId}`,
      filter.status === undefined ? undefined : sql`status = ${filter.status}`,
      filter.connection_id === undefined ? undefined : sql`connection_id = ${filter.connection_id}`,
    ])}`,
    orderBy: sql`received_at DESC, id DESC`,
  });
  return { rows: rows.map(present), total };
}

/** @returns the notice with its body as it came @throws DomainError not_found */
export async function findNotice(db: Queries, clubId: Id, noticeId: Id): Promise<RecordOf<'SalesNoticeWithBody'>> {
  const row = await db.one<NoticeRow & { body: Buffer | null }>(
    sql`SELECT ${noticeColumns}, body FROM sales_notices WHERE id = ${noticeId} AND club_id = ${clubId}`,
  );
  if (!row) throw notFound('sales notice');
  return { ...present(row), ...(row.body !== null && { body: row.body.toString('utf8') }) };
}

/**
 * Has a failed notice processed once more, such as after its product was created.
 * @throws DomainError not_found, notice_not_failed, payload_purged
 */
export async function replayNotice({ db }: DatabaseDeps, clubId: Id, noticeId: Id, now: Date): Promise<void> {
  await db.transaction(async (tx) => {
    const row = await tx.one<{ status: NoticeStatus; purged: boolean }>(
      sql`SELECT status, body IS NULL AS purged FROM sales_notices WHERE id = ${noticeId} AND club_id = ${clubId} FOR UPDATE`,
    );
    if (!row) throw notFound('sales notice');
    if (row.status !== 'failed') throw new DomainError('notice_not_failed', 'Only a notice that failed is replayed.');
    if (row.purged) throw new DomainError('payload_purged', 'The body of the notice was purged.');
    await tx.manager.update(
      SalesNotice,
      { id: noticeId },
      { status: 'pending', errorCode: null, errorPath: null, processedAt: null, nextAttemptAt: now },
    );
    await wake(tx, 'salesNotice', [{ id: noticeId, clubId }], now);
  });
}

function present(row: NoticeRow): Notice {
  return {
    id: row.id,
    connection_id: row.connectionId,
    platform: row.platform,
    status: row.status,
    attempts: row.attemptCount,
    ...(row.errorCode !== null && {
      error: { code: row.errorCode, ...(row.errorPath !== null && row.errorPath !== '' && { path: row.errorPath }) },
    }),
    ...(row.studentId !== null && { student_id: row.studentId }),
    payload_purged: row.purged,
    received_at: row.receivedAt.toISOString(),
    ...(row.processedAt !== null && { processed_at: row.processedAt.toISOString() }),
  };
}
