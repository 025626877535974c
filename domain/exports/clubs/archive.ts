/** Joins the pieces of an export into one ZIP archive with a manifest (EXP-13, EXP-14). */
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import type { ExportedType } from '../../../entities/exports/values.ts';
import type { ObjectStore } from '../../../platform/infra/store/object-store.ts';
import { layOutZip } from '../../repositories/zip.policy.ts';
import { archiveKeyOf, clubExportRules, pieceKeyOf } from './exports.policy.ts';
import type { ClaimedExport } from './step.ts';

type Store = Pick<ObjectStore, 'put' | 'stream'>;

/** The content of `manifest.json`. */
export interface Manifest {
  format_version: number;
  club_id: string;
  export_id: string;
  /** The records of a type were read one after the other between these times (UTC). */
  started_at: string;
  completed_at: string;
  /** Changes since the beginning are found by `updated_since` of the lists and `since` of `GET …/events`, with this time. */
  changes_since: string;
  files: { name: string; schema: string; records: number; bytes: number; sha256: string }[];
}

/**
 * @param recordedAt when the last record was read, ISO 8601
 * @returns the size of the archive in bytes
 * @throws Error if a piece is missing, or differs from its recorded size or CRC-32
 */
export async function storeArchive(
  storage: Store,
  claimed: ClaimedExport,
  recordedAt: string,
  signal: AbortSignal,
): Promise<number> {
  const { types } = claimed.progress;
  const manifest = Buffer.from(JSON.stringify(await manifestOf(storage, claimed, recordedAt, signal), null, 2));
  const modifiedAt = new Date(recordedAt);
  const { size, segments } = layOutZip([
    { name: 'manifest.json', size: manifest.length, crc32: crc32(manifest), modifiedAt },
    ...types.map((type) => ({ name: nameOf(type), size: type.bytes, crc32: type.crc32, modifiedAt })),
  ]);
  async function* content(): AsyncGenerator<Buffer> {
    for (const segment of segments) {
      const type = 'file' in segment ? types[segment.file - 1] : undefined;
      if ('bytes' in segment) yield segment.bytes;
      else if (type) yield* linesOf(storage, claimed, type, signal);
      else yield manifest;
    }
  }
  await storage.put(
    archiveKeyOf(claimed, claimed.fence),
    'application/zip',
    Readable.from(content(), { objectMode: false }),
  );
  return size;
}

const nameOf = ({ name }: ExportedType) => `records/${name}.jsonl`;

async function manifestOf(
  storage: Store,
  claimed: ClaimedExport,
  recordedAt: string,
  signal: AbortSignal,
): Promise<Manifest> {
  const startedAt = (claimed.startedAt ?? claimed.createdAt).toISOString();
  const files: Manifest['files'] = [];
  for (const type of claimed.progress.types) {
    const hash = createHash('sha256');
    for await (const piece of linesOf(storage, claimed, type, signal)) hash.update(piece);
    const { name, records, bytes } = type;
    files.push({ name: nameOf(type), schema: name, records, bytes, sha256: hash.digest('hex') });
  }
  return {
    format_version: clubExportRules.formatVersion,
    club_id: claimed.clubId,
    export_id: claimed.id,
    started_at: startedAt,
    completed_at: recordedAt,
    changes_since: startedAt,
    files,
  };
}

/** Reads the pieces of a type in their order, with one chunk in memory. @throws Error if they differ from their row */
async function* linesOf(
  storage: Store,
  claimed: ClaimedExport,
  { name, pieces, bytes, crc32: checksum }: ExportedType,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  let [received, sum] = [0, 0];
  for (const [index, fence] of pieces.entries()) {
    const piece = await storage.stream(pieceKeyOf(claimed, name, index, fence), signal);
    if (!piece) throw new Error(`Piece ${index} of ${name} of the export ${claimed.id} does not exist`);
    for await (const chunk of piece) {
      received += chunk.length;
      sum = crc32(chunk, sum);
      yield chunk;
    }
  }
  if (received !== bytes || sum !== checksum)
    throw new Error(`The stored lines of ${name} of the export ${claimed.id} differ from their size or CRC-32`);
}
