/** Runs the erasure of files in tests, also with broken and slow stores, and reads what remains of a file. */
import type { Id } from '../../../platform/core/ids.ts';
import { requireOwnImages } from '../../../domain/media/purposes/agent-images.ts';
import { completeMedia } from '../../../domain/media/uploads/completion.ts';
import { eraseDue } from '../../../domain/media/erasure/erasure.ts';
import type { LibraryDeps, MediaDeps } from '../../../domain/media/media.ts';
import type { TestStudent } from '../builders/clubs.ts';
import { testDatabase } from '../stack/database.ts';
import { processedFile } from './processing.ts';
import { filesOf, mediaDeps, reserve, send, type Reserved, type TestFile, type Uploader } from './media.ts';

/** Does not complete the upload. */
export async function uploadBytes(uploader: Uploader, file: TestFile): Promise<Reserved> {
  const reserved = await reserve(uploader, file);
  await send(reserved.upload, file.bytes);
  return reserved;
}

export async function eraseAll(now: Date, deps?: MediaDeps): Promise<void> {
  const from = deps ?? (await mediaDeps());
  while ((await eraseDue(from, now)).more);
}

/** A store that fails to erase these files. @param name the suffix of the files' keys, or the club in the keys */
export const withoutErasing = (name: Id): Promise<LibraryDeps> =>
  mediaDeps((storage) => ({
    remove: (key) => (key.includes(name) ? Promise.reject(new Error('The store is away')) : storage.remove(key)),
  }));

/** A store that reads the size of a file, calls `meanwhile`, and then returns the size. */
export const whileLookedAt = (meanwhile: () => Promise<unknown>): Promise<LibraryDeps> =>
  mediaDeps((storage) => ({
    async size(key) {
      const size = await storage.size(key);
      await meanwhile();
      return size;
    },
  }));

export const beforeErasing = (mediaId: Id, meanwhile: () => Promise<unknown>): Promise<LibraryDeps> =>
  mediaDeps((storage) => ({
    async remove(key) {
      if (key.endsWith(mediaId)) await meanwhile();
      await storage.remove(key);
    },
  }));

/** Completes an upload and processes the file as a worker does. @returns the record's status and error, or the code of the refusal */
export async function completed(
  owner: { clubId: Id; studentId?: Id },
  mediaId: Id,
  { deps, at = new Date() }: { deps?: MediaDeps; at?: Date } = {},
): Promise<string> {
  const completion = { ...(deps ?? (await mediaDeps())), watchMs: 0 };
  const complete = () => completeMedia(completion, owner, mediaId, at);
  const processed = async (): ReturnType<typeof complete> => {
    const record = await complete();
    if (record.status !== 'processing') return record;
    await processedFile(mediaId, { deps: completion, at });
    return complete();
  };
  return processed().then(
    ({ status, error }) => [status, error].filter(Boolean).join(' '),
    (error: Error & { code?: string }) => error.code ?? error.message,
  );
}

/** @returns 'shown', or the code of the refusal */
export async function showing(clubId: Id, student: TestStudent, ...imageIds: Id[]): Promise<string> {
  const { db } = await mediaDeps();
  const naming = { clubId, studentId: student.id, imageIds };
  return db
    .transaction((tx) => requireOwnImages(tx, naming))
    .then(
      () => 'shown',
      (error: Error & { code?: string }) => error.code ?? error.message,
    );
}

/** Summarizes the row of a file: its status, its error, and whether it has a key and an erasure time. */
export async function mediaState(id: Id): Promise<string> {
  const source = await testDatabase();
  const [row] = await source.query<{ text: string }[]>(
    `SELECT concat_ws(' ', status, error, CASE WHEN removed_at IS NOT NULL THEN 'removed' END,
                    CASE WHEN object_key IS NOT NULL THEN 'key' END, CASE WHEN erases_at IS NOT NULL THEN 'due' END) AS text
       FROM media WHERE id = $1`,
    [id],
  );
  return row?.text ?? 'no row';
}

export const leftOf = async (club: { id: Id }, mediaId: Id): Promise<[string, Id[]]> => [
  await mediaState(mediaId),
  await filesOf(club),
];
