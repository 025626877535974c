/** Builds the dependencies of the activities that read and write files, with their metrics and log lines. */
import { availableParallelism } from 'node:os';
import type { ActivityDeps } from '../../activities/index.ts';
import { scratchOnDisk } from '../../domain/exports/students/scratch.ts';
import { extract } from '../../domain/knowledge/extraction/extraction.ts';
import { videoPermits } from '../../domain/media/processing.policy.ts';
import { fileReaders } from '../../domain/media/processing/readers.ts';
import { subtitlesOf } from '../../domain/media/transcriptions/speech.ts';
import { createClubPermits } from '../../platform/engine/club-permits.ts';
import { describeError } from '../../platform/infra/describe-error.ts';
import { freeBytes } from '../../platform/infra/programs/work-directory.ts';
import { mediaFiles, mediaMoves, sources, studentExports, transcriptions } from '../reports/metrics.ts';
import type { Parts } from './parts.ts';

export function fileDeps({
  config: { subtitlesCommand, video },
  resources: { db, storage },
  programs: { ffmpeg, ocr },
  failpoint,
  log,
}: Parts): Pick<ActivityDeps, 'sources' | 'media' | 'moves' | 'studentExports' | 'transcriptions'> {
  const { workDirectory } = video;
  const logFault = (message: string) => (error: unknown) => log.warn({ error: describeError(error) }, message);
  return {
    sources: {
      db,
      storage,
      extract,
      ocr,
      onFault: logFault('a source was not indexed; it is tried again'),
      onOutcome: (outcome) => sources.inc({ outcome }),
      failpoint,
    },
    media: {
      db,
      storage,
      readers: fileReaders,
      onFault: logFault('a file was not processed; it is tried again'),
      onOutcome: (outcome) => mediaFiles.inc({ outcome }),
      video: {
        ffmpeg,
        workDirectory,
        freeBytes,
        permits: createClubPermits(videoPermits(availableParallelism())),
      },
      failpoint,
    },
    transcriptions: {
      db,
      storage,
      makeSubtitles: (file, work) =>
        subtitlesOf({ command: subtitlesCommand, ffmpeg, workDirectory, freeBytes }, file, work),
      onFault: logFault('no subtitles were made; it is tried again'),
      onOutcome: (outcome) => transcriptions.inc({ outcome }),
      failpoint,
    },
    studentExports: {
      db,
      storage,
      inScratch: scratchOnDisk(workDirectory, freeBytes),
      onFault: logFault('a student was not exported; it is tried again'),
      onOutcome: (outcome) => studentExports.inc({ outcome }),
      failpoint,
    },
    moves: { db, storage, onOutcome: (outcome) => mediaMoves.inc({ outcome }), failpoint },
  };
}
