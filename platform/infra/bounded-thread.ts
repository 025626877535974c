/** Work on bytes from outside, in a thread of its own and within bounds: no file may block the process, fill its memory or end it. */
import { Worker, type Transferable } from 'node:worker_threads';

export interface ThreadBounds {
  /** CPU that the thread may use. What it costs to start one, some 100 ms, counts. */
  workMs: number;
  maxHeapMb: number;
  maxBuffersMb: number;
}

/** Why a thread was ended that exceeded a bound. */
export type BoundReached = 'too_large' | 'took_too_long';

/** With it the modules of a thread are compiled once for all threads: a thread then starts with half of the CPU. */
const loader = new URL('../load.mjs', import.meta.url).href;

/** How often the memory of a thread is measured, in milliseconds. */
const watchMs = 200;
/**
 * By the clock a thread has so many times its CPU, without the time in which it waits for answers: one that has not had its CPU by then is
 * no fault of the file.
 */
const clockFactor = 4;

/**
 * Runs a module in a thread until it has sent its result.
 * @param module what the thread runs: it reads `data` from `workerData`, and sends messages through `parentPort`
 * @param work.transfer parts of the data that are transferred instead of copied
 * @param work.onMessage gets each message. It returns the result, which ends the thread, or undefined. A promise makes the thread
 *   wait; its `answer` is sent back
 * @param work.signal ends the thread
 * @throws the signal's reason; whatever `onMessage` rejects with or the thread threw; Error where the machine was too busy for the thread
 */
export async function runInThread<Result extends object>(
  module: URL,
  work: {
    data: unknown;
    transfer?: Transferable[];
    bounds: ThreadBounds;
    signal: AbortSignal;
    onMessage: (
      message: unknown,
    ) => { result: Result } | undefined | Promise<{ result: Result } | { answer: Uint8Array }>;
  },
): Promise<Result | BoundReached> {
  const { data, transfer = [], bounds, signal, onMessage } = work;
  signal.throwIfAborted();
  const thread = new Worker(module, {
    execArgv: ['--import', loader], // whatever flags this process was started with
    workerData: data,
    transferList: transfer,
    resourceLimits: { maxOldGenerationSizeMb: bounds.maxHeapMb, maxYoungGenerationSizeMb: 48, stackSizeMb: 4 },
  });
  let watch: NodeJS.Timeout | undefined;
  let limit: NodeJS.Timeout | undefined;
  let late: NodeJS.Timeout | undefined;
  let onAbort: (() => void) | undefined;
  let isOver = false;
  try {
    return await new Promise<Result | BoundReached>((resolve, reject) => {
      /** Undefined while it says nothing: it is at one piece of work that nothing interrupts, or has not begun. */
      let usedMs: number | undefined = 0;
      const measure = async () => {
        usedMs = undefined;
        const usage = await thread.cpuUsage().catch(() => ({ user: 0, system: 0 })); // it does not run yet, or not any more
        usedMs = (usage.user + usage.system) / 1_000;
        if (usedMs >= bounds.workMs) return resolve('took_too_long');
        if (!isOver) limit = setTimeout(() => void measure(), Math.max(bounds.workMs - usedMs, watchMs / 4));
      };
      limit = setTimeout(() => void measure(), bounds.workMs);
      let leftMs = clockFactor * bounds.workMs;
      let startedAt = 0;
      const start = () => {
        startedAt = performance.now();
        late = setTimeout(() => {
          if (usedMs === undefined) resolve('took_too_long');
          else
            reject(
              new Error(`The thread has had ${Math.round(usedMs)} ms of CPU in ${clockFactor * bounds.workMs} ms`),
            );
        }, leftMs);
      };
      const pause = () => {
        clearTimeout(late);
        leftMs -= performance.now() - startedAt;
      };
      thread.on('message', (message: unknown) => {
        const taken = onMessage(message);
        if (!(taken instanceof Promise)) {
          if (taken) resolve(taken.result);
          return;
        }
        pause();
        taken.then((end) => {
          if (isOver) return;
          if ('result' in end) return resolve(end.result);
          start();
          thread.postMessage(end.answer, [end.answer.buffer as ArrayBuffer]);
        }, reject);
      });
      thread.on('error', (error) => {
        if ('code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY') resolve('too_large');
        else reject(error);
      });
      thread.on('exit', () => reject(new Error('The thread ended without a word'))); // after a result it changes nothing
      start();
      // Buffers lie beside the heap, where the thread's own limits do not reach.
      watch = setInterval(() => {
        thread.getHeapStatistics().then(
          ({ external_memory: bytes }) => bytes > bounds.maxBuffersMb * 1_048_576 && resolve('too_large'),
          () => {}, // it has ended
        );
      }, watchMs);
      onAbort = () => reject(signal.reason as Error);
      signal.addEventListener('abort', onAbort, { once: true });
    });
  } finally {
    isOver = true;
    clearTimeout(limit);
    clearTimeout(late);
    clearInterval(watch);
    if (onAbort) signal.removeEventListener('abort', onAbort);
    await thread.terminate();
  }
}
