/**
 * An object store without a network. Each request is a step of the schedule. The store may refuse a request, or lose the answer to a
 * request. The store may also execute a request late, after its caller has given up or died.
 */
import type { Readable } from 'node:stream';
import type { Id } from '../../../../platform/core/ids.ts';
import { keyPrefix, type ObjectStore } from '../../../../platform/infra/store/object-store.ts';
import type { Simulation } from '../simulation.ts';
import { mustHold, type Command } from '../stage.ts';
import type { SimulatedProcess } from '../simulated-process.ts';

type Mood = 'answers' | 'is slow' | 'is away';

export interface SimulatedStore {
  readonly storage: ObjectStore;
  readonly objects: ReadonlyMap<string, Buffer>;
  /** Stores an object before the schedule begins, so that this is no step of the schedule. */
  place(key: string, content: Buffer): void;
  /** Stores an object like `put`. The body must arrive before this time in Unix milliseconds. */
  putUntil(until: number, key: string, body: Readable): Promise<void>;
  /**
   * Uploads to a signed URL, which works until a time in Unix milliseconds and accepts only one file. The upload does not replace an
   * existing object.
   */
  upload(until: number, key: string, body: Readable): Promise<void>;
  turn(next: Mood): Command;
}

/** The delays of late requests, in milliseconds. The delays are shorter than the time after which leftovers are erased (MED-27). */
const usualLatenessMs: readonly number[] = [2_000, 60_000, 20 * 60_000];
/** This duration is longer than a lease that is not renewed. */
const slowMs = 15_000;

/** @param latenessMs the delays of late requests, in milliseconds */
export function simulatedStore(sim: Simulation, latenessMs = usualLatenessMs): SimulatedStore {
  const objects = new Map<string, Buffer>();
  const server: SimulatedProcess = { name: 'store', alive: true, standsUntil: 0, skewMs: 0 };
  const isUnreliable = sim.decisions.happens(2);
  let mood: Mood = sim.decisions.happens(3) ? 'is slow' : 'answers';

  async function ask<T>(label: string, act: () => T, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    const answer = await sim.outside(label, () => {
      if (mood === 'is away') return away();
      const fault = isUnreliable && sim.turbulent ? sim.decisions.choose(24) : 0;
      if (fault === 21) return away();
      if (fault === 23) {
        sim.time.after(sim.decisions.pick(latenessMs), { process: server }, act);
        return away();
      }
      const result = act();
      return fault === 22 ? away() : { result };
    });
    if (mood === 'is slow') await slowly(signal);
    signal?.throwIfAborted();
    if ('error' in answer) throw answer.error;
    return answer.result;
  }

  async function putUntil(until: number, key: string, body: Readable): Promise<void> {
    const content = await bytesOf(body);
    await ask(`PUT ${key}`, () => {
      if (sim.time.now > until) throw away().error;
      objects.set(key, content);
    });
  }

  async function upload(until: number, key: string, body: Readable): Promise<void> {
    const content = await bytesOf(body);
    await ask(`PUT ${key}`, () => {
      if (sim.time.now <= until && !objects.has(key)) objects.set(key, content);
    });
  }

  async function remove(key: string): Promise<void> {
    await ask(`DELETE ${key}`, () => void objects.delete(key));
  }

  const size = (key: string) => ask(`HEAD ${key}`, () => objects.get(key)?.length);
  const storage: ObjectStore = {
    linksUrl: 'https://links.test',
    put: (key, _type, body) => putUntil(Infinity, key, body),
    read: (key, offset, length) => ask(`GET ${key}`, () => objects.get(key)?.subarray(offset, offset + length)),
    async stream(key, signal, part) {
      const whole = await ask(`GET ${key}`, () => objects.get(key), signal);
      return whole && inPieces(part ? whole.subarray(part.offset, part.offset + part.length) : whole);
    },
    size,
    signPut: async (key) => ({ url: `${addresses}${key}`, headers: {} }),
    putOnce: () => Promise.reject(new Error('Files without a size go through no simulated process')),
    signGet: async (key) => `${addresses}${key}`,
    publicAddress(key) {
      if (!key.startsWith(keyPrefix.public))
        throw new Error('The key of a private file was given where a public file is needed');
      return `${addresses}${key}`;
    },
    async copy(from, to, _headers, signal) {
      if ((await size(from)) === undefined) return false;
      const copied = await ask(
        `COPY ${from} to ${to}`,
        () => {
          const content = objects.get(from);
          if (!content) return false;
          mustHold(!objects.has(to), 'no object is overwritten', () => `a copy would overwrite ${to}`);
          objects.set(to, content);
          return true;
        },
        signal,
      );
      return copied && (await size(to)) !== undefined;
    },
    empty: (key) => ask(`EMPTY ${key}`, () => void objects.set(key, Buffer.alloc(0))),
    remove,
    joinParts: () => Promise.resolve('incomplete'),
    async removeUnder(prefix, isKept = () => false) {
      const keys = await ask(`LIST ${prefix}`, () => [...objects.keys()].filter((key) => key.startsWith(prefix)));
      for (const key of keys) if (!isKept(key)) await remove(key);
    },
    endUploads: async () => {},
    endUploadsUnder: async () => {},
    listKeys: (prefix) => ask(`LIST ${prefix}`, () => [...objects.keys()].filter((key) => key.startsWith(prefix))),
    allowOrigins: () => Promise.resolve(false),
    close() {},
  };
  return {
    storage,
    objects,
    putUntil,
    upload,
    place: (key, content) => void objects.set(key, content),
    turn: (next) => ({
      label: `the store ${next}`,
      run() {
        mood = next;
      },
    }),
  };
}

