/**
 * The scenario of files that change their bucket. Requests reverse each other, files exchange their contents, and the store copies late.
 */
import { mediaUses } from '../../../../domain/contexts.ts';
import { eraseDue, removeMedia } from '../../../../domain/media/erasure/erasure.ts';
import { eraseLeftovers } from '../../../../domain/media/erasure/leftovers.ts';
import { kindOf } from '../../../../domain/media/media.policy.ts';
import { findMedia } from '../../../../domain/media/library/library.ts';
import { processOldFiles } from '../../../../domain/media/processing/old-files.ts';
import { findPublicFile, moveMedia } from '../../../../domain/media/library/publishing.ts';
import { replaceMedia } from '../../../../domain/media/library/replacing.ts';
import type { MediaVisibility } from '../../../../entities/media/values.ts';
import { newId, type Id } from '../../../../platform/core/ids.ts';
import type { Simulation } from '../simulation.ts';
import { mustHold, type Command, type Stage } from '../stage.ts';
import { addClub, type Footing } from './ground.ts';
import { simulatedProcessing, simulatedReaders } from './processing.ts';
import {
  expectNamed,
  expectNothingElse,
  expectReadable,
  expectStorageSums,
  keyAt,
  simulatedStore,
  type SimulatedStore,
} from './store.ts';

interface Wish {
  visibility: MediaVisibility;
  askedStep: number;
  answeredStep?: number;
}

/** An address that a reader has, and the time until which the address must work. */
interface Address {
  fileId: Id;
  key: string;
  until: number;
}

/** A signed address works for at most 20 minutes. A reader may cache the target of a permanent address for five minutes (MED-6, MED-7). */
const readableMs = { private: 20 * 60_000, public: 300_000 } as const;
const day = 86_400_000;

export async function mediaMoves(sim: Simulation, ground: Footing): Promise<Stage> {
  const clubId = await addClub(sim, ground);
  const store = simulatedStore(sim);
  const deps = { db: sim.db, storage: store.storage, mediaUses };
  const reader = { clubId, administratorId: newId() };
  const files = [await addFile(0), await addFile(1), await addFile(2), await addFile(3)];
  const faults: unknown[] = [];
  const wishes = new Map<Id, Wish[]>(files.map((id) => [id, []]));
  const addresses: Address[] = [];
  const removed = new Set<Id>();
  /** The files from which each file may have got its content. */
  const holders = new Map<Id, ReadonlySet<Id>>(files.map((id) => [id, new Set([id])]));
  const now = () => new Date(sim.time.now);

  async function addFile(number: number): Promise<Id> {
    const id = newId();
    const isPicture = number < 2;
    const mime = isPicture ? 'image/png' : 'text/plain';
    const content = Buffer.alloc(100 + number);
    await addStoredFile(sim, store, { id, clubId, content, mime, isProcessed: isPicture });
    if (isPicture) await addRendition(sim, store, { id, clubId });
    return id;
  }

  const move = (id: Id, visibility: MediaVisibility): Command => ({
    label: `${id} ${visibility}`,
    async run() {
      const wish: Wish = { visibility, askedStep: sim.steps };
      const ofFile = wishes.get(id) ?? [];
      ofFile.push(wish);
      try {
        await moveMedia(deps, reader, id, visibility, now());
      } catch (error) {
        if (isRefusal(error)) ofFile.splice(ofFile.indexOf(wish), 1);
        throw error;
      }
      wish.answeredStep = sim.steps;
    },
  });

  async function readAddresses(id: Id): Promise<void> {
    const at = sim.time.now;
    const file = await findMedia(deps, reader, id);
    const key = keyAt(file.download_url ?? '');
    addresses.push({ fileId: id, key, until: at + readableMs.private });
    if (file.visibility === 'private') return;
    const askedAt = sim.time.now;
    const { location } = await findPublicFile(sim.db, store.storage, id, 'preview');
    addresses.push({ fileId: id, key: keyAt(location), until: askedAt + readableMs.public });
  }

  for (const id of files) await readAddresses(id);

  const exchange = (id: Id, other: Id): Command => ({
    label: `replace ${id} by ${other}`,
    async run() {
      const mixed = new Set([...(holders.get(id) ?? []), ...(holders.get(other) ?? [])]);
      for (const one of mixed) holders.set(one, mixed);
      await replaceMedia(deps, reader, id, { with: other }, now());
    },
  });

  return {
    types: ['mediaMove', 'mediaProcessing'],
    horizonMs: 4 * 3_600_000,
    depsFor: (db) => ({
      media: simulatedProcessing(db, {
        storage: store.storage,
        readers: simulatedReaders(sim, () => 'reads'),
        onFault(error) {
          if (!isCutOff(error)) faults.push(error);
        },
      }),
      moves: { db, storage: store.storage, onOutcome: () => {}, failpoint: () => Promise.resolve() },
    }),
    command(decisions) {
      const id = decisions.pick(files);
      const which = decisions.choose(16);
      if (which < 5) return move(id, 'public');
      if (which < 8) return move(id, 'private');
      if (which === 8) return { label: `read ${id}`, run: () => readAddresses(id) };
      if (which === 9) return exchange(id, decisions.pick(files.filter((one) => one !== id)));
      if (which === 10) return { label: 'old files', run: async () => void (await processOldFiles(sim.db, now())) };
      if (which === 11) return upkeep();
      if (which === 12) {
        return {
          label: `remove ${id}`,
          async run() {
            removed.add(id);
            await removeMedia(deps, clubId, id, now());
          },
        };
      }
      return store.turn((['answers', 'is slow', 'is away'] as const)[which - 13] ?? 'answers');
    },
    calm: () => [store.turn('answers'), upkeep()],
    async atRest() {
      await expectNamed(sim, store);
      await expectReadable(sim, store);
      for (const { fileId, key, until } of addresses) {
        const isRemoved = [...(holders.get(fileId) ?? [])].some((one) => removed.has(one));
        if (until < sim.time.now || isRemoved) continue;
        mustHold(store.objects.has(key), 'an address leads to its file', () => `nothing is at ${key} any more`);
      }
    },
    async atEnd() {
      const standing = await expectReadable(sim, store);
      const openMoves = await sim.postgres.ask<{ id: Id }>('SELECT id FROM media_moves');
      mustHold(openMoves.length === 0, 'all work ends', () => `the move of ${openMoves[0]?.id}`);
      for (const { id, visibility } of standing) expectWish(id, visibility);
      mustHold(faults.length === 0 || removed.size > 0, 'no file is at fault', () => String(faults[0]));
      await expectStorageSums(sim);
      const later = new Date(sim.time.now + 2 * day);
      await eraseDue(deps, later);
      await eraseLeftovers(deps, later);
      await expectNothingElse(sim, store);
    },
  };

  function upkeep(): Command {
    return {
      label: 'upkeep',
      async run() {
        await eraseDue(deps, now());
        await eraseLeftovers(deps, now());
      },
    };
  }

  /**
   * Expects that the file has the visibility of its last request. A request replaces all requests that were answered before this request
   * began.
   */
  function expectWish(id: Id, visibility: MediaVisibility): void {
    const ofFile = wishes.get(id) ?? [];
    const lastAsked = Math.max(
      -1,
      ...ofFile.map(({ askedStep: asked, answeredStep: answered }) => (answered === undefined ? -1 : asked)),
    );
    const open = ofFile.filter(({ answeredStep: answered }) => answered === undefined || answered >= lastAsked);
    const possible = open.map((wish) => wish.visibility);
    if (lastAsked === -1) possible.push('private');
    mustHold(
      possible.includes(visibility),
      'the last wish counts',
      () => `file ${id} is ${visibility}, and was to be ${possible.join(' or ')}`,
    );
  }
}

