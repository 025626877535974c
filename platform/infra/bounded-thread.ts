/** Work on bytes from outside, in threads and within bounds: no file may block the process, fill its memory or end it. */
import { MessageChannel, Worker, type Transferable } from 'node:worker_threads';
import { isBuilt } from '../core/modules.ts';
import type { Answer, Order, Word } from './thread-work.ts';

export interface ThreadBounds {
  /** CPU that a piece of work may use. What it costs to start its thread does not count. */
  workMs: number;
  /**
   * By the clock, without the time in which it waits for answers: work that has not had its CPU by then is no fault of the file. Four times
   * its CPU if absent.
   */
  clockMs?: number;
  maxHeapMb: number;
  maxBuffersMb: number;
}

/** Why a thread was ended that exceeded a bound. */
export type BoundReached = 'too_large' | 'took_too_long';

interface Work {
  data: unknown;
  /** Parts of the data that are transferred instead of copied. */
  transfer?: Transferable[];
  /** Ends the thread. */
  signal: AbortSignal;
  /** Gets what the work tells. */
  onTold?: (message: unknown) => void;
  /** Answers what the work asks; the answer is given away. What it rejects with ends the thread, and `run` throws it. */
  answer?: (question: unknown) => Promise<Uint8Array<ArrayBuffer>>;
}

export interface Threads {
  /**
   * Runs a piece of work until it has ended, in a thread that nothing else uses meanwhile.
   * @returns what it ended with, or the bound that it exceeded
   * @throws the signal's reason; whatever `answer` rejects with or the thread threw; Error where the machine was too busy for the thread
   */
  run<Result extends object>(work: Work): Promise<Result | BoundReached>;
}

interface Thread {
  worker: Worker;
  /** Whether its modules are loaded. */
  isReady: boolean;
  /** How many pieces of work it has done. */
  done: number;
  /** Ends it, while it has no work. */
  expiry?: NodeJS.Timeout;
}

/** With it the modules of a thread are compiled once for all threads: a thread then starts with half of the CPU. */
const loader = new URL(isBuilt ? '../start.mjs' : '../load.mjs', import.meta.url).href;

/** How often the memory of a thread is measured, in milliseconds. */
const watchMs = 200;
const clockFactor = 4;
/** Of the clock, for its modules: far longer than on any machine that gets work done. */
const startWithinMs = 20_000;
/** A thread without work is kept for so long: to start another one takes 100 ms of CPU. It never keeps the process alive. */
const keptMs = 60_000;

/**
 * Threads that are started as they are needed, and kept after work that has ended as it should; every other one is ended with its work.
 * @param module what they run: it calls `serveThread`
 * @param options.uses how many pieces of work a thread does, one after another, before another one takes its place
 */
export function createThreads(module: URL, bounds: ThreadBounds, { uses }: { uses: number }): Threads {
  /** The last one is taken first, so that those that are not needed end. */
  const idle: Thread[] = [];

  function keep(thread: Thread): void {
    const { worker } = thread;
    worker.unref();
    idle.push(thread);
    thread.expiry = setTimeout(() => {
      leave(thread);
      void worker.terminate();
    }, keptMs).unref();
  }

  function leave(thread: Thread): void {
    clearTimeout(thread.expiry);
    const at = idle.indexOf(thread);
    if (at >= 0) idle.splice(at, 1);
  }

  function take(): Thread {
    const thread = idle.at(-1);
    if (!thread) return start();
    leave(thread);
    thread.worker.ref();
    return thread;
  }

  function start(): Thread {
    const worker = new Worker(module, {
      execArgv: ['--import', loader], // whatever flags this process was started with
      resourceLimits: { maxOldGenerationSizeMb: bounds.maxHeapMb, maxYoungGenerationSizeMb: 48, stackSizeMb: 4 },
    });
    const thread: Thread = { worker, isReady: false, done: 0 };
    worker.on('error', () => {}); // of a thread without work, nobody's
    worker.on('exit', () => leave(thread));
    return thread;
  }

  return {
    async run<Result extends object>(work: Work) {
      work.signal.throwIfAborted();
      const thread = take();
      let isSound = false;
      try {
        const ended = await runIn<Result>(thread, bounds, work);
        if (typeof ended === 'string') return ended;
        isSound = ended.isSound;
        return ended.result;
      } finally {
        thread.done += 1;
        if (isSound && thread.done < uses) keep(thread);
        else await thread.worker.terminate();
      }
    },
  };
}

