/** Extracts the text of a source in a thread with limits, so that no file can block the process, fill its memory or end it. */
import { moduleAt } from '../../../platform/core/modules.ts';
import { createThreads } from '../../../platform/infra/threads/bounded-thread.ts';
import type { Source, ThreadMessage, ThreadResult } from './extraction-thread.ts';
import { indexingRules, type IndexingError } from '../indexing/indexing.policy.ts';
import type { SearchedPassage } from '../indexing/passage-words.policy.ts';
import type { Scanned } from './sections.ts';
import type { SourceWarning } from '../../../entities/knowledge/values.ts';

/** The result of an extraction. `scanned` lists the pages of a PDF that are pictures; it is absent if the PDF has no such pages. */
export type Extraction =
  | {
      result: 'read';
      pageCount: number | null;
      passages: SearchedPassage[];
      warnings: SourceWarning[];
      scanned?: Scanned;
    }
  /** The source itself is unreadable, so a second try would also fail. */
  | {
      result: 'unreadable';
      code: Exclude<IndexingError, 'indexing_failed'>;
      warnings: SourceWarning[];
      scanned?: Scanned;
    };

export type ThreadRules = Record<'extractionMs' | 'maxHeapMb' | 'maxBuffersMb', number>;

/**
 * @param source its bytes move to the thread, so the caller can no longer use them
 * @param options.onPage gets the number of pages that were read and of all pages
 * @param options.signal ends the thread
 * @param options.rules the limits of time and memory
 * @throws the reason of the signal, if the signal ends the thread; any error that the source did not cause
 */
export async function extract(
  source: Source,
  options: {
    onPage: (pagesRead: number, total: number) => void;
    signal: AbortSignal;
    rules?: ThreadRules | undefined;
  },
): Promise<Extraction> {
  const { extractionMs: workMs, maxHeapMb, maxBuffersMb } = options.rules ?? indexingRules;
  const passages: SearchedPassage[] = [];
  const module = moduleAt('./extraction-thread.ts', import.meta.url);
  const bounds = { workMs, maxHeapMb, maxBuffersMb };
  const ended = await createThreads(module, bounds, { uses: 1 }).run<ThreadResult>({
    data: source,
    transfer: 'bytes' in source ? [source.bytes.buffer as ArrayBuffer] : [],
    signal: options.signal,
    onTold(received) {
      const message = received as ThreadMessage;
      if (message.tells === 'progress') options.onPage(message.pagesRead, message.total);
      else passages.push(...message.passages);
    },
  });
  if (typeof ended === 'string') return { result: 'unreadable', code: ended, warnings: [] };
  return 'code' in ended ? { result: 'unreadable', ...ended } : { result: 'read', ...ended, passages };
}
