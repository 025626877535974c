/** Reads records of a club for some seconds, and stores them as pieces of JSON lines (EXP-11, EXP-12). */
import { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import type { ClubExportProgress, ExportedType } from '../../../entities/exports/values.ts';
import type { ObjectStore } from '../../../platform/infra/store/object-store.ts';
import { clubExportRules, pieceKeyOf } from './exports.policy.ts';
import type { ExportSource } from './pages.ts';
import { recordTypes } from './record-types.ts';
import type { ClaimedExport, ClubExportDeps } from './step.ts';

/**
 * @param signal ends the reading
 * @returns the progress after the last stored piece
 * @throws the reason of the signal; any error of Postgres or the store
 */
export async function exportRecords(
  deps: ClubExportDeps,
  claimed: ClaimedExport,
  now: Date,
  signal: AbortSignal,
): Promise<ClubExportProgress> {
  const source: ExportSource = {
    ...deps,
    storage: withoutAddresses(deps.storage),
    clubId: claimed.clubId,
    administratorId: claimed.requestedBy,
    now,
  };
  const types = structuredClone(claimed.progress.types);
  let { next } = claimed.progress;
  const isOver = (deps.beginStep ?? afterSomeSeconds)();
  do {
    const isNew = next === undefined;
    const type = (deps.types ?? recordTypes)[isNew ? types.length : types.length - 1];
    if (!type) return { types, recordedAt: now.toISOString() };
    const exported = isNew ? { name: type.name, records: 0, bytes: 0, crc32: 0, pieces: [] } : types.pop();
    if (!exported) throw new Error('An export continues, but no record type has begun');
    const texts: Buffer[] = [];
    let bytes = 0;
    do {
      signal.throwIfAborted();
      const found = await type.walk(source, next);
      for (const line of found.lines) {
        const text = Buffer.from(`${JSON.stringify(line, withoutSigned)}\n`);
        texts.push(text);
        bytes += text.length;
      }
      exported.records += found.lines.length;
      next = found.next;
    } while (next !== undefined && bytes < clubExportRules.pieceBytes && !isOver());
    await storePiece(deps.storage, claimed, exported, Buffer.concat(texts));
    types.push(exported);
  } while (!isOver());
  return next === undefined ? { types } : { types, next };
}

function afterSomeSeconds(): () => boolean {
  const ends = performance.now() + clubExportRules.stepMs;
  return () => performance.now() >= ends;
}

async function storePiece(
  storage: ObjectStore,
  claimed: ClaimedExport,
  exported: ExportedType,
  piece: Buffer,
): Promise<void> {
  if (piece.length === 0) return;
  const key = pieceKeyOf(claimed, exported.name, exported.pieces.length, claimed.fence);
  await storage.put(key, 'application/x-ndjson', Readable.from([piece]));
  exported.pieces.push(claimed.fence);
  exported.bytes += piece.length;
  exported.crc32 = crc32(piece, exported.crc32);
}

/** Stands for a signed address until the record is written. A text of a person cannot be equal to it, because it contains U+0000. */
const signedAddress = '\u0000signed';

/** @returns a store that signs nothing. An address in a file that is kept for years is useless, and until it expires a secret */
const withoutAddresses = (storage: ObjectStore): ObjectStore => ({
  ...storage,
  signGet: () => Promise.resolve(signedAddress),
});

const withoutSigned = (_name: string, value: unknown) => (value === signedAddress ? undefined : value);
