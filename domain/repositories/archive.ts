/** Finds the files of a student's ZIP archive of a repository, and streams the bytes of the archive (REPO-5 to REPO-8). */
import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { RecordOf } from '../../contract/contract.ts';
import { notFound } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { ObjectStore } from '../../platform/infra/store/object-store.ts';
import type { Queries } from '../../platform/infra/postgres/database.ts';
import { sql, type Sql } from '../../platform/infra/postgres/sql.ts';
import type { Vault } from '../../platform/infra/keys/vault.ts';
import type { Reader } from '../identity/student-ref.ts';
import { isOpenClub } from '../open-clubs.ts';
import { visibleTo } from './classroom.ts';
import { seenBy } from './showing.ts';
import { downloadToken, type DownloadToken } from './tokens.ts';
import { archiveNames, layOutZip, partsOf, safeName, type ZipLayout } from './zip.policy.ts';
import { RefusalToPerson } from '../language/refusal.ts';

/** The path under which archives are downloaded. */
export const downloadsPath = '/downloads';

/** The time for which a download URL is valid for new requests. */
const lifetimeMs = 15 * 60_000;
/**
 * A part of the ETag. Change it with the layout of archives. Otherwise a client could continue an old download with bytes of the new
 * layout.
 */
const layoutVersion = 'zip1';

interface HostedFile {
  mediaId: Id;
  name: string;
  /** Postgres returns a bigint as text. */
  size: string;
  crc32: string | null;
  sha256: Buffer | null;
  objectKey: string;
  addedAt: Date;
}

export interface Archive {
  clubId: Id;
  fileName: string;
  /** A strong ETag: equal ETags mean equal bytes. */
  etag: string;
  layout: ZipLayout;
  /** The files, in their order in the archive. */
  files: readonly { mediaId: Id; size: number; crc32: number; objectKey: string }[];
}

/**
 * @param publicId the public id of the repository
 * @returns the URL of the archive with its current content @throws DomainError not_found, media_not_ready
 */
export async function offerDownload(
  { db, vault, filesUrl }: { db: Queries; vault: Vault; filesUrl: string },
  reader: Reader,
  publicId: string,
  now: Date,
): Promise<RecordOf<'RepositoryDownload'>> {
  const chosen = sql`${visibleTo(reader, now)} AND repository.public_id = ${publicId}`;
  const { repositoryId, layout, fileName } = await openArchive(db, reader.clubId, chosen);
  const expiresAt = new Date(Math.floor((now.getTime() + lifetimeMs) / 1_000) * 1_000);
  const token = downloadToken(vault, { repositoryId, studentId: reader.id, expiresAt });
  return {
    url: `${filesUrl}${downloadsPath}/${token}`,
    expires_at: expiresAt.toISOString(),
    file_name: fileName,
    size_bytes: layout.size,
  };
}

/** Checks whether the student has access now. @returns the archive that the token names @throws DomainError not_found, media_not_ready */
export async function openDownload(db: Queries, token: DownloadToken, now: Date): Promise<Archive> {
  const { repositoryId, studentId } = token;
  const club = await db.one<{ clubId: Id }>(
    sql`SELECT club_id AS "clubId" FROM repositories WHERE id = ${repositoryId} AND ${isOpenClub(sql`club_id`)}`,
  );
  if (!club) throw notFound('repository');
  const visible = visibleTo({ clubId: club.clubId, id: studentId }, now);
  return openArchive(db, club.clubId, sql`${visible} AND repository.id = ${repositoryId}`);
}

