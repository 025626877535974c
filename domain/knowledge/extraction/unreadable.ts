/**
 * The error that is thrown if the content of a source cannot be indexed. The error is a result for the source, and not a defect of the
 * program.
 */
import type { SourceWarning } from '../../../entities/knowledge/values.ts';
import type { Scanned } from './sections.ts';
import type { IndexingError } from '../indexing/indexing.policy.ts';

export class Unreadable extends Error {
  readonly code: Exclude<IndexingError, 'indexing_failed'>;
  /** The warnings that were recorded before the error, which may explain the error. */
  readonly warnings: SourceWarning[];
  /** The pages that are pictures. Present if the source is a PDF without text. */
  readonly scanned: Scanned | undefined;

  constructor(code: Exclude<IndexingError, 'indexing_failed'>, warnings: SourceWarning[] = [], scanned?: Scanned) {
    super(code);
    this.code = code;
    this.warnings = warnings;
    this.scanned = scanned;
  }
}

/** The error that is thrown if one part of a file is broken. The other parts can still be read. */
export class BrokenPart extends Unreadable {
  constructor() {
    super('file_corrupt');
  }
}

/**
 * Calls a library that reads the file. Any error of the library means that the file is unreadable.
 * @throws Unreadable file_corrupt, or the code that `codeOf` returns for the error
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
