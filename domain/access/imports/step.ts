/** The step of an import's workflow. It processes one batch of rows in one transaction, which also records the progress (ENG-2). */
import { StudentImport } from '../../../entities/access/student-import.ts';
import type { ErrorCode } from '../../../platform/core/error-codes.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { ObjectStore } from '../../../platform/infra/store/object-store.ts';
import type { VaultDeps } from '../../deps.ts';
import { recordBatch, type Batch } from './batch.ts';
import { forgetAddresses } from './removals.ts';
import { isQuoted, readRows, type Piece } from './rows.ts';
import type { ImportError, ImportStatus } from '../../../entities/access/values.ts';
import { hasImportEnded, importRules, rowsABatch } from './imports.policy.ts';
import { endImport, fileKeyOf, isItsTurn, lockImport, loadImport, type StoredImport } from './imports.ts';

export interface ImportDeps extends VaultDeps {
  storage: ObjectStore;
  /** A hook at which tests stop the process. */
  failpoint: (name: string) => Promise<void>;
}

/**
 * The result of a step: the outcome of an ended import, or the progress with the time of the next step in Unix milliseconds. If the time is
 * absent, the next step is due immediately.
 */
export type ImportStep =
  | { done: true; outcome: ImportStatus }
  | { done: false; at?: number; status: ImportStatus; rowsDone: number; rowsTotal?: number };

/**
 * Advances the import by one step. A repeated step finds that the cursor has moved, and processes the next batch. So no row is processed
 * twice.
 * @param now Unix milliseconds
 */
export async function stepImport(deps: ImportDeps, importId: Id, now: number): Promise<ImportStep> {
  const studentImport = await loadImport(deps.db, importId);
  if (!studentImport) return { done: true, outcome: 'canceled' }; // the import was deleted with its club
  if (hasImportEnded(studentImport.status)) return cleanUp(deps, studentImport, now);
  if (studentImport.status === 'uploading') return awaitFile(deps, studentImport, now);
  if (!(await isItsTurn(deps.db, studentImport))) return awaitTurn(deps, studentImport, now);
  const error = await importBatch(deps, studentImport, new Date(now));
  if (error !== undefined) await fail(deps, studentImport, error, now);
  return readState(deps, importId);
}

const uploadEnds = ({ createdAt }: StoredImport) => createdAt.getTime() + importRules.uploadMs;

async function awaitFile(deps: ImportDeps, stored: StoredImport, now: number): Promise<ImportStep> {
  if (now < uploadEnds(stored)) return inProgress(stored, uploadEnds(stored));
  await fail(deps, stored, 'upload_interrupted', now);
  return readState(deps, stored.id);
}

/**
 * The end of an import wakes the next import. This wake can be missed while this transaction runs, so a waiting import also checks at
 * intervals.
 */
async function awaitTurn({ db }: ImportDeps, stored: StoredImport, now: number): Promise<ImportStep> {
  const at = now + importRules.turnMs;
  await db.manager.update(StudentImport, { id: stored.id }, { looksAt: new Date(at) });
  return inProgress(stored, at);
}

/** Removes the file, and removes it again later if the upload may still write it. */
async function cleanUp({ db, storage }: ImportDeps, stored: StoredImport, now: number): Promise<ImportStep> {
  if (stored.looksAt === null) return { done: true, outcome: stored.status };
  await storage.remove(fileKeyOf(stored));
  await forgetAddresses(db, stored.id);
  const mayStillArrive = stored.fileBytes === null && now < uploadEnds(stored);
  await db.manager.update(
    StudentImport,
    { id: stored.id },
    { looksAt: mayStillArrive ? new Date(uploadEnds(stored)) : null },
  );
  return mayStillArrive ? inProgress(stored, uploadEnds(stored)) : { done: true, outcome: stored.status };
}

function inProgress({ status, created, existing, failed, rowsTotal }: StoredImport, at?: number): ImportStep {
  const rowsDone = created + existing + failed;
  return { done: false, status, rowsDone, ...(rowsTotal !== null && { rowsTotal }), ...(at !== undefined && { at }) };
}

async function readState({ db }: ImportDeps, importId: Id): Promise<ImportStep> {
  const studentImport = await loadImport(db, importId);
  return studentImport ? inProgress(studentImport) : { done: true, outcome: 'canceled' };
}

const refusals: ReadonlySet<ErrorCode> = new Set(['not_found', 'delivery_archived', 'invalid_request']);

/** @returns the reason why the whole import cannot continue; undefined if the import can continue */
async function importBatch(deps: ImportDeps, stored: StoredImport, now: Date): Promise<ImportError | undefined> {
  const batch = await readBatch(deps.storage, stored);
  if (!batch) return 'file_missing';
  await deps.failpoint('batch_read');
  try {
    await deps.db.transaction(async (tx) => {
      await recordBatch(tx, deps.vault, stored, batch, now);
      await deps.failpoint('batch_written');
    });
  } catch (error) {
    if (error instanceof DomainError && refusals.has(error.code)) return 'delivery_not_grantable';
    throw error;
  }
  await deps.failpoint('batch_recorded');
  return undefined;
}

async function fail({ db }: ImportDeps, { id }: StoredImport, error: ImportError, now: number): Promise<void> {
  await db.transaction(async (tx) => {
    const lockedImport = await lockImport(tx, id);
    if (!hasImportEnded(lockedImport.status))
      await endImport(tx, lockedImport, { status: 'failed', error }, new Date(now));
  });
}

/** @returns undefined if the file does not exist any more */
async function readBatch(storage: ObjectStore, stored: StoredImport): Promise<Batch | undefined> {
  const { cursor, format, nextRow, deliveryIds } = stored;
  const piece = await readPiece(storage, stored, cursor);
  if (!piece) return undefined;
  const read = readRows(piece, format, nextRow, rowsABatch(deliveryIds.length));
  let end = cursor + read.consumed;
  let { endsInsideQuotes } = read;
  for (let isInside = read.endsInsideLine; isInside && !endsInsideQuotes;) {
    const more = await readPiece(storage, stored, end);
    if (!more) return undefined;
    const lineEnd = more.bytes.indexOf('\n');
    endsInsideQuotes = isQuoted(lineEnd === -1 ? more.bytes : more.bytes.subarray(0, lineEnd));
    end += lineEnd === -1 ? more.bytes.length : lineEnd + 1;
    isInside = lineEnd === -1 && !more.isLast;
  }
  return {
    rows: read.rows,
    nextRow: read.nextRow,
    cursor: end,
    ...(endsInsideQuotes && { failsWith: 'row_too_long' }),
  };
}

async function readPiece(storage: ObjectStore, stored: StoredImport, offset: number): Promise<Piece | undefined> {
  const remainingBytes = (stored.fileBytes ?? 0) - offset;
  if (remainingBytes <= 0) return { bytes: Buffer.alloc(0), isLast: true };
  const bytes = await storage.read(fileKeyOf(stored), offset, Math.min(remainingBytes, importRules.pieceBytes));
  return bytes && { bytes, isLast: remainingBytes <= importRules.pieceBytes };
}
