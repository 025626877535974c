/** Pictures that students show agents, for questions and answers: which may be used, what is in them, how they are presented. */
import { AgentQuestionImage } from '../../entities/agents/agent-question-image.ts';
import type { RecordOf } from '../../contract/contract.ts';
import type { Transaction, Queries } from '../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../platform/infra/postgres/sql.ts';
import { DomainError } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { ObjectStore } from '../../platform/infra/object-store.ts';
import { isImageType, type ImageType } from './media.policy.ts';
import { mediaColumns, presentMedia, type StoredMedia } from './media.ts';
import { RefusalToPerson } from '../language/refusal.ts';

/**
 * The images that a question names, which are not erased as unused any more. The student is held by the caller: nobody else
 * removes images of theirs, but what erases unused ones; it finds here that one is used, or was first.
 * @returns them in the order in which they are named
 * @throws DomainError invalid_image: one is unknown, not ready, removed, a file of the library, somebody else's, or named twice
 */
export async function requireOwnImages(
  tx: Transaction,
  { clubId, studentId, imageIds }: { clubId: Id; studentId: Id; imageIds: readonly Id[] },
): Promise<StoredMedia[]> {
  if (imageIds.length === 0) return [];
  const asked = imageIds.map((id) => id.toLowerCase());
  if (new Set(asked).size < asked.length) throw new DomainError('invalid_image', 'image_ids names an image twice.');
  const usable = sql`media.club_id = ${clubId} AND media.owner_id = ${studentId} AND media.purpose = 'agent_image'
    AND media.status = 'ready' AND media.removed_at IS NULL`;
  await tx.run(sql`
    UPDATE media SET erases_at = NULL WHERE id = ANY (${asked}::uuid[]) AND ${usable} AND erases_at IS NOT NULL`);
  const rows = await tx.rows<StoredMedia>(sql`
    SELECT ${mediaColumns} FROM unnest(${asked}::uuid[]) WITH ORDINALITY AS asked (id, place) JOIN media USING (id)
     WHERE ${usable} ORDER BY asked.place`);
  if (rows.length < asked.length)
    throw new RefusalToPerson('invalid_image', 'refusal.image_not_ready', {
      technical: 'image_ids names an image that is not yours, or not ready.',
    });
  return rows;
}

const shownColumns = columns(AgentQuestionImage, ['questionId'], 'shown');
const imagesOf = sql`agent_question_images shown JOIN media ON media.id = shown.media_id AND media.removed_at IS NULL`;

/** For AgentMessage.images. @returns the images of each question in their order; a question without any is not in it */
export async function presentImages(
  db: Queries,
  storage: ObjectStore,
  questionIds: readonly Id[],
): Promise<Map<Id, RecordOf<'Media'>[]>> {
  const rows = await db.rows<
    StoredMedia & { questionId: Id }
  >(sql`SELECT ${mediaColumns.and(shownColumns)} FROM ${imagesOf}
      WHERE shown.question_id = ANY (${questionIds}::uuid[]) ORDER BY shown.question_id, shown.position`);
  const images = new Map<Id, RecordOf<'Media'>[]>();
  for (const row of rows)
    images.set(row.questionId, [...(images.get(row.questionId) ?? []), await presentMedia(row, storage)]);
  return images;
}

/**
 * What the model is shown of a question. Reads from the store, so not for inside a transaction.
 * @returns its images in their order, without those of a student who was removed meanwhile
 * @throws Error where a file that is ready is not there
 */
export async function readImages(
  storage: ObjectStore,
  db: Queries,
  questionId: Id,
): Promise<{ mediaType: ImageType; bytes: Buffer }[]> {
  const rows = await db.rows<StoredMedia>(
    sql`SELECT ${mediaColumns} FROM ${imagesOf} WHERE shown.question_id = ${questionId} ORDER BY shown.position`,
  );
  const images: { mediaType: ImageType; bytes: Buffer }[] = [];
  for (const { objectKey, renditions, mime, sizeBytes } of rows) {
    const key = renditions?.preview?.key ?? objectKey; // those from before are kept as they were uploaded
    const bytes = key === null ? undefined : await storage.read(key, 0, Number(sizeBytes));
    if (!bytes || mime === null || !isImageType(mime)) throw new Error('An image that is ready is not in the store');
    images.push({ mediaType: mime, bytes });
  }
  return images;
}