async function openArchive(db: Queries, clubId: Id, chosen: Sql): Promise<Archive & { repositoryId: Id }> {
  const repository = await db.one<{ id: Id; title: string }>(
    sql`SELECT repository.id, repository.title FROM repositories repository WHERE ${chosen}`,
  );
  if (!repository) throw notFound('repository');
  const rows = await db.rows<HostedFile>(sql`
    SELECT media.id AS "mediaId", coalesce(media.file_name, media.title) AS name, media.size_bytes AS size, media.crc32,
           media.sha256, media.object_key AS "objectKey", item.added_at AS "addedAt"
      FROM repository_items item JOIN media ON media.id = item.media_id
     WHERE item.repository_id = ${repository.id} AND ${seenBy('student')}
       AND media.object_key IS NOT NULL AND media.size_bytes IS NOT NULL
     ORDER BY item.position`);
  if (rows.length === 0) throw new RefusalToPerson('not_found', 'refusal.nothing_to_download');
  const names = archiveNames(rows.map(({ name }) => name));
  const files = rows.map(({ crc32: sum, ...row }, index) => {
    if (sum === null) throw new RefusalToPerson('media_not_ready', 'refusal.archive_not_ready');
    return { ...row, name: names[index] ?? '', size: Number(row.size), crc32: Number(sum), modifiedAt: row.addedAt };
  });
  const versionParts = files.map(({ name, size, crc32: sum, sha256, modifiedAt }) => [
    name,
    size,
    sum,
    sha256?.toString('hex'),
    modifiedAt.getTime(),
  ]);
  const version = createHash('sha256').update(JSON.stringify(versionParts)).digest('base64url');
  return {
    repositoryId: repository.id,
    clubId,
    fileName: `${safeName(repository.title)}.zip`,
    etag: `"${layoutVersion}-${version}"`,
    layout: layOutZip(files),
    files,
  };
}

/**
 * Reads a part of an archive. The function keeps at most two pieces of a file in memory.
 * @param signal ends the reading
 * @throws Error, when a file is missing or differs from its row. The function throws before it yields the last byte of this file. So an
 * archive with a wrong file is never complete
 */
export async function* readArchive(
  deps: { db: Queries; storage: ObjectStore },
  { layout, files }: Archive,
  { from, length }: { from: number; length: number },
  signal: AbortSignal,
): AsyncGenerator<Buffer, void, undefined> {
  for (const part of partsOf(layout, from, length)) {
    const file = 'file' in part ? files[part.file] : undefined;
    if ('bytes' in part) yield part.bytes;
    else if (file) yield* readFile(deps, file, part, signal);
  }
}

async function* readFile(
  { db, storage }: { db: Queries; storage: ObjectStore },
  { mediaId, size, crc32: checksum, objectKey }: Archive['files'][number],
  { from, length }: { from: number; length: number },
  signal: AbortSignal,
): AsyncGenerator<Buffer, void, undefined> {
  const content =
    (await storage.stream(objectKey, signal, { offset: from, length })) ??
    (await readMoved({ db, storage }, mediaId, checksum, signal, { offset: from, length }));
  let received = 0;
  let sum = 0;
  let lastPiece: Buffer | undefined;
  for await (const piece of content) {
    if (lastPiece) yield lastPiece;
    received += piece.length;
    if (length === size) sum = crc32(piece, sum);
    lastPiece = piece;
  }
  const isRight = received === length && (length < size || sum === checksum);
  if (!isRight || !lastPiece) throw new Error(`The stored file ${mediaId} differs from the size or CRC-32 in its row`);
  yield lastPiece;
}

/**
 * Reads a file again under its new key. Publishing changes the key, perhaps after the archive was opened (MED-27).
 * @throws Error
 */
async function readMoved(
  { db, storage }: { db: Queries; storage: ObjectStore },
  mediaId: Id,
  checksum: number,
  signal: AbortSignal,
  part: { offset: number; length: number },
): Promise<AsyncIterable<Buffer>> {
  const row = await db.one<{ objectKey: string }>(sql`
    SELECT object_key AS "objectKey" FROM media
     WHERE id = ${mediaId} AND crc32 = ${checksum} AND object_key IS NOT NULL AND ${seenBy('student')}`);
  const content = row && (await storage.stream(row.objectKey, signal, part));
  if (!content) throw new Error(`File ${mediaId} of an archive does not exist any more`);
  return content;
}
