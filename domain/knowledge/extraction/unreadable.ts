/** Thrown if the content of a source cannot be indexed. It is a result for the source, and not a defect of the program. */
import type { SourceWarning } from '../../../entities/knowledge/values.ts';
import type { Scanned } from './sections.ts';
import type { IndexingError } from '../indexing/indexing.policy.ts';

export class Unreadable extends Error {
  readonly code: Exclude<IndexingError, 'indexing_failed'>;
  /** The warnings that were recorded before the error, which may explain the error. */
  readonly warnings: SourceWarning[];
  /** The pages that are pictures, for a PDF without text. */
  readonly scanned: Scanned | undefined;

  constructor(code: Exclude<IndexingError, 'indexing_failed'>, warnings: SourceWarning[] = [], scanned?: Scanned) {
    super(code);
    this.code = code;
    this.warnings = warnings;
    this.scanned = scanned;
  }
}

/** One part of a file is broken. The other parts can still be read. */
export class BrokenPart extends Unreadable {
  constructor() {
    super('file_corrupt');
  }
}

/**
 * Calls a library that reads the file. Any of its errors means that the file is unreadable.
 * @throws Unreadable file_corrupt, or the code from `codeOf`
 */
export async function readingTheFile<T>(
  work: () => Promise<T> | T,
  codeOf: (error: unknown) => Unreadable['code'] = () => 'file_corrupt',
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof Unreadable ? error : new Unreadable(codeOf(error));
  }
}
