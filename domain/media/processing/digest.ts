/** The checksums of a whole file, in one pass. */
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
 * @param file.sizeBytes that the content must have
 * @throws StoreAway, and Error where the store has another content or none
 */
export async function digestWhole(
  contents: Pick<Contents, 'stream'>,
  { sizeBytes }: { sizeBytes: string | number | null },
  signal: AbortSignal,
): Promise<Digest> {
  const bytes = await contents.stream(signal);
  if (!bytes) throw new Error('A file that has arrived is not in the store');
  const digest = await digestOf(bytes);
  if (digest.sizeBytes !== Number(sizeBytes)) throw anotherSize();
  return digest;
}

/** A store that answers, and has another file, is not away: it is a fault that ends after some tries. */
export const anotherSize = () => new Error('The store has another number of bytes than when the file arrived');

/** @throws whatever the bytes throw */
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
