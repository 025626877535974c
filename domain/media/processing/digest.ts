/** Computes the checksums of a whole file in one pass. */
import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Contents } from './contents.ts';

export interface Digest {
  sizeBytes: number;
  sha256: Buffer;
  /** Unsigned. */
  crc32: number;
}

/**
 * @param file.sizeBytes the size that the content must have
 * @throws StoreAway; Error if the store has no content, or if the content has a different size
 */
export async function digestWhole(
  contents: Pick<Contents, 'stream'>,
  { sizeBytes }: { sizeBytes: string | number | null },
  signal: AbortSignal,
): Promise<Digest> {
  const bytes = await contents.stream(signal);
  if (!bytes) throw new Error('The object of an uploaded file is missing in the store');
  const digest = await digestOf(bytes);
  if (digest.sizeBytes !== Number(sizeBytes)) throw anotherSize();
  return digest;
}

/** A content of another size is a defect, and not an outage of the store, so the number of tries is limited. */
export const anotherSize = () => new Error('The size of the object in the store has changed since the upload');

/** @throws any error of the iteration */
async function digestOf(bytes: AsyncIterable<Buffer>): Promise<Digest> {
  const hash = createHash('sha256');
  let [sizeBytes, crc] = [0, 0];
  for await (const piece of bytes) {
    hash.update(piece);
    crc = crc32(piece, crc);
    sizeBytes += piece.length;
  }
  return { sizeBytes, sha256: hash.digest(), crc32: crc };
}
