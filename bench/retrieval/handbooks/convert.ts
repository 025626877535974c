/** Converts the unpacked packages to a corpus: a document for each chapter, and for each subject of GNOME Help. */
import { readFileSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { corpusLanguages, type CorpusBlock, type CorpusLanguage } from '../corpus.ts';
import { readChapter } from './chapter.ts';
import { chapters, subjects, type Subject } from './packages.ts';
import { cutPages, markdownOf } from './pages.ts';
import { readTopic, titleOfTopic } from './topic.ts';

const folders = { en: { chapters: 'en-US', topics: 'C' }, pt: { chapters: 'pt-BR', topics: 'pt_BR' } };

/** In characters. Topics that are shorter only refer to other topics. */
const shortestTopic = 190;

/** @param administrators @param gnome the unpacked packages @param corpus is created */
export async function convertHandbooks(administrators: string, gnome: string, corpus: string): Promise<void> {
  for (const language of corpusLanguages) {
    await mkdir(path.join(corpus, language), { recursive: true });
    const html = path.join(administrators, 'usr/share/doc/debian-handbook/html', folders[language].chapters);
    for (const first of chapters[language]) await write(corpus, language, chapterOf(html, first, language));
    const help = path.join(gnome, 'usr/share/help', folders[language].topics, 'gnome-help');
    for (const subject of subjects[language]) await write(corpus, language, await documentOf(help, subject));
  }
}

interface Text {
  title: string;
  blocks: readonly CorpusBlock[];
}

async function write(corpus: string, language: CorpusLanguage, { title, blocks }: Text): Promise<void> {
  const markdown = markdownOf(title, cutPages(withoutBareTitles(blocks)));
  await writeFile(path.join(corpus, language, `${nameOf(title)}.md`), markdown);
}

/** @returns the title in small letters and hyphens, without accents */
const nameOf = (title: string) =>
  title
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');

/** @returns the chapter, without paragraphs that are not translated */
function chapterOf(html: string, first: string, language: CorpusLanguage): Text {
  const { title, blocks } = readChapter(first, (file) => readFileSync(path.join(html, file), 'utf8'));
  if (language === 'en') return { title, blocks };
  return { title, blocks: blocks.filter(({ kind, text }) => kind !== 'paragraph' || !isEnglish(text)) };
}

const commonWords = {
  en: new Set(['the', 'of', 'and', 'to', 'is', 'in', 'that', 'for', 'it', 'with', 'are', 'this']),
  pt: new Set(['o', 'os', 'de', 'que', 'e', 'da', 'do', 'em', 'um', 'uma', 'para', 'é', 'não', 'com']),
};

function isEnglish(text: string): boolean {
  const words = text.toLowerCase().split(/[^\p{L}]+/u);
  const count = (common: ReadonlySet<string>) => words.filter((word) => common.has(word)).length;
  return count(commonWords.en) > count(commonWords.pt);
}

async function documentOf(help: string, { guide, prefixes }: Subject): Promise<Text> {
  const read = (name: string) => readFile(path.join(help, name), 'utf8');
  const names = (await readdir(help)).filter((name) => name.endsWith('.page')).toSorted();
  const topics = prefixes.flatMap((prefix) => names.filter((name) => name.startsWith(prefix)));
  const blocks: CorpusBlock[] = [];
  for (const topic of topics) {
    const own = readTopic(await read(topic));
    if (own.reduce((sum, { text }) => sum + text.length, 0) >= shortestTopic) blocks.push(...own);
  }
  return { title: titleOfTopic(await read(`${guide}.page`)), blocks };
}

/** Leaves out the titles of pictures, and of sections without text. */
function withoutBareTitles(blocks: readonly CorpusBlock[]): CorpusBlock[] {
  return blocks.filter((block, place) => {
    const next = blocks[place + 1];
    if (block.kind === 'label') return next && next.kind !== 'label' && next.kind !== 'heading';
    if (block.kind === 'heading') return next && !(next.kind === 'heading' && (next.level ?? 0) <= (block.level ?? 0));
    return true;
  });
}
