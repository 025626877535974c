/** Copies of the images of an e-mail that everybody may fetch: sending it is the choice to publish them (CAMP-10). */
import { Readable } from 'node:stream';
import { In, IsNull } from 'typeorm';
import { Media } from '../../entities/media/media.ts';
import type { Id } from '../../platform/core/ids.ts';
import { shrinkImage } from '../../platform/infra/images/shrink.ts';
import type { ObjectStore } from '../../platform/infra/object-store.ts';
import type { Queries, Transaction } from '../../platform/infra/postgres/database.ts';
import type { Vault } from '../../platform/infra/vault.ts';
import { setUses, type MediaPlace } from '../media/uses.ts';
import type { EmailContent } from '../mail/content/email-content.ts';

export interface ImageDeps {
  db: Queries;
  vault: Vault;
  /** Files that only signed addresses open. */
  storage: Pick<ObjectStore, 'read'>;
  /** Files that everybody may read. */
  publicStorage: Pick<ObjectStore, 'put'>;
  /** Where the public files are, without a slash at the end. */
  publicFilesUrl: string;
}

/** Of an image in an e-mail, in pixels. */
const widest = 1_200;

/** Nothing else becomes public: no student's picture, and nothing that was removed since it was chosen. */
export const libraryImage = {
  purpose: 'library',
  provider: 'objstore',
  kind: 'image',
  status: 'ready',
  removedAt: IsNull(),
} as const;

/**
 * Makes the images that e-mails of a draft name the files that it uses (MED-14). Drafts may name what is no image, or gone: their
 * problems say so. The caller holds the draft, and has not locked the club's row yet.
 * @throws DomainError media_archived (an archived image that the draft did not name before)
 */
export async function setImagesOf(
  tx: Transaction,
  clubId: Id,
  place: MediaPlace,
  emails: readonly (Partial<Pick<EmailContent, 'blocks'>> | undefined)[],
  options: { from?: MediaPlace } = {},
): Promise<void> {
  const named = emails.flatMap((email) => (email?.blocks ?? []).flatMap(({ media_id: id }) => id ?? []));
  await setUses(tx, clubId, place, named, { ...options, mayBeGone: named });
}

/** @returns which of these are ready images of the club's library */
export async function readyImages(db: Queries, clubId: Id, mediaIds: readonly Id[]): Promise<Id[]> {
  if (mediaIds.length === 0) return [];
  const found = await db.manager.find(Media, {
    select: { id: true },
    where: { id: In([...mediaIds]), clubId, ...libraryImage },
  });
  return found.map(({ id }) => id);
}

/**
 * Publishes copies under names that nobody can guess. Repeating it writes the same copies to the same places.
 * @param cause the campaign that is frozen, or the version that is published
 * @returns their addresses, in the order of the ids; undefined where one is gone or cannot be read
 */
export async function publishImages(
  deps: ImageDeps,
  cause: Id,
  clubId: Id,
  mediaIds: readonly Id[],
): Promise<string[] | undefined> {
  const urls: string[] = [];
  for (const mediaId of mediaIds) {
    const media = await deps.db.manager.findOneBy(Media, { id: mediaId, clubId, ...libraryImage });
    if (!media?.objectKey) return undefined;
    const original = await deps.storage.read(media.objectKey, 0, Number(media.sizeBytes));
    const [small] = (original && (await shrinkImage(original, [{ width: widest }]))) ?? [];
    if (!small) return undefined;
    const name = deps.vault.derive(`mail image:${cause}:${mediaId}`).toString('hex');
    const key = `mail/${name}.${small.type === 'image/png' ? 'png' : 'jpg'}`;
    await deps.publicStorage.put(key, small.type, Readable.from([small.bytes]));
    urls.push(`${deps.publicFilesUrl}/${key}`);
  }
  return urls;
}
