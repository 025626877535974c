/** Builds repositories and their files, only as rows. */
import type { RepositoryStatus } from '../../../entities/repositories/values.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { buildMedia } from './media.ts';
import { testDatabase } from '../stack/database.ts';

export interface TestRepository {
  id: Id;
  publicId: string;
  title: string;
}

interface RepositoryOptions {
  title?: string;
  status?: RepositoryStatus;
  mediaIds?: readonly Id[];
  createdAt?: Date;
}

/** A published repository, by default without files. */
export async function buildRepository(
  clubId: Id,
  {
    title = `Repository ${newId().slice(-12)}`,
    status = 'published',
    mediaIds = [],
    createdAt = new Date(),
  }: RepositoryOptions = {},
): Promise<TestRepository> {
  const source = await testDatabase();
  const [id, publicId] = [newId(), newId().slice(-12)];
  await source.query(
    `INSERT INTO repositories (id, club_id, public_id, title, status, created_at, updated_at, published_at)
     VALUES ($1, $2, $3, $4, $5, $6, $6, CASE WHEN $5 = 'draft' THEN NULL ELSE $6::timestamptz END)`,
    [id, clubId, publicId, title, status, createdAt],
  );
  await source.query(
    `INSERT INTO repository_items (repository_id, media_id, position, added_at)
     SELECT $1, item, place - 1, $3 FROM unnest($2::uuid[]) WITH ORDINALITY AS named (item, place)`,
    [id, mediaIds, createdAt],
  );
  await source.query(
    `INSERT INTO media_uses (media_id, kind, place_id) SELECT item, 'repository', $1 FROM unnest($2::uuid[]) AS named (item)`,
    [id, mediaIds],
  );
  return { id, publicId, title };
}

export async function buildHostedFile(clubId: Id, fileName: string, bytes: Uint8Array | string): Promise<{ id: Id }> {
  const content = Buffer.from(bytes);
  const file = await buildMedia(clubId, { title: fileName, bytes: content });
  await (
    await testDatabase()
  ).query(`UPDATE media SET crc32 = $2, sha256 = $3 WHERE id = $1`, [
    file.id,
    crc32(content),
    createHash('sha256').update(content).digest(),
  ]);
  return file;
}

/** The bucket does not contain the files. @returns their ids */
export async function buildFiles(clubId: Id, count: number): Promise<Id[]> {
  const ids = Array.from({ length: count }, newId);
  await (
    await testDatabase()
  ).query(
    `INSERT INTO media (id, club_id, purpose, kind, title, provider, status, file_name, mime, size_bytes, object_key, created_at, updated_at)
     SELECT id, $1, 'library', 'document', 'Rope', 'objstore', 'ready', 'Rope.txt', 'text/plain', 4, 'media/' || id, now(), now()
       FROM unnest($2::uuid[]) AS id`,
    [clubId, ids],
  );
  return ids;
}
