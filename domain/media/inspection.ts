/** Looking into a file in a thread of its own, within bounds: what somebody uploads neither blocks nor ends the process. */
import { availableParallelism } from 'node:os';
import { runInThread, type ThreadBounds } from '../../platform/infra/bounded-thread.ts';
import type { ObjectStore } from '../../platform/infra/object-store.ts';
import type { Finding } from './file-content.ts';
import type { InspectionMessage } from './inspection-thread.ts';
import { inspectionPlaces, inspectionRules, isImageType } from './media.policy.ts';
import type { StoredMedia } from './media.ts';

/** Inspections under way in this process, and those that wait for a place. */
const places = { all: inspectionPlaces(availableParallelism()), taken: 0, waiting: [] as (() => void)[] };

/**
 * Waits for a place, where few enough wait already, and works in it.
 * @returns undefined where too many wait
 */
export async function inPlace<T>(work: () => Promise<T>): Promise<T | undefined> {
  if (places.taken >= places.all) {
    if (places.waiting.length >= inspectionRules.maxWaiting) return undefined;
    await new Promise<void>((resolve) => places.waiting.push(resolve)); // the next one to finish hands its place on
  } else places.taken += 1;
  try {
    return await work();
  } finally {
    const next = places.waiting.shift();
    if (next) next();
    else places.taken -= 1;
  }
}

/**
 * @param sizeBytes what the store says
 * @param bounds others, for tests
 * @returns undefined where the file is gone meanwhile
 * @throws whatever the store throws; TimeoutError where it is too slow for the claim to last
 */
export async function inspect(
  storage: Pick<ObjectStore, 'read'>,
  { objectKey, purpose, mime }: Pick<StoredMedia, 'objectKey' | 'purpose' | 'mime'>,
  sizeBytes: number,
  bounds: ThreadBounds = inspectionRules,
): Promise<Finding | undefined> {
  if (objectKey === null) return undefined;
  const announced = mime ?? '';
  const ended = await runInThread<{ finding?: Finding }>(new URL('./inspection-thread.ts', import.meta.url), {
    data: { sizeBytes, purpose, announced },
    bounds,
    signal: AbortSignal.timeout(inspectionRules.wholeMs),
    onMessage(data) {
      const message = data as InspectionMessage;
      if ('tells' in message) return { result: { finding: message.finding } };
      return storage
        .read(objectKey, message.offset, message.length)
        .then((bytes) => (bytes ? { answer: new Uint8Array(bytes) } : { result: {} }));
    },
  });
  if (typeof ended !== 'string') return ended.finding;
  return { sizeBytes, error: isImageType(announced) ? 'image_broken' : 'content_not_allowed' };
}
