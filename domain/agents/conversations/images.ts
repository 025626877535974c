/** Handles the images that students add to their questions: presents them in the API, reads them for the model, and removes them. */
import { AgentQuestionImage } from '../../../entities/agents/agent-question-image.ts';
import type { RecordOf } from '../../../contract/contract.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { ObjectStore } from '../../../platform/infra/store/object-store.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../../platform/infra/postgres/sql.ts';
import { removeFiles } from '../../media/erasure/erasure.ts';
import { isImageType, type ImageType } from '../../media/media.policy.ts';
import { mediaColumns, presentMedia, type StoredMedia } from '../../media/media.ts';

const shownColumns = columns(AgentQuestionImage, ['questionId'], 'shown');
const imagesOf = sql`agent_question_images shown JOIN media ON media.id = shown.media_id AND media.removed_at IS NULL`;

/** Returns the images of each question, in order, for `AgentMessage.images`. A question without images has no entry. */
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
 * Reads the images of a question for the model. Reads from the object store, so it must not run in a transaction.
 * @returns the images in their order; an empty list for a removed student
 * @throws Error if the store lacks a ready file
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
    const key = renditions?.preview?.key ?? objectKey; // images of earlier releases are stored as students uploaded them
    const bytes = key === null ? undefined : await storage.read(key, 0, Number(sizeBytes));
    if (!bytes || mime === null || !isImageType(mime)) throw new Error('The store lacks an image that is ready');
    images.push({ mediaType: mime, bytes });
  }
  return images;
}

/** Removes the images of deleted conversations. The caller holds the lock of the student's row. Upkeep erases the files. */
export async function removeImagesOf(tx: Transaction, conversationIds: readonly Id[], now: Date): Promise<void> {
  // The first statement finds the ids of the images. So the second statement can find each image by an index, even in a table with many
  // images.
  const images = await tx.rows<{ id: Id }>(sql`SELECT DISTINCT image.media_id AS id
       FROM agent_questions question JOIN agent_question_images image ON image.question_id = question.id
      WHERE question.conversation_id = ANY (${conversationIds}::uuid[])`);
  if (images.length === 0) return;
  const unshown = sql`SELECT shown.id FROM unnest(${images.map(({ id }) => id)}::uuid[]) AS shown (id) WHERE NOT EXISTS (
       SELECT FROM agent_question_images image JOIN agent_questions question ON question.id = image.question_id
         JOIN agent_conversations conversation ON conversation.id = question.conversation_id
        WHERE image.media_id = shown.id AND conversation.deleted_at IS NULL)`;
  await removeFiles(tx, unshown, now);
}
