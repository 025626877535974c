/** Begins an import. The uploaded file is streamed to the store, so that it is never completely in memory. */
import { StudentImport } from '../../../entities/access/student-import.ts';
import { Readable } from 'node:stream';
import { isDeepStrictEqual } from 'node:util';
import type { RecordOf } from '../../../contract/contract.ts';
import { requireFeature } from '../../billing/allowances.ts';
import type { Database, Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import type { ObjectStore } from '../../../platform/infra/store/object-store.ts';
import { termsOf } from '../enrollments/enrollments.ts';
import { readHeader, type Header } from './header.ts';
import type { ImportError } from '../../../entities/access/values.ts';
import { importRules } from './imports.policy.ts';
import { countOpenImports, endImport, fileKeyOf, findImport, loadImport, lockImport } from './imports.ts';
import { wake } from '../../../platform/engine/wakes.ts';

export interface ImportRequest {
  /** The id of the new import. A repeated request has the id of the first one (IDEM-8). */
  id?: Id;
  deliveryIds: readonly Id[];
  invite: boolean;
  fileName: string | undefined;
}

type Bytes = AsyncIterable<Buffer>;

/**
 * Uploads a file, and starts the workflow that processes it. The row is written before the upload begins, so that the workflow cleans up
 * after an interrupted upload. A repeated request starts no second import and does not read the file.
 * @param body the file, at most 32 MB
 * @throws DomainError invalid_request, when the header line is invalid or the cohort of a delivery has ended; not_found, when a delivery
 * does not exist; delivery_archived, when a delivery is archived; malformed_request or body_too_large, when the body cannot be read or is
 * too large; feature_not_in_plan, when the plan lacks imports; too_many_imports, when the club has too many open imports;
 * idempotency_key_reused, when the caller used the key for a different import
 */
export async function beginImport(
  { db, storage }: { db: Database; storage: ObjectStore },
  clubId: Id,
  request: ImportRequest,
  body: Bytes,
  now: Date,
): Promise<RecordOf<'StudentImport'>> {
  const upload = { id: request.id ?? newId(), clubId };
  const earlier = await findEarlierImport(db, upload, request);
  if (earlier) return earlier;
  const { head, isWhole, rest } = await takeHead(body);
  const header = readHeader(head, isWhole);
  const concurrent = await db.transaction((tx) => insertImport(tx, upload, request, header, now));
  if (concurrent) return concurrent;
  const measured = measure(head, rest, header.end);
  try {
    await storage.put(fileKeyOf(upload), 'text/csv', Readable.from(measured.bytes));
  } catch (error) {
    const isTooLarge = error instanceof DomainError && error.code === 'body_too_large';
    const ended = await breakOff(db, upload, isTooLarge ? 'upload_too_large' : 'upload_interrupted', now);
    if (ended.status !== 'canceled') throw error;
    return ended;
  }
  return db.transaction((tx) => acceptFile(tx, upload, measured, now));
}

/**
 * Finds the import of an earlier request with this id. The files are not compared.
 * @throws DomainError idempotency_key_reused if that request was about another club, or asked for something else
 */
async function findEarlierImport(
  db: Queries,
  { id, clubId }: { id: Id; clubId: Id },
  { deliveryIds, invite, fileName }: ImportRequest,
): Promise<RecordOf<'StudentImport'> | undefined> {
  const earlier = await loadImport(db, id);
  if (!earlier) return undefined;
  const isRepeated =
    earlier.clubId === clubId &&
    isDeepStrictEqual(earlier.deliveryIds, [...deliveryIds]) &&
    earlier.invite === invite &&
    (earlier.fileName === null || earlier.fileName === fileName); // the name of a file may be forgotten with a student
  if (!isRepeated)
    throw new DomainError('idempotency_key_reused', 'Another import was requested with this Idempotency-Key.');
  return findImport(db, clubId, id);
}

/** @returns the import that a concurrent request with this id has inserted; undefined if this call has inserted it */
async function insertImport(
  tx: Transaction,
  upload: { id: Id; clubId: Id },
  request: ImportRequest,
  header: Header,
  now: Date,
): Promise<RecordOf<'StudentImport'> | undefined> {
  const { deliveryIds, invite, fileName } = request;
  await requireFeature(tx, upload.clubId, 'imports');
  for (const deliveryId of deliveryIds) await termsOf(tx, { clubId: upload.clubId, deliveryId }, now);
  await lockClub(tx, upload.clubId);
  const concurrent = await findEarlierImport(tx, upload, request);
  if (concurrent) return concurrent;
  await requireFewImports(tx, upload.clubId);
  await tx.manager.insert(StudentImport, {
    id: upload.id,
    clubId: upload.clubId,
    status: 'uploading',
    fileName: fileName ?? null,
    deliveryIds: [...deliveryIds],
    invite,
    format: header.format,
    ignoredColumns: header.ignoredColumns,
    cursor: header.end,
    nextRow: header.nextRow,
    looksAt: new Date(now.getTime() + importRules.uploadMs),
    createdAt: now,
  });
  // The workflow waits for the file, but not longer than an upload may take.
  await wake(tx, 'studentImport', [upload], now);
  return undefined;
}

/** Locks the club's row, so that concurrent imports see and count each other. */
async function lockClub(tx: Transaction, clubId: Id): Promise<void> {
  await tx.run(sql`SELECT FROM clubs WHERE id = ${clubId} FOR NO KEY UPDATE`);
}

/** @throws DomainError too_many_imports */
async function requireFewImports(tx: Transaction, clubId: Id): Promise<void> {
  const { maxOpen } = importRules;
  if ((await countOpenImports(tx, clubId)) >= maxOpen)
    throw new DomainError(
      'too_many_imports',
      `${maxOpen} imports of the club have not ended. Wait until one of them has ended. An import that is canceled during its upload counts until the upload has stopped, at most 15 minutes.`,
    );
}

/** Starts the import after its file has arrived, unless the import was canceled during the upload. */
async function acceptFile(
  tx: Transaction,
  upload: { id: Id; clubId: Id },
  { size, lines }: Measured,
  now: Date,
): Promise<RecordOf<'StudentImport'>> {
  const { status } = await lockImport(tx, upload.id);
  // The upload is complete, so nothing writes the file any more. The file of a canceled import can now be removed.
  const arrival = { fileBytes: size(), looksAt: new Date(now.getTime() + importRules.silenceMs) };
  const begins = status === 'uploading' && { status: 'pending' as const, rowsTotal: lines() };
  await tx.manager.update(StudentImport, { id: upload.id }, { ...arrival, ...begins });
  await wake(tx, 'studentImport', [upload], now);
  return findImport(tx, upload.clubId, upload.id);
}

/** Ends the import after its upload has failed. */
async function breakOff(
  db: Database,
  upload: { id: Id; clubId: Id },
  error: ImportError,
  now: Date,
): Promise<RecordOf<'StudentImport'>> {
  return db.transaction(async (tx) => {
    const { status } = await lockImport(tx, upload.id);
    if (status === 'uploading') await endImport(tx, upload, { status: 'failed', error }, now);
    // The upload has stopped, so the import no longer counts as open and its workflow need not wait.
    else if (status === 'canceled') await tx.manager.update(StudentImport, { id: upload.id }, { fileBytes: 0 });
    return findImport(tx, upload.clubId, upload.id);
  });
}

/** Reads the file up to the position at which the header line must have ended. */
async function takeHead(body: Bytes): Promise<{ head: Buffer; isWhole: boolean; rest: AsyncIterator<Buffer> }> {
  const rest = body[Symbol.asyncIterator]();
  const chunks: Buffer[] = [];
  for (let length = 0; length < importRules.headBytes;) {
    const next = await rest.next();
    if (next.done) return { head: Buffer.concat(chunks), isWhole: true, rest };
    chunks.push(next.value);
    length += next.value.length;
  }
  return { head: Buffer.concat(chunks), isWhole: false, rest };
}

interface Measured {
  /** In bytes. Valid after all bytes were read. */
  size: () => number;
  /** The number of non-empty lines after the header. There are fewer rows if quoted values contain line breaks. */
  lines: () => number;
}

function measure(head: Buffer, rest: AsyncIterator<Buffer>, headerEnd: number): Measured & { bytes: Bytes } {
  const lineFeed = 0x0a;
  let size = 0;
  let lines = 0;
  let lineLength = 0;
  const endLine = () => {
    if (lineLength > 1) lines += 1; // a line that has only a carriage return is also empty
    lineLength = 0;
  };
  const count = (chunk: Buffer) => {
    let from = 0;
    for (let at = chunk.indexOf(lineFeed); at !== -1; at = chunk.indexOf(lineFeed, from)) {
      lineLength += at - from;
      endLine();
      from = at + 1;
    }
    lineLength += chunk.length - from;
  };
  async function* bytes() {
    size = head.length;
    count(head.subarray(headerEnd));
    yield head;
    for (let next = await rest.next(); !next.done; next = await rest.next()) {
      size += next.value.length;
      count(next.value);
      yield next.value;
    }
    endLine();
  }
  return { bytes: bytes(), size: () => size, lines: () => lines };
}
