/** Reads the content of a file from the store, in pieces or as a whole. If the store fails, the functions throw a separate error class. */
import { Readable } from 'node:stream';
import type { ObjectStore } from '../../../platform/infra/store/object-store.ts';

/** The store did not answer correctly. The fault is not in the file. */
export class StoreAway extends Error {
  override name = 'StoreAway';
}

export interface Contents {
  /** @returns the size in bytes; undefined if the file does not exist @throws StoreAway */
  size(): Promise<number | undefined>;
  /** @returns at most `length` bytes, beginning at `offset`; undefined if the file does not exist @throws StoreAway */
  read(offset: number, length: number): Promise<Buffer | undefined>;
  /** @returns undefined if the file does not exist; the iteration throws StoreAway if the connection breaks @throws StoreAway */
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
 * Reads a whole file into memory, for small files that are read several times.
 * @returns undefined if the file does not exist
 * @throws StoreAway
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

/** Turns any error of the store into StoreAway. Pass this function to `catch`. @throws StoreAway */
export function asAway(error: unknown): never {
  throw new StoreAway('The object store did not answer correctly', { cause: error });
}
