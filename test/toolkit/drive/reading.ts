/** Extracts texts without a worker thread. Returns the sections and the warnings. */
import { readCsv } from '../../../domain/knowledge/extraction/text/csv-text.ts';
import { readHtml } from '../../../domain/knowledge/extraction/html/html-text.ts';
import { readMarkdown } from '../../../domain/knowledge/extraction/text/markdown-text.ts';
import { readPlain } from '../../../domain/knowledge/extraction/text/plain-text.ts';
import { SectionBuilder, type Section } from '../../../domain/knowledge/extraction/sections.ts';

const readers = { html: readHtml, markdown: readMarkdown, plain: readPlain, csv: readCsv };
type TextFormat = keyof typeof readers;

/** @returns the sections, and each warning as the text `code count` */
export async function readAs(format: TextFormat, text: string): Promise<{ sections: Section[]; warnings: string[] }> {
  const into = new SectionBuilder();
  await readers[format](text, into);
  return { sections: into.end(), warnings: into.warnings().map(({ code, count }) => `${code} ${count}`) };
}

/** @returns the texts of all paragraphs, without headings */
export async function textsAs(format: TextFormat, text: string): Promise<string[]> {
  const { sections } = await readAs(format, text);
  return sections.flatMap(({ paragraphs }) => paragraphs.map((paragraph) => paragraph.text));
}
