/**
 * Runs programs that read untrusted files, with low priority and limits for time, memory and disk. All their child processes end with them,
 * or when this process dies.
 */
import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { bytesIn } from './work-directory.ts';

export interface ProgramBounds {
  timeMs: number;
  /** Private writable memory of each process (ADR 57). */
  memoryMb: number;
  fileBytes: number;
  /** CPU seconds of each process. This also ends a child that has left its parent's process group. */
  cpuSeconds?: number;
  /** The size of all files below a directory, measured every second. */
  directory?: { path: string; bytes: number };
}

export interface BoundedRun {
  bounds: ProgramBounds;
  env: NodeJS.ProcessEnv;
  /** Ends the program. */
  signal: AbortSignal;
  /** The directory of this process if absent. */
  cwd?: string;
  /** The standard output in pieces. The error output is always discarded. */
  onOutput?: (text: string) => void;
}

/**
 * Starts the program in its own process group, with limits that its children inherit. A second process, the guard, reads a pipe and ends
 * the whole group when the pipe is closed, also because this process died. If the memory limit cannot be set, a stricter limit already
 * exists. The shell waits for both. Otherwise they would stay as zombies in some containers, because the first process does not reap them.
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

/** Shells count file sizes in such blocks. */
const blockBytes = 512;
const everyMs = 1_000;
/** The wait for the end of the output, and then for the end of the last child. */
const drain = { ms: 1_000, stepMs: 20 } as const;

/**
 * The exit code does not show whether the program exceeded a limit or had an error.
 * @param file an absolute path
 * @returns `failed` if the exit code is not 0, or the program exceeded a limit
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
    detached: true, // Its own process group, which ends as a whole.
    stdio: ['pipe', onOutput ? 'pipe' : 'ignore', 'ignore'], // the error output is discarded, because its messages may quote the file
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

/** @returns the exit code after the output was read; null if a signal ended the program */
function endOf(running: ReturnType<typeof spawn>): Promise<number | null> {
  return new Promise((resolve, reject) => {
    running.once('error', reject);
    running.once('close', resolve);
    running.once('exit', () => {
      // A child in another process group may keep the output open.
      setTimeout(() => running.stdout?.destroy(), drain.ms).unref();
    });
  });
}

/** @returns whether the process group exists */
function signalGroup(pid: number, signal: 'SIGKILL' | 0): boolean {
  try {
    return process.kill(-pid, signal);
  } catch {
    return false; // all processes of the group have ended
  }
}

/** Children that still run could write into the directory while it is removed. */
async function endGroup(pid: number): Promise<void> {
  if (!signalGroup(pid, 'SIGKILL')) return;
  for (let waited = 0; waited < drain.ms && signalGroup(pid, 0); waited += drain.stepMs) await sleep(drain.stepMs);
}

/** @returns a function that stops the watch */
function watchSize({ path, bytes }: { path: string; bytes: number }, onExcess: () => void): () => void {
  let isCounting = false;
  const timer = setInterval(() => {
    if (isCounting) return;
    isCounting = true;
    bytesIn(path)
      .then((size) => size > bytes && onExcess())
      .catch(() => undefined) // the directory may be gone, because it is removed when the program ends
      .finally(() => (isCounting = false));
  }, everyMs);
  return () => clearInterval(timer);
}
