/** Processes untrusted bytes in threads with limits. So no file can block the process, fill its memory or crash it. */
import { MessageChannel, Worker, type Transferable } from 'node:worker_threads';
import { isBuilt } from '../../core/modules.ts';
import type { Answer, Order, Word } from './thread-work.ts';

export interface ThreadBounds {
  /** CPU time, without the start of the thread. */
  workMs: number;
  /**
   * In milliseconds, without waiting for answers; four times `workMs` if absent. Work that reaches it had too little CPU, so the file is
   * not the cause.
   */
  clockMs?: number;
  maxHeapMb: number;
  maxBuffersMb: number;
}

export type BoundReached = 'too_large' | 'took_too_long';

interface Work {
  data: unknown;
  /** Transferred, not copied. */
  transfer?: Transferable[];
  /** Ends the thread. */
  signal: AbortSignal;
  onTold?: (message: unknown) => void;
  /** The answer is transferred to the thread. If the promise rejects, the thread ends and `run` throws the error. */
  answer?: (question: unknown) => Promise<Uint8Array<ArrayBuffer>>;
}

export interface Threads {
  /**
   * The thread does nothing else meanwhile.
   * @returns the result, or the limit that the work exceeded
   * @throws the signal's reason; the error of `answer` or of the thread; Error if the machine was too busy
   */
  run<Result extends object>(work: Work): Promise<Result | BoundReached>;
}

interface Thread {
  worker: Worker;
  /** True when the modules of the thread are loaded. */
  isReady: boolean;
  /** The number of finished pieces of work. */
  done: number;
  expiry?: NodeJS.Timeout;
}

/** Caches compiled modules for all threads, which halves the CPU time of a start. */
const loader = new URL(isBuilt ? '../../start.mjs' : '../../load.mjs', import.meta.url).href;

/** In milliseconds. */
const watchMs = 200;
const clockFactor = 4;
/** Loading the modules needs far less time on any machine that makes progress. */
const startWithinMs = 20_000;
/** A new thread costs 100 ms of CPU. An idle thread does not keep the process alive. */
const keptMs = 60_000;

/**
 * Starts threads when needed. A thread stays only after successful work.
 * @param module calls `serveThread`
 * @param options.uses after this number of uses, a thread is replaced
 */
export function createThreads(module: URL, bounds: ThreadBounds, { uses }: { uses: number }): Threads {
  /** A stack: the thread that became idle last is used first, so the others expire. */
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
      execArgv: ['--import', loader],
      resourceLimits: { maxOldGenerationSizeMb: bounds.maxHeapMb, maxYoungGenerationSizeMb: 48, stackSizeMb: 4 },
    });
    const thread: Thread = { worker, isReady: false, done: 0 };
    worker.on('error', () => {}); // An error of an idle thread would end the process.
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

/** `isSound`: as far as the thread knows, no part of the work still runs. */
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
  const ofWorker: [event: 'error' | 'exit' | 'message', listener: (payload: never) => void][] = [];
  try {
    return await new Promise<Ending<Result>>((resolve, reject) => {
      const on = (event: 'error' | 'exit' | 'message', listener: (payload: never) => void) => {
        ofWorker.push([event, listener]);
        worker.on(event, listener as (payload: unknown) => void);
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
        if (!thread.isReady) return reject(new Error(`The thread did not start within ${startWithinMs} ms`));
        const used = await measure(); // The thread answers even in the middle of its work, as soon as it gets CPU time.
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
      let questions = 0;
      const give = async (question: unknown, number: number) => {
        if (questions++ === 0) pause();
        if (!answer) throw new Error('The work asked a question, but no answerer was given');
        const bytes = await answer(question);
        if (isOver) return;
        if (--questions === 0) start();
        ours.postMessage({ number, bytes } satisfies Answer, [bytes.buffer]);
      };
      const end = async (result: Result) => {
        const used = await measure();
        resolve(used >= workMs ? 'took_too_long' : { result, isSound: questions === 0 });
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
      on('exit', () => reject(new Error('The thread ended without a result'))); // No effect if the thread has already sent a result.
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
      // Buffers are outside the heap, so the limits of the thread do not include them.
      watch = setInterval(() => {
        worker.getHeapStatistics().then(
          ({ external_memory: bytes }) => bytes > bounds.maxBuffersMb * 1_048_576 && resolve('too_large'),
          () => {}, // the thread has ended
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
    for (const [event, listener] of ofWorker) worker.off(event, listener as (payload: unknown) => void);
    ours.close();
  }
}

/** @returns the CPU time; 0 if the thread does not run */
async function cpuMs(worker: Worker): Promise<number> {
  const { user, system } = await worker.cpuUsage().catch(() => ({ user: 0, system: 0 }));
  return (user + system) / 1_000;
}
