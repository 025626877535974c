/** Extracts files in tests inside the extraction thread, as the worker does. */
import { withWords } from '../../../domain/knowledge/indexing/passage-words.policy.ts';
import { extract, type Extraction, type ThreadRules } from '../../../domain/knowledge/extraction/extraction.ts';
import { readFile } from '../../../domain/knowledge/extraction/read-out.ts';
import { cutPassages } from '../../../domain/knowledge/indexing/passages.policy.ts';
import { indexingRules } from '../../../domain/knowledge/indexing/indexing.policy.ts';

type Read = Extract<Extraction, { result: 'read' }>;

export function extracted(
  bytes: Uint8Array<ArrayBuffer> | string,
  {
    says = null,
    rules = {},
    onPage = () => {},
    signal = new AbortController().signal,
  }: {
    says?: string | null;
    rules?: Partial<ThreadRules>;
    onPage?: (pagesRead: number, total: number) => void;
    signal?: AbortSignal;
  } = {},
): Promise<Extraction> {
  const own = new Uint8Array(typeof bytes === 'string' ? Buffer.from(bytes) : bytes); // the bytes, which are transferred to the thread
  return extract(
    { kind: 'media', language: 'en', bytes: own, says },
    { onPage, signal, rules: { ...indexingRules, ...rules } },
  );
}

export async function readFrom(
  bytes: Uint8Array<ArrayBuffer> | string,
  options: Parameters<typeof extracted>[1] = {},
): Promise<Read> {
  const extraction = await extracted(bytes, options);
  if (extraction.result === 'unreadable') throw new Error(`The file cannot be read: ${extraction.code}`);
  return extraction;
}

/** Reads a file without a thread, which is faster for many small files. @throws Unreadable */
export async function readHere(bytes: Uint8Array, says: string | null = null): Promise<Omit<Read, 'result'>> {
  const { sections, ...rest } = await readFile(bytes, says, { onPage() {} });
  return { ...rest, passages: Array.from(cutPassages(sections, 'en'), withWords) };
}

/** Returns a summary of the passages: the position of each passage, and its blocks without white space at their ends. */
export function shortly({
  passages,
}: Pick<Read, 'passages'>): { page?: number; headings: string[]; blocks: string[] }[] {
  return passages.map(({ page, headings, blocks }) => ({
    ...(page !== null && { page }),
    headings,
    blocks: blocks.map((block) => block.trimEnd()),
  }));
}

export async function refusalOf(
  bytes: Uint8Array<ArrayBuffer> | string,
  options: Parameters<typeof extracted>[1] = {},
): Promise<string> {
  const extraction = await extracted(bytes, options);
  if (extraction.result === 'read') throw new Error('The file can be read');
  return extraction.code;
}
