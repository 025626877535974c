/** Thrown where a source itself is why it cannot be indexed: a result, not a fault of ours. */
import type { SourceWarning } from '../../../entities/knowledge/values.ts';
import type { Scanned } from './sections.ts';
import type { IndexingError } from '../indexing/indexing.policy.ts';

export class Unreadable extends Error {
  readonly code: Exclude<IndexingError, 'indexing_failed'>;
  /** What was found on the way, which may say why. */
  readonly warnings: SourceWarning[];
  /** Of a PDF without text: the pages that are pictures. */
  readonly scanned: Scanned | undefined;

  constructor(code: Exclude<IndexingError, 'indexing_failed'>, warnings: SourceWarning[] = [], scanned?: Scanned) {
    super(code);
    this.code = code;
    this.warnings = warnings;
    this.scanned = scanned;
  }
}

/** Thrown if one part of a file is broken. The other parts can still be read. */
export class BrokenPart extends Unreadable {
  constructor() {
    super('file_corrupt');
  }
}

/** Runs a library over the file: whatever it throws, the file is why. @throws Unreadable file_corrupt, or what `codeOf` says */
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
