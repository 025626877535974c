/** Reading a source out in a thread of its own, within bounds: no file may block the process, fill its memory or end it. */
import { Worker } from 'node:worker_threads';
import type { Source, ThreadMessage } from './extraction-thread.ts';
import { indexingRules, type IndexingError } from '../indexing/indexing.policy.ts';
import type { Passage } from '../indexing/passages.policy.ts';

export type Extraction =
  | { result: 'read'; pageCount: number | null; passages: Passage[] }
  /** The source itself is why, and would be the next time. */
  | { result: 'unreadable'; code: Exclude<IndexingError, 'indexing_failed'> };

export type ThreadRules = Record<'extractionMs' | 'maxHeapMb' | 'maxBuffersMb', number>;

/** How often its memory is looked at. */
const watchMs = 200;

/**
 * @param source its bytes are given away
 * @param options.onPage told how many pages are read, and how many there are
 * @param options.signal ends the thread
 * @param options.rules other bounds, for tests
 * @throws the signal's reason; whatever the thread threw that is a fault of ours
 */
export async function extract(
  source: Source,
  options: {
    onPage: (done: number, total: number) => void;
    signal: AbortSignal;
    rules?: ThreadRules | undefined;
  },
): Promise<Extraction> {
  const { extractionMs, maxHeapMb, maxBuffersMb } = options.rules ?? indexingRules;
  options.signal.throwIfAborted();
  const thread = new Worker(new URL('./extraction-thread.ts', import.meta.url), {
    execArgv: [], // however this process was started, the thread needs no loader
    workerData: source,
    ...(source.kind === 'media' && { transferList: [source.bytes.buffer as ArrayBuffer] }),
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMb, maxYoungGenerationSizeMb: 48, stackSizeMb: 4 },
  });
  const passages: Passage[] = [];
  let watch: NodeJS.Timeout | undefined;
  let limit: NodeJS.Timeout | undefined;
  let onAbort: (() => void) | undefined;
  try {
    return await new Promise<Extraction>((resolve, reject) => {
      const unreadable = (code: Exclude<IndexingError, 'indexing_failed'>) => resolve({ result: 'unreadable', code });
      thread.on('message', (message: ThreadMessage) => {
        if (message.tells === 'progress') options.onPage(message.done, message.total);
        else if (message.tells === 'passages') passages.push(...message.passages);
        else if (message.tells === 'unreadable') unreadable(message.code);
        else resolve({ result: 'read', pageCount: message.pageCount, passages });
      });
      thread.on('error', (error) => {
        if ('code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY') unreadable('too_large');
        else reject(error);
      });
      thread.on('exit', () => reject(new Error('The thread ended without a word'))); // after a result it changes nothing
      limit = setTimeout(() => unreadable('took_too_long'), extractionMs);
      // Buffers lie beside the heap, where the thread's own limits do not reach.
      watch = setInterval(() => {
        thread.getHeapStatistics().then(
          ({ external_memory: bytes }) => bytes > maxBuffersMb * 1_048_576 && unreadable('too_large'),
          () => {}, // it has ended
        );
      }, watchMs);
      onAbort = () => reject(options.signal.reason as Error);
      options.signal.addEventListener('abort', onAbort, { once: true });
    });
  } finally {
    clearTimeout(limit);
    clearInterval(watch);
    if (onAbort) options.signal.removeEventListener('abort', onAbort);
    await thread.terminate();
  }
}