/** Of one piece of work. `isSound`: nothing of it goes on in the thread, as far as can be known. */
type Ending<Result> = { result: Result; isSound: boolean } | BoundReached;

async function runIn<Result>(thread: Thread, bounds: ThreadBounds, work: Work): Promise<Ending<Result>> {
  const { worker } = thread;
  const { data, transfer = [], signal, onTold, answer } = work;
  const { workMs, clockMs = clockFactor * workMs } = bounds;
  const { port1: ours, port2: port } = new MessageChannel();
  const timers: Partial<Record<'limit' | 'late', NodeJS.Timeout>> = {};
  const listening = new AbortController();
  let isOver = false;
  let watch: NodeJS.Timeout | undefined;
  const ofWorker: [event: 'error' | 'exit' | 'message', listener: (given: never) => void][] = [];
  try {
    return await new Promise<Ending<Result>>((resolve, reject) => {
      const on = (event: 'error' | 'exit' | 'message', listener: (given: never) => void) => {
        ofWorker.push([event, listener]);
        worker.on(event, listener as (given: unknown) => void);
      };
      let beforeMs = 0;
      const measure = async () => (await cpuMs(worker)) - beforeMs;
      const judge = async () => {
        const used = await measure();
        if (used >= workMs) return resolve('took_too_long');
        if (!isOver) timers.limit = setTimeout(() => void judge(), Math.max(workMs - used, watchMs / 4));
      };
      let leftMs = startWithinMs;
      let startedAt = 0;
      const endLate = async () => {
        if (!thread.isReady) return reject(new Error(`The thread has not started within ${startWithinMs} ms`));
        const used = await measure(); // it answers in the middle of its work, as soon as it has some CPU
        if (used >= workMs) return resolve('took_too_long');
        return reject(new Error(`The thread has had ${Math.round(used)} ms of CPU in ${clockMs} ms`));
      };
      const start = () => {
        startedAt = performance.now();
        timers.late = setTimeout(() => void endLate(), leftMs);
      };
      const pause = () => {
        clearTimeout(timers.late);
        leftMs -= performance.now() - startedAt;
      };
      let asked = 0;
      const give = async (question: unknown, number: number) => {
        if (asked++ === 0) pause();
        if (!answer) throw new Error('The work asks, and nobody answers');
        const bytes = await answer(question);
        if (isOver) return;
        if (--asked === 0) start();
        ours.postMessage({ number, bytes } satisfies Answer, [bytes.buffer]);
      };
      const end = async (result: Result) => {
        const used = await measure();
        resolve(used >= workMs ? 'took_too_long' : { result, isSound: asked === 0 });
      };
      ours.on('message', (word: Word) => {
        if ('tells' in word) onTold?.(word.tells);
        else if ('asks' in word) give(word.asks, word.number).catch(reject);
        else void end(word.ends as Result);
      });
      on('error', (error: Error) => {
        if ('code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY') resolve('too_large');
        else reject(error);
      });
      on('exit', () => reject(new Error('The thread ended without a word'))); // after a result it changes nothing
      const order = async () => {
        beforeMs = await cpuMs(worker);
        if (isOver) return;
        pause();
        leftMs = clockMs;
        timers.limit = setTimeout(() => void judge(), workMs);
        start();
        worker.postMessage({ data, port } satisfies Order, [port, ...transfer]);
      };
      if (thread.isReady) void order();
      else
        on('message', () => {
          thread.isReady = true;
          void order();
        });
      start();
      // Buffers lie beside the heap, where the thread's own limits do not reach.
      watch = setInterval(() => {
        worker.getHeapStatistics().then(
          ({ external_memory: bytes }) => bytes > bounds.maxBuffersMb * 1_048_576 && resolve('too_large'),
          () => {}, // it has ended
        );
      }, watchMs);
      signal.addEventListener('abort', () => reject(signal.reason as Error), { signal: listening.signal });
    });
  } finally {
    isOver = true;
    listening.abort();
    clearTimeout(timers.limit);
    clearTimeout(timers.late);
    clearInterval(watch);
    for (const [event, listener] of ofWorker) worker.off(event, listener as (given: unknown) => void);
    ours.close();
  }
}

/** @returns what the thread has used since it started, in milliseconds; 0 where it does not run yet, or not any more */
async function cpuMs(worker: Worker): Promise<number> {
  const { user, system } = await worker.cpuUsage().catch(() => ({ user: 0, system: 0 }));
  return (user + system) / 1_000;
}
