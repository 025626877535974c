/** Makes public copies of the images of an e-mail. A club that sends the e-mail agrees to publish its images (CAMP-10). */
import { Readable } from 'node:stream';
import { In, IsNull } from 'typeorm';
import { Media } from '../../../entities/media/media.ts';
import { MediaRendition } from '../../../entities/media/media-rendition.ts';
import type { MailPictureProblem } from '../../../entities/media/values.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { makeMailPicture } from '../../../platform/infra/images/mail-picture.ts';
import { mailPicturePrefix, type ObjectStore } from '../../../platform/infra/store/object-store.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';
import { renditionVersion } from '../../media/processing.policy.ts';
import { setUses, type UsingRecord } from '../../media/uses/uses.ts';
import type { CompiledEmail, ImageWidths } from '../../mail/content/compile.ts';
import type { EmailContent } from '../../mail/content/email-content.ts';
import type { EmailToJudge } from '../../mail/content/email-thread.ts';

export interface ImageDeps {
  db: Queries;
  vault: Vault;
  /** The store of the private files, which need a signed URL. */
  storage: Pick<ObjectStore, 'read'>;
  /** The store of the public files. */
  publicStorage: Pick<ObjectStore, 'put'>;
  /** The URL under which the public files can be read, without a slash at the end. */
  publicFilesUrl: string;
}

/** Only files of the library may become public: no pictures of students, and no file that was removed after the club chose it. */
const libraryImage = {
  purpose: 'library',
  provider: 'objstore',
  kind: 'image',
  status: 'ready',
  removedAt: IsNull(),
} as const;

/**
 * Records the images of a draft's e-mail as uses of the draft (MED-14). A draft may name a deleted file or a file that is not an image; the
 * draft's problems report it. The caller holds the lock of the draft, and has not locked the club's row yet.
 * @throws DomainError media_archived (an archived image that the draft did not name before)
 */
export async function setImagesOf(
  tx: Transaction,
  clubId: Id,
  user: UsingRecord,
  emails: readonly (Partial<Pick<EmailContent, 'blocks'>> | undefined)[],
  options: { from?: UsingRecord } = {},
): Promise<void> {
  const mediaIds = emails.flatMap((email) => (email?.blocks ?? []).flatMap(({ media_id: id }) => id ?? []));
  await setUses(tx, clubId, user, mediaIds, { ...options, mayBeGone: mediaIds });
}

export interface LibraryImage {
  id: Id;
  objectKey: string;
  mime: string;
  sizeBytes: number;
  /** In pixels; null if it is unknown. */
  width: number | null;
  /** The reason why there can be no picture for e-mails. Null without a problem. */
  problem: MailPictureProblem | null;
  /** The picture for e-mails. Absent if the image has no such picture, or if the image was last processed before such pictures existed. */
  picture?: Pick<MediaRendition, 'objectKey' | 'mime' | 'width' | 'standsStill'> & { sizeBytes: number };
}

/** The images by id. A key is spelled as in the e-mail, in capital or small letters. */
export type LibraryImages = ReadonlyMap<Id, LibraryImage>;

/** @returns the ready images of the club's library among these ids */
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

export function judgedImages(library: LibraryImages): Pick<EmailToJudge, 'images' | 'imageProblems'> {
  return {
    images: [...library.keys()],
    imageProblems: Object.fromEntries(
      [...library].flatMap(([mediaId, { problem }]) => (problem === null ? [] : [[mediaId, problem]])),
    ),
  };
}

export const imageIdsOf = ({ blocks = [] }: Partial<Pick<EmailContent, 'blocks'>>): Id[] => [
  ...new Set(blocks.flatMap(({ media_id: id }) => id ?? [])),
];

/** A public picture. */
interface PublishedImage {
  url: string;
  /** In pixels. */
  width: number;
}

/**
 * Publishes copies of the images under names that cannot be guessed. A second call gives the same names.
 * @param cause the id of the campaign whose recipients are being frozen, or of the version that is being published
 * @returns the copies by id; undefined if an image was deleted or cannot be converted to a picture. The list of the e-mail's problems
 * reports such an image
 */
export async function publishImages(
  deps: ImageDeps,
  cause: Id,
  clubId: Id,
  mediaIds: readonly Id[],
): Promise<PublishedImages | undefined> {
  const library = await findImages(deps.db, clubId, mediaIds);
  const published = new Map<Id, PublishedImage>();
  for (const mediaId of mediaIds) {
    const image = library.get(mediaId);
    const picture = image && (await pictureOf(deps, image));
    if (!picture) return undefined;
    const { bytes, type, width } = picture;
    const name = pictureNameOf(deps.vault, cause, mediaId);
    const key = `${mailPicturePrefix}${clubId}/${name}.${extensions.get(type) ?? 'jpg'}`;
    await deps.publicStorage.put(key, type, Readable.from([bytes]));
    published.set(mediaId, { url: `${deps.publicFilesUrl}/${key}`, width });
  }
  return published;
}

/**
 * @param cause the id of the campaign or of the version
 * @param mediaId as the e-mail spells it
 * @param keyId the current master key if absent
 * @returns the name of the copy, without the ending. Only the service can derive it
 */
export const pictureNameOf = (vault: Pick<Vault, 'derive'>, cause: Id, mediaId: Id, keyId?: Buffer): string =>
  vault.derive(`mail image:${cause}:${mediaId}`, keyId).toString('hex');

type PublishedImages = ReadonlyMap<Id, PublishedImage>;

export const widthsOf = (images: ReadonlyMap<Id, { width: number }>): ImageWidths =>
  Object.fromEntries([...images].map(([mediaId, { width }]) => [mediaId, width]));

/** @returns the e-mail with the URLs of the images instead of their ids */
export const withAddresses = (email: CompiledEmail, images: PublishedImages): CompiledEmail => ({
  ...email,
  images: email.images.map((mediaId) => images.get(mediaId)?.url ?? ''),
});

const extensions: ReadonlyMap<string, string> = new Map([
  ['image/png', 'png'],
  ['image/gif', 'gif'],
]);

/**
 * Reads the picture that was created when the image was processed. For an older image without this picture, the function creates the
 * picture now, or records why the image cannot be converted.
 * @returns undefined if the image cannot be converted
 */
async function pictureOf(
  { db, storage }: ImageDeps,
  { id, objectKey, sizeBytes, problem, picture }: LibraryImage,
): Promise<{ bytes: Buffer; type: string; width: number } | undefined> {
  if (problem !== null) return undefined;
  const pictureBytes = picture && (await storage.read(picture.objectKey, 0, picture.sizeBytes));
  if (pictureBytes) return { bytes: pictureBytes, type: picture.mime, width: picture.width };
  const original = await storage.read(objectKey, 0, sizeBytes);
  const result = original ? await makeMailPicture(original) : 'image_unreadable';
  if (typeof result !== 'string') return result;
  await db.run(sql`UPDATE media SET mail_picture = ${result} WHERE id = ${id} AND object_key = ${objectKey}`);
  return undefined;
}
