/** Notices of sales platforms: stored as they come (SALE-1), shown to administrators, replayed. */
import type { RecordOf } from '../../../contract/contract.ts';
import type { Database, Queries } from '../../../platform/infra/postgres/database.ts';
import { DomainError, notFound } from '../../../platform/core/errors.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { windowOf, type Page, type PageRequest } from '../../../platform/infra/postgres/lists/page.ts';
import type { DatabaseDeps, Platform } from '../../deps.ts';
import { sha256 } from '../../../platform/infra/vault.ts';
import { wake } from '../../../platform/engine/wakes.ts';
import { addressesIn } from './addresses.policy.ts';
import {
  type NoticeErrorCode,
  type NoticeStatus,
  type SalesPlatform,
  salesPlatforms,
} from '../../../entities/sales/values.ts';
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
export async function receiveNotice({ database, vault }: Platform, received: ReceivedNotice, now: Date): Promise<void> {
  const platform = salesPlatforms.find((known) => known === received.platform);
  if (platform === undefined) throw noConnection();
  const { proofIn } = salesAdapters[platform];
  const tokenHash = sha256(received.token);
  // Before anything of the body is read: a stranger costs one look-up.
  await requireConnection(database, platform, tokenHash);
  const stated = proofIn === 'signature' ? (received.signature ?? '') : received.header(proofIn.header);
  const proof = stated === '' || stated.length > longestProof ? null : stated;
  const id = newId();
  await database.transaction(async (tx) => {
    const [connection] = await tx.query<{ clubId: Id }[]>(
      `INSERT INTO sales_notices (id, club_id, connection_id, platform, body, proof, addresses, next_attempt_at, received_at)
       SELECT $1, club_id, id, platform, $4, $5, $6, $7, $7 FROM sales_connections
        WHERE token_hash = $2 AND platform = $3 AND deleted_at IS NULL
       RETURNING club_id AS "clubId"`,
      [
        id,
        tokenHash,
        platform,
        received.raw,
        proof === null ? null : vault.seal(proof, id),
        addressesIn(received.body),
        now,
      ],
    );
    if (!connection) throw noConnection();
    await wake(tx, 'salesNotice', [{ id, clubId: connection.clubId }], now);
  });
}

async function requireConnection({ source }: Database, platform: SalesPlatform, tokenHash: Buffer): Promise<void> {
  const [connection] = await source.query<unknown[]>(
    `SELECT 1 FROM sales_connections WHERE token_hash = $1 AND platform = $2 AND deleted_at IS NULL`,
    [tokenHash, platform],
  );
  if (!connection) throw noConnection();
}

const noConnection = () => new DomainError('not_found', 'There is no such connection.');

interface NoticeRow {
  id: Id;
  connectionId: Id;
  platform: SalesPlatform;
  status: NoticeStatus;
  errorCode: NoticeErrorCode | null;
  errorPath: string | null;
  attemptCount: number;
  studentId: Id | null;
  receivedAt: Date;
  processedAt: Date | null;
  purged: boolean;
}

const columns = `id, connection_id AS "connectionId", platform, status, error_code AS "errorCode", error_path AS "errorPath",
  attempt_count AS "attemptCount", student_id AS "studentId", received_at AS "receivedAt", processed_at AS "processedAt",
  body IS NULL AS purged`;

export interface NoticeFilter extends PageRequest {
  status?: NoticeStatus;
  connection_id?: Id;
}

/** @returns a page of the club's notices, newest first */
export async function listNotices(db: Queries, clubId: Id, filter: NoticeFilter): Promise<Page<Notice>> {
  const { limit, offset } = windowOf(filter);
  const conditions = ['club_id = $1'];
  const parameters: unknown[] = [clubId];
  for (const [column, value] of [
    ['status', filter.status],
    ['connection_id', filter.connection_id],
  ] as const) {
    if (value === undefined) continue;
    parameters.push(value);
    conditions.push(`${column} = $${parameters.length}`);
  }
  const where = conditions.join(' AND ');
  const [counted] = await db.query<{ total: number }[]>(
    `SELECT count(*)::int AS total FROM sales_notices WHERE ${where}`,
    parameters,
  );
  const rows = await db.query<NoticeRow[]>(
    `SELECT ${columns} FROM sales_notices WHERE ${where} ORDER BY received_at DESC, id DESC LIMIT ${limit} OFFSET ${offset}`,
    parameters,
  );
  return { rows: rows.map(present), total: counted?.total ?? 0 };
}

/** @returns the notice with its body as it came @throws DomainError not_found */
export async function findNotice(db: Queries, clubId: Id, noticeId: Id): Promise<RecordOf<'SalesNoticeWithBody'>> {
  const [row] = await db.query<(NoticeRow & { body: Buffer | null })[]>(
    `SELECT ${columns}, body FROM sales_notices WHERE id = $1 AND club_id = $2`,
    [noticeId, clubId],
  );
  if (!row) throw notFound('sales notice');
  return { ...present(row), ...(row.body !== null && { body: row.body.toString('utf8') }) };
}

/**
 * Has a failed notice processed once more, such as after its product was created.
 * @throws DomainError not_found, notice_not_failed, payload_purged
 */
export async function replayNotice({ database }: DatabaseDeps, clubId: Id, noticeId: Id, now: Date): Promise<void> {
  await database.transaction(async (tx) => {
    const [row] = await tx.query<{ status: NoticeStatus; purged: boolean }[]>(
      `SELECT status, body IS NULL AS purged FROM sales_notices WHERE id = $1 AND club_id = $2 FOR UPDATE`,
      [noticeId, clubId],
    );
    if (!row) throw notFound('sales notice');
    if (row.status !== 'failed') throw new DomainError('notice_not_failed', 'Only a notice that failed is replayed.');
    if (row.purged) throw new DomainError('payload_purged', 'The body of the notice was purged.');
    await tx.query(
      `UPDATE sales_notices
          SET status = 'pending', error_code = NULL, error_path = NULL, processed_at = NULL, next_attempt_at = $2
        WHERE id = $1`,
      [noticeId, now],
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
