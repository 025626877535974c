/** Runs ffmpeg as a child process with limits of time, memory and disk, without network. It ends when this process ends. */
import { isDeepStrictEqual } from 'node:util';
import { runBounded, type ProgramBounds } from '../programs/bounded-program.ts';
import { lookUp } from '../programs/programs.ts';
import { lookAtFfmpeg, type FfmpegFinding } from './ffmpeg-look.ts';

export type FfmpegBounds = Pick<ProgramBounds, 'timeMs' | 'memoryMb' | 'fileBytes'>;

/** `failed`: ffmpeg failed or exceeded a limit. `absent`: there is no such executable file. */
export type FfmpegOutcome = 'done' | 'failed' | 'absent';

/** This name is searched on the PATH. A deployment can name a different file. */
export const usualFfmpeg = 'ffmpeg';

/** Contains no secret. */
const ffmpegEnvironment = (): NodeJS.ProcessEnv => ({ PATH: process.env['PATH'] });

/**
 * Looks for the file, because the exit code does not show whether ffmpeg is missing.
 * @param executable a path, or a name on the PATH
 * @param args `-progress` is added
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

/** Knows whether this machine has a working ffmpeg. */
export interface Ffmpeg {
  /** @throws the signal's reason */
  run(args: readonly string[], options: Parameters<typeof runFfmpeg>[2]): Promise<FfmpegOutcome>;
  /** undefined before the first check. */
  readonly finding: FfmpegFinding | undefined;
  /** Whether the last check found an ffmpeg that can make renditions; undefined before the first check. */
  readonly isThere: boolean | undefined;
  /**
   * Checks a working program again only if its file has changed.
   * @param options.force for example after a failure
   */
  look(options?: { force: boolean }): Promise<boolean>;
}

/** @param onFinding gets each result that differs from the previous one */
export function ffmpegAt(executable: string, onFinding: (finding: FfmpegFinding) => void = () => undefined): Ffmpeg {
  let finding: FfmpegFinding | undefined;
  let running: Promise<FfmpegFinding> | undefined;
  const isRight = () => finding && finding.mistakes.length === 0;
  const look: Ffmpeg['look'] = async ({ force } = { force: false }) => {
    // Videos that are processed at the same time share one check.
    running ??= lookAtFfmpeg(executable, {
      run: runFfmpeg,
      env: ffmpegEnvironment(),
      before: force ? undefined : finding,
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
