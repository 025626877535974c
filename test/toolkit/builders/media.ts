/** Builds files of clubs: rows of the library and of images for agents, with or without their bytes in the bucket. */
import { Readable } from 'node:stream';
import { newId, type Id } from '../../../platform/core/ids.ts';
import type { MediaStatus } from '../../../entities/media/values.ts';
import { testDatabase } from '../stack/database.ts';
import { testObjectStore } from '../stack/storage.ts';

interface MediaOptions {
  title?: string;
  status?: MediaStatus;
  /**
   * The content in the bucket. If it is `null`, the row has a key, but the bucket has lost the content. If it is absent, no content was
   * uploaded.
   */
  bytes?: Uint8Array | string | null;
  /** The true size by default. */
  sizeBytes?: number;
  /** The detected type, which is unknown by default. An image type creates an image of the library. */
  mime?: string;
  /** Makes the file a hosted video. */
  video?: true;
  /** Makes the file an image that this student shows to agents. */
  studentId?: Id;
}

/** A document of the club's library, or an image of a student; ready by default. */
export async function buildMedia(
  clubId: Id,
  {
    title = 'Rope handbook',
    status = 'ready',
    bytes,
    sizeBytes,
    mime = 'application/octet-stream',
    video,
    studentId,
  }: MediaOptions = {},
): Promise<{ id: Id }> {
  const source = await testDatabase();
  const id = newId();
  const key = bytes === undefined ? null : `media/${clubId}/${id}`;
  const content = Buffer.from(bytes ?? '');
  if (key !== null && bytes !== null) await (await testObjectStore()).put(key, mime, Readable.from([content]));
  await source.query(
    `INSERT INTO media (id, club_id, purpose, owner_id, kind, title, provider, status, error, file_name, mime, size_bytes, object_key, created_at, updated_at)
     VALUES ($1, $2, $3, $4, $5, $6, $14, $7, $8, $9, $10, $11, $12, $13, $13)`,
    [
      id,
      clubId,
      studentId === undefined ? 'library' : 'agent_image',
      studentId ?? null,
      video ? 'video' : studentId === undefined && !mime.startsWith('image/') ? 'document' : 'image',
      title,
      status,
      status === 'failed' ? 'unreadable' : null,
      key && title,
      key && mime,
      key && (sizeBytes ?? content.length),
      key,
      new Date(),
      video ? 'hostedvideo_stream' : 'objstore',
    ],
  );
  return { id };
}