const addresses = 'https://store.test/';

export const keyAt = (address: string) => address.slice(addresses.length);

const away = () => ({ error: Object.assign(new Error('The store is away'), { code: 'ECONNRESET' }) });

function slowly(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, slowMs);
    signal?.addEventListener('abort', () => resolve(), { once: true });
  });
}

async function bytesOf(body: Readable): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of body as AsyncIterable<Buffer>) pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces);
}

async function* inPieces(content: Buffer): AsyncGenerator<Buffer> {
  yield content;
}

/** Expects that every object has a row with its key: a file, a leftover, or a move. @throws BrokenInvariant */
export async function expectNamed(sim: Simulation, store: SimulatedStore): Promise<void> {
  const rows = await sim.postgres.ask<{ key: string }>(
    `SELECT object_key AS key FROM media WHERE object_key IS NOT NULL
      UNION ALL SELECT object_key FROM leftover_objects
      UNION ALL SELECT target_key FROM media_moves WHERE target_key IS NOT NULL`,
  );
  const isNamed = (object: string) => rows.some(({ key }) => object === key || object.startsWith(`${key}.`));
  const nameless = [...store.objects.keys()].filter((object) => !isNamed(object));
  mustHold(nameless.length === 0, 'every object has a row', () => `no row names ${nameless.join(', ')}`);
}

interface StandingFile {
  id: Id;
  key: string;
  sizeBytes: string | null;
  visibility: keyof typeof keyPrefix;
  renditions: string[];
  /** Whether a picture replaces the original, so that `sizeBytes` is the size of the picture. */
  isPicture: boolean;
}

/**
 * Expects that every readable file exists with its renditions, in the bucket of its visibility.
 * @returns the files @throws BrokenInvariant
 */
export async function expectReadable(sim: Simulation, store: SimulatedStore): Promise<StandingFile[]> {
  const files = await sim.postgres.ask<StandingFile>(
    `SELECT id, object_key AS key, size_bytes AS "sizeBytes", visibility, purpose IN ('agent_image', 'avatar') AS "isPicture",
            ARRAY(SELECT object_key FROM media_renditions WHERE media_id = media.id) AS renditions
       FROM media WHERE status = 'ready' AND removed_at IS NULL AND object_key IS NOT NULL`,
  );
  for (const { id, key, sizeBytes, visibility, renditions, isPicture } of files) {
    const length = store.objects.get((isPicture && renditions[0]) || key)?.length;
    mustHold(
      length === Number(sizeBytes),
      'every file is there',
      () => `file ${id} has ${length} of ${sizeBytes} bytes`,
    );
    for (const rendition of renditions) {
      mustHold(
        store.objects.has(rendition),
        'every file is there',
        () => `file ${id} lacks the rendition ${rendition}`,
      );
      mustHold(
        rendition.startsWith(`${key}.`),
        'every file is there',
        () => `rendition ${rendition} is not beside file ${id}`,
      );
    }
    mustHold(
      key.startsWith(keyPrefix[visibility]),
      'a file is in one bucket',
      () => `file ${id} is ${visibility}, but its key is ${key}`,
    );
  }
  return files;
}

/**
 * Expects that the storage of the club is the sum of the rows. The storage includes changes that are not rolled up yet. @throws
 * BrokenInvariant
 */
export async function expectStorageSums(sim: Simulation): Promise<void> {
  const wrong = await sim.postgres.ask(
    `SELECT club_id, kind, sum(bytes)::text AS bytes, sum(files)::text AS files, sum(held)::text AS held FROM (
       SELECT club_id, kind, bytes, files, held FROM club_storage
       UNION ALL SELECT club_id, kind, bytes, files, held FROM club_storage_changes
       UNION ALL SELECT club_id, kind, -size_bytes, -1, 0 FROM media
        WHERE size_bytes IS NOT NULL AND object_key IS NOT NULL AND erased_at IS NULL
       UNION ALL SELECT club_id, kind, 0, 0, -held_bytes FROM media
        WHERE size_bytes IS NULL AND status IN ('uploading', 'processing') AND removed_at IS NULL AND held_bytes > 0
       UNION ALL SELECT club_id, kind, 0, 0, -address_bytes FROM media
        WHERE object_key IS NOT NULL AND address_bytes > 0
          AND CASE WHEN size_bytes IS NULL THEN status = 'failed' OR removed_at IS NOT NULL ELSE erased_at IS NOT NULL END) AS sides
      GROUP BY 1, 2 HAVING (sum(bytes), sum(files), sum(held)) <> (0, 0, 0)`,
  );
  mustHold(wrong.length === 0, 'sums are equal', () => JSON.stringify(wrong));
}

/** Expects that only readable files are stored, after all due erasures. @throws BrokenInvariant */
export async function expectNothingElse(sim: Simulation, store: SimulatedStore): Promise<void> {
  const files = await expectReadable(sim, store);
  const neededKeys = new Set(files.flatMap(({ key, renditions }) => [key, ...renditions]));
  const leftKeys = [...store.objects.keys()].filter((key) => !neededKeys.has(key));
  mustHold(
    leftKeys.length === 0,
    'objects without an owner are erased',
    () => `remaining objects: ${leftKeys.join(', ')}`,
  );
  const rows = await sim.postgres.ask<{ key: string }>(
    `SELECT object_key AS key FROM leftover_objects UNION ALL SELECT id::text FROM media WHERE erases_at IS NOT NULL AND removed_at IS NOT NULL`,
  );
  mustHold(
    rows.length === 0,
    'objects without an owner are erased',
    () => `still to be erased: ${rows.map(({ key }) => key).join(', ')}`,
  );
}
