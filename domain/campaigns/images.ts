/** Copies of the images of an e-mail that everybody may fetch: sending it is the choice to publish them (CAMP-10). */
import { Readable } from 'node:stream';
import { In, IsNull } from 'typeorm';
import { Media } from '../../entities/media/media.ts';
import { MediaRendition } from '../../entities/media/media-rendition.ts';
import type { MailPictureProblem } from '../../entities/media/values.ts';
import type { Id } from '../../platform/core/ids.ts';
import { makeMailPicture } from '../../platform/infra/images/mail-picture.ts';
import type { ObjectStore } from '../../platform/infra/object-store.ts';
import type { Queries, Transaction } from '../../platform/infra/postgres/database.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import type { Vault } from '../../platform/infra/vault.ts';
import { renditionVersion } from '../media/media.policy.ts';
import { setUses, type MediaPlace } from '../media/uses.ts';
import type { CompiledEmail, ImageWidths } from '../mail/content/compile.ts';
import type { EmailContent } from '../mail/content/email-content.ts';
import type { EmailToJudge } from '../mail/content/email-thread.ts';

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

/** Nothing else becomes public: no student's picture, and nothing that was removed since it was chosen. */
const libraryImage = {
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

/** An image of the library, as far as e-mails need it. */
export interface LibraryImage {
  id: Id;
  objectKey: string;
  mime: string;
  sizeBytes: number;
  /** Of the original, in pixels; null where it is not known. */
  width: number | null;
  /** Why no picture for e-mails can be made of it. */
  problem: MailPictureProblem | null;
  /** The picture for e-mails; absent where there is none, and for an image from before that is not processed yet. */
  picture?: Pick<MediaRendition, 'objectKey' | 'mime' | 'width' | 'standsStill'> & { sizeBytes: number };
}

/** By the ids of an e-mail, in any case. */
export type LibraryImages = ReadonlyMap<Id, LibraryImage>;

/** @returns those of these that are ready images of the club's library */
export async function findImages(db: Queries, clubId: Id, mediaIds: readonly Id[]): Promise<LibraryImages> {
  if (mediaIds.length === 0) return new Map();
  const files = await db.manager.find(Media, { where: { id: In([...mediaIds]), clubId, ...libraryImage } });
  const pictures = await db.manager.find(MediaRendition, {
    where: { mediaId: In(files.map(({ id }) => id)), version: renditionVersion, role: 'mail' },
  });
  const pictureById = new Map(
    pictures.map(({ mediaId, sizeBytes, ...picture }) => [mediaId, { ...picture, sizeBytes: Number(sizeBytes) }]),
  );
  const images = new Map(
    files.flatMap(({ id, objectKey, mime, sizeBytes, width, mailPicture }): [Id, LibraryImage][] => {
      if (objectKey === null) return [];
      const problem = mailPicture === 'made' ? null : mailPicture;
      const picture = pictureById.get(id);
      const image = { id, objectKey, mime: mime ?? '', sizeBytes: Number(sizeBytes), width, problem };
      return [[id, { ...image, ...(picture && { picture }) }]];
    }),
  );
  return new Map(
    mediaIds.flatMap((mediaId) => {
      const image = images.get(mediaId.toLowerCase());
      return image ? [[mediaId, image] as const] : [];
    }),
  );
}

/** @returns what the judgement of an e-mail asks of its images */
export function judgedImages(found: LibraryImages): Pick<EmailToJudge, 'images' | 'imageProblems'> {
  return {
    images: [...found.keys()],
    imageProblems: Object.fromEntries(
      [...found].flatMap(([mediaId, { problem }]) => (problem === null ? [] : [[mediaId, problem]])),
    ),
  };
}

/** @returns the ids of the images of an e-mail, each once */
export const imageIdsOf = ({ blocks = [] }: Partial<Pick<EmailContent, 'blocks'>>): Id[] => [
  ...new Set(blocks.flatMap(({ media_id: id }) => id ?? [])),
];

/** A picture that everybody may fetch. */
interface PublishedImage {
  url: string;
  /** In pixels. */
  width: number;
}

/**
 * Publishes copies under names that nobody can guess. Repeating it writes the same copies to the same places.
 * @param cause the campaign that is frozen, or the version that is published
 * @returns the copies, by the ids; undefined where one is gone, or no picture can be made of it: the problems of the e-mail say so then
 */
export async function publishImages(
  deps: ImageDeps,
  cause: Id,
  clubId: Id,
  mediaIds: readonly Id[],
): Promise<PublishedImages | undefined> {
  const found = await findImages(deps.db, clubId, mediaIds);
  const published = new Map<Id, PublishedImage>();
  for (const mediaId of mediaIds) {
    const image = found.get(mediaId);
    const picture = image && (await pictureOf(deps, image));
    if (!picture) return undefined;
    const { bytes, type, width } = picture;
    const name = deps.vault.derive(`mail image:${cause}:${mediaId}`).toString('hex');
    const key = `mail/${name}.${extensions.get(type) ?? 'jpg'}`;
    await deps.publicStorage.put(key, type, Readable.from([bytes]));
    published.set(mediaId, { url: `${deps.publicFilesUrl}/${key}`, width });
  }
  return published;
}

type PublishedImages = ReadonlyMap<Id, PublishedImage>;

/** @returns their widths, for the compiler */
export const widthsOf = (images: ReadonlyMap<Id, { width: number }>): ImageWidths =>
  Object.fromEntries([...images].map(([mediaId, { width }]) => [mediaId, width]));

/** @returns the e-mail with the addresses of its images in the place of their ids */
export const withAddresses = (email: CompiledEmail, images: PublishedImages): CompiledEmail => ({
  ...email,
  images: email.images.map((mediaId) => images.get(mediaId)?.url ?? ''),
});

const extensions: ReadonlyMap<string, string> = new Map([
  ['image/png', 'png'],
  ['image/gif', 'gif'],
]);

/**
 * The picture that was made when the image was processed. Of an image from before it is made now; if that fails, the row says why.
 * @returns undefined where none can be made
 */
async function pictureOf(
  { db, storage }: ImageDeps,
  { id, objectKey, sizeBytes, problem, picture }: LibraryImage,
): Promise<{ bytes: Buffer; type: string; width: number } | undefined> {
  if (problem !== null) return undefined;
  const stored = picture && (await storage.read(picture.objectKey, 0, picture.sizeBytes));
  if (stored) return { bytes: stored, type: picture.mime, width: picture.width };
  const original = await storage.read(objectKey, 0, sizeBytes);
  const made = original ? await makeMailPicture(original) : 'image_unreadable';
  if (typeof made !== 'string') return made;
  await db.run(sql`UPDATE media SET mail_picture = ${made} WHERE id = ${id} AND object_key = ${objectKey}`);
  return undefined;
}
