/** The external programs that a worker runs: ffmpeg, OCR and the command for subtitles. Each program is optional. */
import type { Logger } from 'pino';
import type { Config } from '../../config.ts';
import { StartProblem } from '../../platform/core/start-problem.ts';
import { createSinglePermit } from '../../platform/engine/single-permit.ts';
import type { TaskQueue } from '../../platform/engine/workflow-types.ts';
import { describeError } from '../../platform/infra/describe-error.ts';
import { ocrProgramAt, type OcrProgram } from '../../platform/infra/programs/ocr-program.ts';
import { findProgram } from '../../platform/infra/programs/placeholder-command.ts';
import type { FfmpegFinding } from '../../platform/infra/video/ffmpeg-look.ts';
import { ffmpegAt, type Ffmpeg } from '../../platform/infra/video/ffmpeg.ts';
import { freeBytes, removeAbandoned } from '../../platform/infra/programs/work-directory.ts';
import { ocrLanguagesOf } from '../../domain/knowledge/indexing/ocr.policy.ts';
import type { OcrDeps } from '../../domain/knowledge/indexing/scanned-pages.ts';
import { noProgram } from '../../domain/media/transcriptions/trial.ts';
import { ocrRuns } from '../reports/metrics.ts';

export interface Programs {
  ffmpeg: Ffmpeg;
  /** Undefined if the deployment has no OCR. */
  ocr: OcrDeps | undefined;
}

/**
 * Checks the programs that the served queues need, and logs whether the programs work.
 * @throws StartProblem if the work directory cannot be used
 */
export async function preparePrograms(config: Config, served: readonly TaskQueue[], log: Logger): Promise<Programs> {
  const ffmpeg = ffmpegAt(config.video.ffmpeg, (finding) => logFfmpeg(finding, log));
  const ocr = createOcr(config, log);
  const makesSubtitles = served.includes('subtitles') && config.subtitlesCommand !== undefined;
  if (served.includes('media') || served.includes('moves') || makesSubtitles || (served.includes('indexing') && ocr))
    await prepareWork(config.video.workDirectory);
  if (served.includes('media')) await ffmpeg.look();
  if (makesSubtitles) await logSubtitles(config, log);
  if (served.includes('indexing') && ocr) await logOcr(config, ocr.program, log);
  return { ffmpeg, ocr };
}

/** @throws StartProblem */
async function prepareWork(workDirectory: string): Promise<void> {
  await removeAbandoned(workDirectory).catch((error: unknown) => {
    throw new StartProblem(`MEDIA_WORK_DIRECTORY cannot be used (${describeError(error).code ?? 'no code'}).`);
  });
}

function createOcr(
  { ocr: { command, languages }, video: { workDirectory } }: Config,
  log: Logger,
): OcrDeps | undefined {
  if (command === undefined) return undefined;
  return {
    program: ocrProgramAt(command, workDirectory),
    furtherLanguages: languages,
    workDirectory,
    freeBytes,
    permit: createSinglePermit(),
    onOutcome: (outcome) => ocrRuns.inc({ outcome }),
    onFlaw: (flaw) => log.warn(`${flaw} Scanned pages are not read until then.`),
  };
}

/**
 * Checks OCR only once at the start, because a check takes a few seconds. Each further language is checked before the first file in this
 * language.
 */
async function logOcr({ ocr: { languages } }: Config, program: OcrProgram, log: Logger): Promise<void> {
  const flaw = await program.flawFor(ocrLanguagesOf('en', languages));
  if (flaw === undefined) log.info('scanned pages are read by OCR');
  else log.warn(`${flaw} Scanned pages are not read until then.`);
}

/**
 * Checks at the start only whether the command exists. The worker does not run the command, because a large model takes minutes. Only
 * `doctor`
 * runs it.
 */
async function logSubtitles({ subtitlesCommand = [] }: Config, log: Logger): Promise<void> {
  const file = await findProgram(subtitlesCommand);
  if (file !== undefined) log.info({ file }, 'the worker makes subtitles from speech');
  else log.warn(`${noProgram(subtitlesCommand)} Subtitles of speech wait until then.`);
}

/** Logs the result of the check at the start, and again whenever the result has changed. */
function logFfmpeg({ file, version, mistakes, notes }: FfmpegFinding, log: Logger): void {
  if (mistakes.length === 0) log.info({ file, version }, 'the worker makes renditions of videos with ffmpeg');
  for (const sentence of [...mistakes, ...notes]) log.warn({ file, version }, sentence);
}
