/** Loads the current content of a source: the lesson's content, or the file from the store. */
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../../platform/infra/postgres/sql.ts';
import type { ObjectStore } from '../../../platform/infra/store/object-store.ts';
import { Media } from '../../../entities/media/media.ts';
import type { MediaKind } from '../../../entities/media/values.ts';
import type { Language } from '../../../entities/clubs/values.ts';
import type { Claim } from './claims.ts';
import type { Source } from '../extraction/extraction-thread.ts';
import { indexingRules } from './indexing.policy.ts';

export type LoadedSource = { title: string; language: Language } & (
  | { source: Source }
  | { code: 'file_missing' | 'too_large' | 'no_text' | 'unsupported_type' }
);

interface Row {
  title: string | null;
  language: Language;
  content: string | null;
  objectKey: string | null;
  sizeBytes: string | null;
  mime: string | null;
  kind: MediaKind | null;
  /** The key of the subtitles in the object store. */
  trackKey: string | null;
  trackBytes: number | null;
}

/**
 * Loads the content of a source. Call it after the claim, so that the content is at least as new as the claimed version.
 * @throws the reason of the signal, if it ends the work; the errors of the store
 */
export async function loadSource(
  { db, storage }: { db: Queries; storage: Pick<ObjectStore, 'read'> },
  claim: Claim,
  signal: AbortSignal,
): Promise<LoadedSource | undefined> {
  const row = await db.one<Row>(
    sql`SELECT coalesce(lesson.title, file.title) AS title, club.language, lesson.content,
               ${columns(Media, ['objectKey', 'sizeBytes', 'mime', 'kind'], 'file')},
               track.object_key AS "trackKey", track.size_bytes AS "trackBytes"
          FROM agent_sources source
          JOIN clubs club ON club.id = source.club_id
          LEFT JOIN lessons lesson ON lesson.id = source.lesson_id
          LEFT JOIN media file ON file.id = source.media_id
          LEFT JOIN LATERAL (
            SELECT object_key, size_bytes FROM media_tracks WHERE media_id = file.id
             ORDER BY split_part(language, '-', 1) <> club.language, created_at, language LIMIT 1) AS track ON true
         WHERE source.id = ${claim.sourceId}`,
  );
  if (!row || row.title === null) return undefined; // a removed source has neither a lesson nor a file
  const { title, language } = row;
  if (row.content !== null) return { title, language, source: { kind: 'lesson', language, markdown: row.content } };
  if (row.trackKey !== null && row.trackBytes !== null) {
    const bytes = await fetchFile(storage, row.trackKey, row.trackBytes, signal);
    return bytes
      ? { title, language, source: { kind: 'subtitles', language, bytes } }
      : { title, language, code: 'file_missing' };
  }
  const size = Number(row.sizeBytes ?? 0);
  if (size > indexingRules.maxFileBytes) return { title, language, code: 'too_large' };
  if (row.objectKey === null) return { title, language, code: 'file_missing' };
  if (size === 0) return { title, language, code: 'no_text' };
  if (row.kind === 'video' || row.kind === 'audio') return { title, language, code: 'unsupported_type' };
  const bytes = await fetchFile(storage, row.objectKey, size, signal);
  if (!bytes) return { title, language, code: 'file_missing' };
  return { title, language, source: { kind: 'media', language, bytes, says: row.mime } };
}

async function fetchFile(
  storage: Pick<ObjectStore, 'read'>,
  key: string,
  size: number,
  signal: AbortSignal,
): Promise<Uint8Array | undefined> {
  const bytes = new Uint8Array(size);
  let length = 0;
  while (length < size) {
    signal.throwIfAborted();
    const piece = await storage.read(key, length, Math.min(indexingRules.pieceBytes, size - length));
    if (!piece) return undefined;
    if (piece.length === 0) throw new Error('The file in the store is shorter than its recorded size');
    bytes.set(piece, length);
    length += piece.length;
  }
  return bytes;
}