/** Postgres or the store was lost or slow. No file is at fault, and the work is repeated. */
export const isCutOff = (error: unknown) => {
  const { code, driverError } = error as { code?: string; driverError?: { code?: string } };
  return ['ECONNRESET', '55P03'].includes(driverError?.code ?? code ?? '');
};

const isRefusal = (error: unknown) => error instanceof Error && error.name === 'DomainError';

interface StoredFile {
  id: Id;
  clubId: Id;
  content: Buffer;
  mime: string;
  /** Whether the file is already processed. Otherwise upkeep processes the file later. */
  isProcessed: boolean;
}

const keyOf = ({ id, clubId }: Pick<StoredFile, 'id' | 'clubId'>) => `media/${clubId}/${id}`;

export async function addStoredFile(sim: Simulation, store: SimulatedStore, file: StoredFile): Promise<void> {
  const { id, clubId, content, mime, isProcessed } = file;
  const kind = kindOf(mime);
  store.place(keyOf(file), content);
  await sim.postgres.ask(
    `INSERT INTO media (id, club_id, purpose, kind, title, provider, status, file_name, mime, size_bytes, object_key, processed_at, created_at, updated_at)
     VALUES ($1, $2, 'library', $3, 'File', $4, 'ready', 'file', $5, $6, $7, $8, $9, $9)`,
    [
      id,
      clubId,
      kind,
      kind === 'video' ? 'hostedvideo_stream' : 'objstore',
      mime,
      content.length,
      keyOf(file),
      isProcessed ? new Date(sim.time.now) : null,
      new Date(sim.time.now),
    ],
  );
}

async function addRendition(
  sim: Simulation,
  store: SimulatedStore,
  file: Pick<StoredFile, 'id' | 'clubId'>,
): Promise<void> {
  const key = `${keyOf(file)}.1-thumbnail-1`;
  store.place(key, Buffer.alloc(10));
  await sim.postgres.ask(
    `INSERT INTO media_renditions (media_id, version, role, object_key, mime, size_bytes, width, height, created_at)
     VALUES ($1, 1, 'thumbnail', $2, 'image/png', 10, 4, 4, $3)`,
    [file.id, key, new Date(sim.time.now)],
  );
}
