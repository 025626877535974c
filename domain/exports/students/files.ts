/** Finds the student's files in the object store, and streams the ZIP with the document and the files (EXP-2). */
import { crc32 } from 'node:zlib';
import type { Id } from '../../../platform/core/ids.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { sql, type Sql } from '../../../platform/infra/postgres/sql.ts';
import type { ObjectStore } from '../../../platform/infra/store/object-store.ts';
import type { ExportedFile } from '../../questions.ts';
import { archiveNames, layOutZip, type ZipLayout } from '../../repositories/zip.policy.ts';
import { documentName, studentExportRules } from './exports.policy.ts';

/** A file whose size and checksum are certain. */
export interface FoundFile {
  id: Id;
  /** The path in the ZIP. */
  path: string;
  objectKey: string;
  size: number;
  crc32: number;
  createdAt: Date;
}

/**
 * Reads which files the student has, and computes missing checksums. Runs outside the snapshot, because it waits for the store.
 * @param queries of the contexts
 * @returns the files that the store has. A file that is missing there is left out
 */
export async function findFiles(
  { db, storage }: { db: Queries; storage: ObjectStore },
  queries: readonly Sql[],
  signal: AbortSignal,
): Promise<FoundFile[]> {
  const found: (Omit<FoundFile, 'path'> & { name: string })[] = [];
  for (const query of queries) {
    const rows = await db.rows<object>(sql`${query} LIMIT ${studentExportRules.maxFiles}`);
    for (const row of rows as ExportedFile[]) {
      signal.throwIfAborted();
      const checksum = await checksumOf(storage, row, signal);
      if (checksum !== undefined) found.push({ ...row, crc32: checksum });
    }
  }
  const names = archiveNames(found.map(({ name }) => name));
  return found.map(({ name, ...file }, index) => ({ ...file, path: `files/${names[index] ?? name}` }));
}

/** @returns undefined if the store has no such file, or a file of another size */
async function checksumOf(
  storage: ObjectStore,
  { objectKey, size, crc32: known }: ExportedFile,
  signal: AbortSignal,
): Promise<number | undefined> {
  if ((await storage.size(objectKey)) !== size) return undefined;
  if (known !== null) return known;
  let sum = 0;
  for await (const piece of (await storage.stream(objectKey, signal)) ?? []) sum = crc32(piece, sum);
  return sum;
}

export interface DocumentFile {
  size: number;
  crc32: number;
  read: (signal: AbortSignal) => AsyncIterable<Buffer>;
}

export interface ExportArchive {
  layout: ZipLayout;
  document: DocumentFile;
  files: readonly FoundFile[];
}

export function layOutArchive(document: DocumentFile, files: readonly FoundFile[], now: Date): ExportArchive {
  const entries = [
    { name: documentName, size: document.size, crc32: document.crc32, modifiedAt: now },
    ...files.map(({ path, size, crc32: sum, createdAt }) => ({ name: path, size, crc32: sum, modifiedAt: createdAt })),
  ];
  return { layout: layOutZip(entries), document, files };
}

/**
 * Streams the ZIP. The generator keeps one piece of a file in memory.
 * @throws Error if a file is missing or differs from its size or checksum, before the ZIP is complete
 */
export async function* readArchive(
  storage: ObjectStore,
  { layout, document, files }: ExportArchive,
  signal: AbortSignal,
): AsyncGenerator<Buffer, void, undefined> {
  for (const segment of layout.segments) {
    if ('bytes' in segment) {
      yield segment.bytes;
      continue;
    }
    const file = files[segment.file - 1];
    const content = file ? await storage.stream(file.objectKey, signal) : document.read(signal);
    if (!content) throw new Error(`The file ${file?.id} of an export does not exist any more`);
    yield* checked(content, file ?? document);
  }
}

async function* checked(
  content: AsyncIterable<Buffer>,
  { size, crc32: checksum }: Pick<DocumentFile, 'size' | 'crc32'>,
): AsyncGenerator<Buffer> {
  let [received, sum] = [0, 0];
  for await (const piece of content) {
    received += piece.length;
    sum = crc32(piece, sum);
    yield piece;
  }
  if (received !== size || sum !== checksum) throw new Error('A file of an export differs from its size or CRC-32');
}
