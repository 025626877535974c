/**
 * Programs that read files of strangers: bounded in time, memory and disk, below other work, and ended with all their children. A
 * program that has ended, reached a bound or lost this process leaves nothing running.
 */
import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { bytesIn } from './work-directory.ts';

export interface ProgramBounds {
  timeMs: number;
  /** Of each process: memory that it may write and shares with no other, such as heap, stacks of threads, data of libraries (ADR 57). */
  memoryMb: number;
  /** Of each file that a process writes. */
  fileBytes: number;
  /** Of each process: seconds on a core. It ends a child, too, that has left the group of its parent. */
  cpuSeconds?: number;
  /** All files below a directory together. They are added up every second. */
  directory?: { path: string; bytes: number };
}

export interface BoundedRun {
  bounds: ProgramBounds;
  /** The whole environment of the program. */
  env: NodeJS.ProcessEnv;
  /** Ends the program. */
  signal: AbortSignal;
  /** Its working directory; ours if absent. */
  cwd?: string;
  /** Gets what it writes to its standard output, piece by piece. Without it the output is thrown away, as its error output always is. */
  onOutput?: (text: string) => void;
}

/**
 * Starts the program in a session of its own, within bounds that it inherits. A second process reads our pipe: it ends the whole group
 * when this process closes the pipe, or has ended itself and so cannot. The kernel closes the pipe then. A bound of memory that cannot
 * be set is looser than one that holds already. The shell waits for both, so that no ended process is left over in a container whose
 * first process waits for nobody.
 */
const script = `
ulimit -d "$1" 2>/dev/null
[ "$3" = 0 ] || ulimit -t "$3" || exit 1
ulimit -f "$2" && ulimit -c 0 || exit 1
shift 3
exec 3<&0
nice -n 10 "$@" </dev/null 3<&- &
program=$!
{ read -r _ <&3; kill -9 0; } >/dev/null 2>&1 &
watcher=$!
exec 3<&-
wait "$program"
code=$?
{ kill -9 "$watcher"; wait "$watcher"; } >/dev/null 2>&1
exit "$code"`;

/** A shell counts the size of a file in blocks. */
const blockBytes = 512;
const everyMs = 1_000;
/** Between the end of a program and that of its output, or of the last of its children. */
const drain = { ms: 1_000, stepMs: 20 } as const;

/**
 * The result does not say why a program failed: an exit code does not tell a bound from a fault of the program.
 * @param file an absolute path
 * @returns `failed`: the program ended with another code than 0, or reached a bound
 * @throws the signal's reason; Error if no process can be started
 */
export async function runBounded(
  file: string,
  args: readonly string[],
  { bounds, env, signal, cwd, onOutput }: BoundedRun,
): Promise<'done' | 'failed'> {
  signal.throwIfAborted();
  const limits = [bounds.memoryMb * 1_024, Math.ceil(bounds.fileBytes / blockBytes), Math.ceil(bounds.cpuSeconds ?? 0)];
  const running = spawn('/bin/sh', ['-c', script, 'sh', ...limits.map(String), file, ...args], {
    env,
    detached: true, // a group of its own, which ends as a whole
    stdio: ['pipe', onOutput ? 'pipe' : 'ignore', 'ignore'], // what it complains about may quote the file
    ...(cwd !== undefined && { cwd }),
  });
  const { pid } = running;
  let isOver = false;
  const end = () => {
    isOver = true;
    running.stdin?.destroy();
    if (pid !== undefined) signalGroup(pid, 'SIGKILL');
  };
  const limit = setTimeout(end, bounds.timeMs);
  signal.addEventListener('abort', end, { once: true });
  running.stdin?.on('error', () => undefined);
  if (onOutput) running.stdout?.setEncoding('latin1').on('data', onOutput);
  const stopWatching = bounds.directory && watchSize(bounds.directory, end);
  try {
    const code = await endOf(running);
    if (pid !== undefined) await endGroup(pid);
    signal.throwIfAborted();
    return code === 0 && !isOver ? 'done' : 'failed';
  } finally {
    clearTimeout(limit);
    stopWatching?.();
    signal.removeEventListener('abort', end);
  }
}

/** @returns its exit code, once its output has been read; null if a signal has ended it */
function endOf(running: ReturnType<typeof spawn>): Promise<number | null> {
  return new Promise((resolve, reject) => {
    running.once('error', reject);
    running.once('close', resolve);
    running.once('exit', () => {
      // A child in a group of its own may keep the output open.
      setTimeout(() => running.stdout?.destroy(), drain.ms).unref();
    });
  });
}

/** @returns whether there is such a process */
function signalGroup(pid: number, signal: 'SIGKILL' | 0): boolean {
  try {
    return process.kill(-pid, signal);
  } catch {
    return false; // all of the group have ended
  }
}

/** Ends children that have outlived the program, and waits for their end, so that none writes into a directory that is removed. */
async function endGroup(pid: number): Promise<void> {
  if (!signalGroup(pid, 'SIGKILL')) return;
  for (let waited = 0; waited < drain.ms && signalGroup(pid, 0); waited += drain.stepMs) await sleep(drain.stepMs);
}

/** @returns ends the watch */
function watchSize({ path, bytes }: { path: string; bytes: number }, onExcess: () => void): () => void {
  let isCounting = false;
  const timer = setInterval(() => {
    if (isCounting) return;
    isCounting = true;
    bytesIn(path)
      .then((size) => size > bytes && onExcess())
      .catch(() => undefined) // it goes with its program
      .finally(() => (isCounting = false));
  }, everyMs);
  return () => clearInterval(timer);
}
