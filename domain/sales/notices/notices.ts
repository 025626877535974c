/** Stores notices of sales platforms as received (SALE-1), and shows them to administrators, who can replay them. */
import { SalesNotice } from '../../../entities/sales/sales-notice.ts';
import type { RecordOf } from '../../../contract/contract.ts';
import type { Database, Queries } from '../../../platform/infra/postgres/database.ts';
import { prepared } from '../../../platform/infra/postgres/prepared.ts';
import { forAllClubs } from '../../../platform/infra/postgres/shared-pool.ts';
import { all, columns, raw as rawSql, sql, type RowOf } from '../../../platform/infra/postgres/sql.ts';
import { writeTogether } from '../../../platform/infra/postgres/write-together.ts';
import { DomainError, notFound } from '../../../platform/core/errors.ts';
import { gathered } from '../../../platform/core/gathered.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { newestFirst } from '../../../platform/infra/postgres/lists/order.ts';
import { type Page, type PageRequest, listPage } from '../../../platform/infra/postgres/lists/page.ts';
import type { DatabaseDeps, VaultDeps } from '../../deps.ts';
import { traceparent } from '../../../platform/infra/tracing.ts';
import { sha256 } from '../../../platform/infra/keys/vault.ts';
import { insertingWakes, wake, wakesOfRuns } from '../../../platform/engine/wakes.ts';
import { runOf } from '../../../platform/engine/workflow-types.ts';
import { addressesIn } from './addresses.policy.ts';
import { type NoticeStatus, type SalesPlatform, salesPlatforms } from '../../../entities/sales/values.ts';
import { salesAdapters } from '../platforms/index.ts';

type Notice = RecordOf<'SalesNotice'>;

export interface ReceivedNotice {
  /** The name in the request's path, unchecked. */
  platform: string;
  token: string;
  /** Reads the body of the request, if the token is valid. */
  receiveBody: () => Promise<{ raw: Buffer; parse: () => unknown }>;
  /** @returns a header of the request, or an empty text if the header is absent */
  header: (name: string) => string;
  signature: string | undefined;
}

/**
 * The maximum number of notices that one statement inserts, and the maximum size of each body in such a statement. So all bodies of one
 * statement together have at most 4 MB.
 */
const maxNoticesPerBatch = 64;
const maxBatchedBytes = 65_536;
/** The limit for each kind of statement, so that they use only a few of the process's connections. */
const maxConcurrent = 4;
/**
 * The maximum length of a proof. A platform sends a proof, such as a signature, to show that it sent the notice. A longer proof is ignored.
 */
const longestProof = 512;

/**
 * Stores the notice as received and wakes its processing.
 * @throws DomainError not_found if the token is unknown, was replaced by a rotation, or belongs to another platform. The answer is the same
 * in all three cases, and the body is not read
 * @throws DomainError malformed_request, invalid_request, body_too_large
 */
export type ReceiveNotice = (received: ReceivedNotice, now: Date) => Promise<void>;

/**
 * @returns a function that stores notices. If several notices arrive at the same time, one statement looks up the connections of all these
 * notices, and one statement writes the notices
 */
export function createNoticeReceiver({ db, vault }: VaultDeps): ReceiveNotice {
  const connectionOf = gathered((keys: readonly ConnectionKey[]) => forAllClubs(() => findConnections(db, keys)), {
    atOnce: maxConcurrent,
  });
  const insert = (notices: readonly NewNotice[]) => insertNotices(db, notices);
  const writeBatched = gathered((notices: readonly NewNotice[]) => forAllClubs(() => writeTogether(notices, insert)), {
    most: maxNoticesPerBatch,
    atOnce: maxConcurrent,
  });
  // A large notice gets its own statement, which uses a database connection from the club's own share. So small notices of other clubs do
  // not wait for a large notice.
  const write = async (notice: NewNotice) =>
    notice.body.length > maxBatchedBytes ? { result: (await insert([notice]))[0] } : writeBatched(notice);
  return async (received, now) => {
    const platform = salesPlatforms.find((known) => known === received.platform);
    if (platform === undefined) throw noConnection();
    const key = { platform, tokenHash: sha256(received.token) };
    // The token is checked before the body is read, so that a request without a valid token costs only one look-up.
    const connection = await connectionOf(key);
    if (!connection) throw noConnection();
    const { raw, parse } = await received.receiveBody();
    const body = parse();
    const id = newId();
    const proof = proofOf(platform, received);
    const outcome = await write({
      ...key,
      id,
      clubId: connection.clubId,
      body: raw,
      proof: proof === null ? null : vault.seal(proof, id),
      addresses: addressesIn(body),
      traceparent: traceparent(), // the span is read before the notice joins a batch, because a batch runs in the span of its first request
      now,
    });
    if ('error' in outcome) throw outcome.error;
    if (!outcome.result) throw noConnection();
  };
}

function proofOf(platform: SalesPlatform, { signature, header }: ReceivedNotice): string | null {
  const { proofIn } = salesAdapters[platform];
  const stated = proofIn === 'signature' ? (signature ?? '') : header(proofIn.header);
  return stated === '' || stated.length > longestProof ? null : stated;
}

/** The values by which a connection is looked up. */
interface ConnectionKey {
  platform: SalesPlatform;
  tokenHash: Buffer;
}

/** @returns for each key, the club of the connection with this key; undefined if there is no such connection */
async function findConnections(db: Database, keys: readonly ConnectionKey[]): Promise<({ clubId: Id } | undefined)[]> {
  const connections = await findSalesConnections(db.source, {
    tokenHashes: keys.map(({ tokenHash }) => tokenHash),
    platforms: keys.map(({ platform }) => platform),
  });
  const clubs = new Map(connections.map(({ place, clubId }) => [place, { clubId }]));
  return keys.map((_, index) => clubs.get(index + 1));
}

