/** ffmpeg as a child process: bounded in time, memory and disk, without network, and ended with this process. */
import { spawn } from 'node:child_process';

export interface FfmpegBounds {
  timeMs: number;
  /** Address space of the process. */
  memoryMb: number;
  /** Of each file that it writes. */
  fileBytes: number;
}

/** `failed`: ffmpeg could not do it, or reached a bound. `absent`: there is no ffmpeg that can be started. */
export type FfmpegOutcome = 'done' | 'failed' | 'absent';

/**
 * Starts ffmpeg below other work, within bounds that it inherits. Two cases end it early: this process closes the pipe, or has ended
 * itself and so cannot. The kernel closes the pipe then.
 */
const script = `
ulimit -v "$1" 2>/dev/null
ulimit -f "$2" && ulimit -c 0 || exit 1
shift 2
exec 3<&0
nice -n 10 "$@" </dev/null &
program=$!
{ cat <&3; kill -9 "$program"; } >/dev/null 2>&1 &
exec 3<&-
wait "$program"`;

/** A shell counts the size of a file in blocks. */
const blockBytes = 512;
/** As a shell answers for a program that is not there, or may not be run. */
const absentCodes: readonly (number | null)[] = [126, 127];

/**
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
  signal.throwIfAborted();
  const limits = [bounds.memoryMb * 1_024, Math.ceil(bounds.fileBytes / blockBytes)].map(String);
  const quiet = ['-nostdin', '-hide_banner', '-loglevel', 'quiet', '-progress', 'pipe:1'];
  const running = spawn('/bin/sh', ['-c', script, 'sh', ...limits, executable, ...quiet, ...args], {
    env: { PATH: process.env['PATH'] }, // no secret of ours
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
    if (code === 0) return 'done';
    return absentCodes.includes(code) ? 'absent' : 'failed';
  } finally {
    clearTimeout(limit);
    signal.removeEventListener('abort', end);
  }
}

/** What processes files with ffmpeg, and whether there is one on this machine. */
export interface Ffmpeg {
  /** @throws the signal's reason */
  run(args: readonly string[], options: Parameters<typeof runFfmpeg>[2]): Promise<FfmpegOutcome>;
  /** As the last look or run has found; undefined before the first one. */
  readonly isThere: boolean | undefined;
  /** Looks. */
  look(): Promise<boolean>;
}

const lookBounds: FfmpegBounds = { timeMs: 10_000, memoryMb: 2_048, fileBytes: 0 };

export function ffmpegAt(executable: string): Ffmpeg {
  let isThere: boolean | undefined;
  const run: Ffmpeg['run'] = async (args, options) => {
    const outcome = await runFfmpeg(executable, args, options);
    isThere = outcome !== 'absent';
    return outcome;
  };
  return {
    run,
    get isThere() {
      return isThere;
    },
    async look() {
      return (await run(['-version'], { bounds: lookBounds, signal: new AbortController().signal })) !== 'absent';
    },
  };
}
