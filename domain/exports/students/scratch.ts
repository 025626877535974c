/** The working file of an export on the disk of the worker. It is removed after the work, and after a crash by the next process. */
import { createReadStream, createWriteStream } from 'node:fs';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { inWorkDirectory } from '../../../platform/infra/programs/work-directory.ts';
import { studentExportRules } from './exports.policy.ts';

export interface Scratch {
  /** @throws the error of `pieces`, or the reason of the signal */
  write(pieces: AsyncIterable<Buffer>, signal: AbortSignal): Promise<void>;
  read(signal: AbortSignal): AsyncIterable<Buffer>;
}

/** @returns the result of the work; undefined if the disk has no room, so that the work did not begin */
export type InScratch = <T>(work: (scratch: Scratch) => Promise<T>) => Promise<T | undefined>;

/** @param workDirectory an existing directory */
export function scratchOnDisk(workDirectory: string, freeBytes: (directory: string) => Promise<number>): InScratch {
  return async (work) => {
    if ((await freeBytes(workDirectory)) < studentExportRules.reserveBytes) return undefined;
    return inWorkDirectory(workDirectory, (directory) => {
      const file = path.join(directory, 'document');
      return work({
        write: (pieces, signal) => pipeline(pieces, createWriteStream(file), { signal }),
        read: (signal) => createReadStream(file, { signal }),
      });
    });
  };
}