const findSalesConnections = prepared<
  { place: number; clubId: Id },
  { tokenHashes: readonly Buffer[]; platforms: readonly SalesPlatform[] }
>(
  'find_sales_connections',
  (value) => `SELECT place::int, club_id AS "clubId"
     FROM unnest(${value.tokenHashes}::bytea[], ${value.platforms}::text[]) WITH ORDINALITY AS key (token_hash, platform, place)
     JOIN sales_connections connection USING (token_hash, platform)
     JOIN clubs club ON club.id = connection.club_id AND club.erasing_at IS NULL
    WHERE deleted_at IS NULL`,
);

interface NewNotice extends ConnectionKey {
  id: Id;
  clubId: Id;
  body: Buffer;
  /** Encrypted. */
  proof: Buffer | null;
  addresses: readonly string[];
  traceparent: string | undefined;
  now: Date;
}

interface NoticeValues {
  ids: readonly Id[];
  tokenHashes: readonly Buffer[];
  platforms: readonly SalesPlatform[];
  bodies: readonly Buffer[];
  proofs: readonly (Buffer | null)[];
  /** Each value is a JSON array with one element for each notice. */
  addresses: readonly string[];
  times: readonly Date[];
  wakes: string;
}

/** @returns whether each notice was inserted. A notice is not inserted if its connection was deleted after the look-up */
async function insertNotices(db: Database, notices: readonly NewNotice[]): Promise<boolean[]> {
  const inserted = await insertSalesNotices(db.source, {
    ids: notices.map(({ id }) => id),
    tokenHashes: notices.map(({ tokenHash }) => tokenHash),
    platforms: notices.map(({ platform }) => platform),
    bodies: notices.map(({ body }) => body),
    proofs: notices.map(({ proof }) => proof),
    addresses: notices.map(({ addresses }) => JSON.stringify(addresses)),
    times: notices.map(({ now }) => now),
    wakes: wakesOfRuns(notices.map((notice) => ({ ...runOf('salesNotice', notice), traceparent: notice.traceparent }))),
  });
  if (inserted.length > 0) db.notifier.notify();
  const ids = new Set(inserted.map(({ id }) => id));
  return notices.map(({ id }) => ids.has(id));
}

const insertSalesNotices = prepared<{ id: Id }, NoticeValues>(
  'insert_sales_notices',
  (value) => `WITH given AS MATERIALIZED (
       SELECT * FROM unnest(${value.ids}::uuid[], ${value.tokenHashes}::bytea[], ${value.platforms}::text[], ${value.bodies}::bytea[], ${value.proofs}::bytea[], ${value.addresses}::jsonb[], ${value.times}::timestamptz[])
           AS given (id, token_hash, platform, body, proof, addresses, at)),
     notice AS (
       INSERT INTO sales_notices (id, club_id, connection_id, platform, body, proof, addresses, next_attempt_at, received_at)
       SELECT given.id, club_id, connection.id, platform, body, proof, ARRAY(SELECT jsonb_array_elements_text(addresses)), at, at
         FROM given JOIN sales_connections connection USING (token_hash, platform)
        WHERE deleted_at IS NULL
          AND EXISTS (SELECT FROM clubs WHERE clubs.id = connection.club_id AND erasing_at IS NULL) ORDER BY given.id
       RETURNING id, received_at),
     woken AS (${insertingWakes(
       rawSql(`jsonb_array_elements(${value.wakes}::jsonb) AS one JOIN notice ON notice.id::text = one->>'subjectId'`),
       rawSql('received_at'),
     ).render([])})
     SELECT id FROM notice`,
);

const noConnection = () => new DomainError('not_found', 'There is no connection with this token.');

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
  const { rows, total, next } = await listPage(db, filter, {
    columns: noticeColumns,
    from: sql`FROM sales_notices WHERE ${all([
      sql`club_id = ${clubId}`,
      filter.status === undefined ? undefined : sql`status = ${filter.status}`,
      filter.connection_id === undefined ? undefined : sql`connection_id = ${filter.connection_id}`,
    ])}`,
    orderBy: newestFirst('', 'received_at'),
  });
  return { rows: rows.map(present), total, next };
}

/** Removes a byte-order mark, which JSON parsers refuse. */
const textDecoder = new TextDecoder();

/** @returns the notice with its body as received @throws DomainError not_found */
export async function findNotice(db: Queries, clubId: Id, noticeId: Id): Promise<RecordOf<'SalesNoticeWithBody'>> {
  const row = await db.one<NoticeRow & { body: Buffer | null }>(
    sql`SELECT ${noticeColumns}, body FROM sales_notices WHERE id = ${noticeId} AND club_id = ${clubId}`,
  );
  if (!row) throw notFound('sales notice');
  return { ...present(row), ...(row.body !== null && { body: textDecoder.decode(row.body) }) };
}

/**
 * Schedules a failed notice for processing again, for example after its product was created.
 * @throws DomainError not_found, notice_not_failed, payload_purged
 */
export async function replayNotice({ db }: DatabaseDeps, clubId: Id, noticeId: Id, now: Date): Promise<void> {
  await db.transaction(async (tx) => {
    const row = await tx.one<{ status: NoticeStatus; purged: boolean }>(
      sql`SELECT status, body IS NULL AS purged FROM sales_notices WHERE id = ${noticeId} AND club_id = ${clubId} FOR UPDATE`,
    );
    if (!row) throw notFound('sales notice');
    if (row.status !== 'failed') throw new DomainError('notice_not_failed', 'Only a failed notice can be replayed.');
    if (row.purged) throw new DomainError('payload_purged', 'The body of the notice is no longer stored.');
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
