/** The checksums of a whole file, in one pass. */
import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';

export interface Digest {
  sizeBytes: number;
  sha256: Buffer;
  /** Unsigned. */
  crc32: number;
}

/** @throws whatever the bytes throw */
export async function digestOf(bytes: AsyncIterable<Buffer>): Promise<Digest> {
  const hash = createHash('sha256');
  let [sizeBytes, crc] = [0, 0];
  for await (const piece of bytes) {
    hash.update(piece);
    crc = crc32(piece, crc);
    sizeBytes += piece.length;
  }
  return { sizeBytes, sha256: hash.digest(), crc32: crc };
}
