/**
 * The thread that extracts the text of a source and cuts it into passages. The main thread limits the time and memory of this thread, and
 * can end this thread at any point.
 */
import type { Language } from '../../../entities/clubs/values.ts';
import { serveThread, type Orderer } from '../../../platform/infra/threads/thread-work.ts';
import { indexingRules } from '../indexing/indexing.policy.ts';
import { withWords, type SearchedPassage } from '../indexing/passage-words.policy.ts';
import { cutPassages } from '../indexing/passages.policy.ts';
import { readFile, readLesson, readSubtitles } from './read-out.ts';
import type { ReadOut, Scanned } from './sections.ts';
import { Unreadable } from './unreadable.ts';
import type { SourceWarning } from '../../../entities/knowledge/values.ts';

export type Source = { language: Language } & (
  | { kind: 'lesson'; markdown: string }
  /**
   * `says` is the media type that the upload announced. `pages` are the pages of a PDF to read, in order, from 1; without it, all pages are
   * read.
   */
  | { kind: 'media'; bytes: Uint8Array; says: string | null; pages?: readonly number[] }
  /** The subtitles of a video or sound recording, as WebVTT. */
  | { kind: 'subtitles'; bytes: Uint8Array }
);

export type ThreadMessage =
  | { tells: 'progress'; pagesRead: number; total: number }
  | { tells: 'passages'; passages: SearchedPassage[] };

export type ThreadResult =
  | { pageCount: number | null; warnings: SourceWarning[]; scanned?: Scanned }
  | (Pick<Unreadable, 'code' | 'warnings'> & { scanned?: Scanned });

const passagesAMessage = 500;

async function extract(source: Source, orderer: Orderer): Promise<ThreadResult> {
  const tell = (message: ThreadMessage) => orderer.tell(message);
  const onPage = (pagesRead: number, total: number) => tell({ tells: 'progress', pagesRead, total });
  const { sections, ...read } = await readOut(source, onPage);
  let count = 0;
  let passages: SearchedPassage[] = [];
  for (const passage of cutPassages(sections, source.language)) {
    count += 1;
    if (count > indexingRules.maxPassages) throw new Unreadable('too_large');
    passages.push(withWords(passage));
    if (passages.length < passagesAMessage) continue;
    tell({ tells: 'passages', passages });
    passages = [];
  }
  tell({ tells: 'passages', passages });
  return read;
}

function readOut(source: Source, onPage: (pagesRead: number, total: number) => void): Promise<ReadOut> | ReadOut {
  if (source.kind === 'lesson') return readLesson(source.markdown);
  if (source.kind === 'subtitles') return readSubtitles(source.bytes);
  return readFile(source.bytes, source.says, { onPage, pages: source.pages });
}

serveThread(async (source, orderer) => {
  try {
    return await extract(source as Source, orderer);
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    const { code, warnings, scanned } = error;
    return { code, warnings, ...(scanned && { scanned }) };
  }
});
