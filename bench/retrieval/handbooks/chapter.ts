/** Reads a chapter of the administrator's handbook from its XHTML. */
import type { CorpusBlock } from '../corpus.ts';
import {
  elementsOf,
  find,
  hasClass,
  isElement,
  parseXml,
  rawText,
  textOf,
  withSingleSpaces,
  type Element,
} from './markup.ts';

export interface Chapter {
  title: string;
  blocks: CorpusBlock[];
}

/** These elements have no running text: pictures, tables, listings, indexes and navigation. */
const leftOut = ['toc', 'indexterm', 'mediaobject', 'docnav'];
const isLeftOut = (element: Element) =>
  ['pre', 'img'].includes(element.name) ||
  (element.name === 'table' && element.attribs['summary'] !== 'Callout list') ||
  leftOut.some((name) => hasClass(element, name));

const withoutNumber = (title: string) => title.replace(/^(Chapter |Capítulo )?\d+(\.\d+)*\.\s*/, '');

/**
 * @param first the name of the first file, without `.html`; each file names the next
 * @param read returns the text of a file
 */
export function readChapter(first: string, read: (file: string) => string): Chapter {
  const start = parseXml(read(`${first}.html`));
  const chapter = find(start, isChapter);
  const title = chapter && find([chapter], ({ name }) => name === 'h1');
  if (!chapter || !title) throw new Error(`${first}.html holds no chapter.`);
  const parts = [chapter];
  for (let file = nextOf(start); file !== undefined;) {
    const page = parseXml(read(file));
    const section = find(page, isChapter) ? undefined : find(page, (element) => hasClass(element, 'section'));
    if (section) parts.push(section);
    file = section && nextOf(page);
  }
  return { title: withoutNumber(textOf(title)), blocks: parts.flatMap(blocksOf) };
}

const isChapter = (element: Element) => hasClass(element, 'chapter') || hasClass(element, 'appendix');

/** @returns the next file of the chapter */
const nextOf = (page: readonly Element[]) =>
  find(page, ({ name, attribs }) => name === 'link' && attribs['rel'] === 'next')?.attribs['href'];

function blocksOf(element: Element): CorpusBlock[] {
  if (isLeftOut(element)) return [];
  if (/^h[2-4]$/.test(element.name)) return heading(element);
  if (hasClass(element, 'title') && element.name === 'p') return block('label', textOf(element));
  if (['dt', 'h5', 'h6'].includes(element.name) || hasClass(element, 'title'))
    return block('paragraph', textOf(element));
  if (hasClass(element, 'para')) return paragraphs(element);
  return elementsOf(element).flatMap(blocksOf);
}

function heading(element: Element): CorpusBlock[] {
  const level = Math.min(Number(element.name.slice(1)), 3);
  return [{ kind: 'heading', level, text: withoutNumber(textOf(element)) }];
}

/** A web address ends the paragraph, and the items of an inner list become separate blocks. */
function paragraphs(element: Element): CorpusBlock[] {
  const blocks: CorpusBlock[] = [];
  let text = '';
  const end = () => {
    blocks.push(...block('paragraph', withSingleSpaces(text)));
    text = '';
  };
  for (const node of element.children) {
    if (!isElement(node) || node.name !== 'div') text += rawText([node], isLeftOut);
    else if (hasClass(node, 'url')) {
      text += rawText([node]);
      end();
    } else {
      end();
      blocks.push(...blocksOf(node));
    }
  }
  end();
  return blocks;
}

const block = (kind: CorpusBlock['kind'], text: string): CorpusBlock[] => (text === '' ? [] : [{ kind, text }]);
