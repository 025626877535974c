/** What the store holds of a file, read in pieces or in one go; that the store is away is told apart from every other fault. */
import { Readable } from 'node:stream';
import type { ObjectStore } from '../../../platform/infra/store/object-store.ts';

/** The store did not answer as it should: no file is at fault. */
export class StoreAway extends Error {
  override name = 'StoreAway';
}

export interface Contents {
  /** @returns in bytes; undefined where the file is gone @throws StoreAway */
  size(): Promise<number | undefined>;
  /** @returns at most `length` bytes from `offset` on; undefined where the file is gone @throws StoreAway */
  read(offset: number, length: number): Promise<Buffer | undefined>;
  /** @returns undefined where the file is gone; the bytes throw StoreAway where they break off @throws StoreAway */
  stream(signal: AbortSignal): Promise<AsyncIterable<Buffer> | undefined>;
}

export function contentsOf(storage: Pick<ObjectStore, 'size' | 'read' | 'stream'>, key: string): Contents {
  return {
    size: () => storage.size(key).catch(asAway),
    read: (offset, length) => storage.read(key, offset, length).catch(asAway),
    async stream(signal) {
      const bytes = await storage.stream(key, signal).catch(asAway);
      return bytes && throughAway(bytes, signal);
    },
  };
}

/**
 * For files that are small enough for memory, and are read several times.
 * @returns undefined where the file is gone @throws StoreAway
 */
export async function inMemory(contents: Contents, sizeBytes: number): Promise<Contents | undefined> {
  const whole = await contents.read(0, sizeBytes);
  return (
    whole && {
      size: () => contents.size(),
      read: async (offset, length) => whole.subarray(offset, offset + length),
      stream: async () => Readable.from([whole]),
    }
  );
}

async function* throughAway(bytes: AsyncIterable<Buffer>, signal: AbortSignal): AsyncGenerator<Buffer> {
  try {
    yield* bytes;
  } catch (error) {
    signal.throwIfAborted();
    asAway(error);
  }
}

/** For `catch`. @throws StoreAway */
export function asAway(error: unknown): never {
  throw new StoreAway('The store is away', { cause: error });
}
