/**
 * Pictures of administrators (SES-3). Such a picture belongs to a person and not to a club. So it is no file of a library: the request
 * contains the bytes, and the service stores only the picture that it makes of them.
 */
import { Readable } from 'node:stream';
import { DomainError } from '../../../platform/core/errors.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { setOwnAvatar } from '../../identity/avatars.ts';
import { RefusalToPerson } from '../../language/refusal.ts';
import { recordLeftover } from '../erasure/leftovers.ts';
import { ownPicturesPrefix, type MediaDeps } from '../media.ts';
import { mediaRules } from '../media.policy.ts';
import { fileReaders, type FileReaders } from './readers.ts';
import { keptPictureBox, movingRules } from '../processing.policy.ts';

const ownAvatarRules = {
  /** The number of images that one process reads at the same time. Each needs a process and up to 200 MB of memory. */
  atOnce: 2,
  retryAfterSeconds: 5,
} as const;

let running = 0;

/**
 * Makes the picture, stores it, and replaces the earlier picture. The object is first recorded for erasure, and this record is deleted when
 * the row names the object. So if the process dies in between, maintenance erases the object. Readers of the earlier picture may still have
 * its address, so its object is erased later.
 * @param bytes the uploaded image
 * @throws DomainError invalid_image; busy (this process already reads other images)
 */
export async function putOwnAvatar(
  { db, storage }: MediaDeps,
  administratorId: Id,
  bytes: Buffer,
  now: Date,
  readers: Pick<FileReaders, 'identify' | 'shrinkImage'> = fileReaders,
): Promise<void> {
  const picture = await withPermit(() => pictureOf(bytes, readers));
  const key = `${ownPicturesPrefix(administratorId)}${newId()}`;
  await db.transaction((tx) =>
    recordLeftover(tx, { clubId: null, key, erasesAt: new Date(now.getTime() + mediaRules.completionMs) }),
  );
  await storage.put(key, picture.type, Readable.from([picture.bytes]));
  await db.transaction(async (tx) => {
    await replaceKey(tx, administratorId, key, now);
    await tx.run(sql`DELETE FROM leftover_objects WHERE object_key = ${key}`);
  });
}

/** Removes the picture, if there is one. */
export async function deleteOwnAvatar({ db }: Pick<MediaDeps, 'db'>, administratorId: Id, now: Date): Promise<void> {
  await db.transaction((tx) => replaceKey(tx, administratorId, null, now));
}

/** Removes the picture of an erased account. Its object is erased immediately, although readers may still have its address (ERS-44). */
export async function eraseOwnAvatar(tx: Transaction, administratorId: Id, now: Date): Promise<void> {
  const key = await setOwnAvatar(tx, administratorId, null);
  if (key !== null) await recordLeftover(tx, { clubId: null, key, erasesAt: now });
}

async function replaceKey(tx: Transaction, administratorId: Id, key: string | null, now: Date): Promise<void> {
  const before = await setOwnAvatar(tx, administratorId, key);
  if (before === null) return;
  const erasesAt = new Date(now.getTime() + movingRules.readableMs.private);
  await recordLeftover(tx, { clubId: null, key: before, erasesAt });
}

/** @throws DomainError invalid_image */
async function pictureOf(bytes: Buffer, { identify, shrinkImage }: Pick<FileReaders, 'identify' | 'shrinkImage'>) {
  const contents = { read: async (offset: number, length: number) => bytes.subarray(offset, offset + length) };
  const file = { purpose: 'avatar', mime: 'image/*', sizeBytes: String(bytes.length) } as const;
  const finding = await identify(contents, file, { signal: new AbortController().signal });
  if (!finding || 'error' in finding) throw invalidImage();
  const box = keptPictureBox('avatar');
  if (!box) throw new Error('There is no size for pictures of people.');
  const [picture] = (await shrinkImage(bytes, [box])) ?? [];
  if (!picture) throw invalidImage();
  return picture;
}

const invalidImage = () =>
  new DomainError('invalid_image', 'The body must be a complete PNG, JPEG, GIF or WEBP with at most 50 megapixels.');

async function withPermit<T>(work: () => Promise<T>): Promise<T> {
  const { atOnce, retryAfterSeconds } = ownAvatarRules;
  if (running >= atOnce) throw new RefusalToPerson('busy', 'refusal.busy', { retryAfterSeconds });
  running += 1;
  try {
    return await work();
  } finally {
    running -= 1;
  }
}
