/** ffmpeg as a child process: bounded in time, memory and disk, without network, and ended with this process. */
import { isDeepStrictEqual } from 'node:util';
import { runBounded, type ProgramBounds } from '../bounded-program.ts';
import { lookUp } from '../programs.ts';
import { lookAtFfmpeg, type FfmpegFinding } from './ffmpeg-look.ts';

export type FfmpegBounds = Pick<ProgramBounds, 'timeMs' | 'memoryMb' | 'fileBytes'>;

/** `failed`: ffmpeg could not do it, or reached a bound. `absent`: there is no such file that may be executed. */
export type FfmpegOutcome = 'done' | 'failed' | 'absent';

/** Looked up on the PATH unless a deployment names another. */
export const usualFfmpeg = 'ffmpeg';

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
  const quiet = ['-nostdin', '-hide_banner', '-loglevel', 'quiet', '-progress', 'pipe:1'];
  return runBounded(file, [...quiet, ...args], {
    bounds,
    env: ffmpegEnvironment(),
    signal,
    onOutput(text) {
      const [, microseconds] = /out_time_ms=(\d+)/.exec(text) ?? [];
      if (microseconds !== undefined) onProgress(Number(microseconds) / 1_000);
    },
  });
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
