/** ffmpeg as a child process: bounded in time, memory and disk, without network, and ended with this process. */
import { spawn } from 'node:child_process';
import { isDeepStrictEqual } from 'node:util';
import { lookUp } from '../programs.ts';
import { lookAtFfmpeg, type FfmpegFinding } from './ffmpeg-look.ts';

export interface FfmpegBounds {
  timeMs: number;
  /** Memory that the process may write and shares with no other: heap, stacks of threads, data of libraries (ADR 57). */
  memoryMb: number;
  /** Of each file that it writes. */
  fileBytes: number;
}

/** `failed`: ffmpeg could not do it, or reached a bound. `absent`: there is no such file that may be executed. */
export type FfmpegOutcome = 'done' | 'failed' | 'absent';

/**
 * Starts ffmpeg below other work, within bounds that it inherits. Two cases end it early: this process closes the pipe, or has ended
 * itself and so cannot. The kernel closes the pipe then. A bound of memory that cannot be set is looser than one that holds already.
 */
const script = `
ulimit -d "$1" 2>/dev/null
ulimit -f "$2" && ulimit -c 0 || exit 1
shift 2
exec 3<&0
nice -n 10 "$@" </dev/null &
program=$!
{ cat <&3; kill -9 "$program"; } >/dev/null 2>&1 &
exec 3<&-
wait "$program"`;

/** Looked up on the PATH unless a deployment names another. */
export const usualFfmpeg = 'ffmpeg';

/** A shell counts the size of a file in blocks. */
const blockBytes = 512;

/** What ffmpeg inherits of our environment: no secret of ours. */
const ffmpegEnvironment = (): NodeJS.ProcessEnv => ({ PATH: process.env['PATH'] });

/**
 * Whether there is an ffmpeg is a matter of the file alone: an exit code does not say whether the program or a bound was the cause.
 * @param executable a path, or a name on the PATH
 * @param args of ffmpeg; `-progress` is added
 * @param options.onProgress gets the milliseconds of the output so far
 * @param options.signal ends ffmpeg
 * @throws the signal's reason
 */
export async function runFfmpeg(
  executable: string,
  args: readonly string[],
  {
    bounds,
    signal,
    onProgress = () => undefined,
  }: { bounds: FfmpegBounds; signal: AbortSignal; onProgress?: (ms: number) => void },
): Promise<FfmpegOutcome> {
  const [file] = (await lookUp(executable, process.env['PATH'] ?? '')).files;
  signal.throwIfAborted();
  if (file === undefined) return 'absent';
  const limits = [bounds.memoryMb * 1_024, Math.ceil(bounds.fileBytes / blockBytes)].map(String);
  const quiet = ['-nostdin', '-hide_banner', '-loglevel', 'quiet', '-progress', 'pipe:1'];
  const running = spawn('/bin/sh', ['-c', script, 'sh', ...limits, file, ...quiet, ...args], {
    env: ffmpegEnvironment(),
    stdio: ['pipe', 'pipe', 'ignore'], // what it complains about may quote the file
  });
  const end = () => void running.stdin.destroy();
  const limit = setTimeout(end, bounds.timeMs);
  signal.addEventListener('abort', end, { once: true });
  running.stdin.on('error', () => undefined);
  running.stdout.setEncoding('latin1').on('data', (text: string) => {
    const [, microseconds] = /out_time_ms=(\d+)/.exec(text) ?? [];
    if (microseconds !== undefined) onProgress(Number(microseconds) / 1_000);
  });
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      running.once('error', reject);
      running.once('close', resolve);
    });
    signal.throwIfAborted();
    return code === 0 ? 'done' : 'failed';
  } finally {
    clearTimeout(limit);
    signal.removeEventListener('abort', end);
  }
}

/** What processes files with ffmpeg, and whether one on this machine can. */
export interface Ffmpeg {
  /** @throws the signal's reason */
  run(args: readonly string[], options: Parameters<typeof runFfmpeg>[2]): Promise<FfmpegOutcome>;
  /** What the last look has found; undefined before the first one. */
  readonly finding: FfmpegFinding | undefined;
  /** Whether the last look has found one that makes renditions; undefined before the first one. */
  readonly isThere: boolean | undefined;
  /**
   * Looks whether there is one that makes renditions. A program that was right is looked at again only after it has changed.
   * @param options.anew looks in any case, as after a failure
   */
  look(options?: { anew: boolean }): Promise<boolean>;
}

/** @param onFinding gets what a look has found, each time that it differs from the last */
export function ffmpegAt(executable: string, onFinding: (finding: FfmpegFinding) => void = () => undefined): Ffmpeg {
  let finding: FfmpegFinding | undefined;
  let running: Promise<FfmpegFinding> | undefined;
  const isRight = () => finding && finding.mistakes.length === 0;
  const look: Ffmpeg['look'] = async ({ anew } = { anew: false }) => {
    // Videos that are worked on at the same time share a look.
    running ??= lookAtFfmpeg(executable, {
      run: runFfmpeg,
      env: ffmpegEnvironment(),
      before: anew ? undefined : finding,
    }).finally(() => (running = undefined));
    const found = await running;
    if (!isDeepStrictEqual(found, finding)) onFinding(found);
    finding = found;
    return found.mistakes.length === 0;
  };
  return {
    async run(args, options) {
      const outcome = await runFfmpeg((isRight() && finding?.file) || executable, args, options);
      if (outcome === 'absent') await look();
      return outcome;
    },
    get finding() {
      return finding;
    },
    get isThere() {
      return isRight();
    },
    look,
  };
}
