/** Reads a topic of GNOME Help from its Mallard XML. */
import type { CorpusBlock } from '../corpus.ts';
import { elementsOf, parseXml, textOf, type Element } from './markup.ts';

/** These elements have no running text, or text that is shown only under a condition. */
const leftOut = ['info', 'comment', 'media', 'figure', 'table', 'screen', 'code', 'example', 'links', 'title'];
const isLeftOut = ({ name }: Element) => leftOut.includes(name) || name.startsWith('if:');

/** @returns the blocks; first the title, as a heading of level 2 @throws Error if the topic has no title */
export function readTopic(xml: string): CorpusBlock[] {
  const page = parseXml(xml).find(({ name }) => name === 'page');
  if (!page) throw new Error('The topic has no page.');
  return [{ kind: 'heading', level: 2, text: titleOf(page) }, ...elementsOf(page).flatMap(blocksOf)];
}

export function titleOfTopic(xml: string): string {
  const page = parseXml(xml).find(({ name }) => name === 'page');
  return page ? titleOf(page) : '';
}

function titleOf(parent: Element): string {
  const title = elementsOf(parent).find(({ name }) => name === 'title');
  return title ? textOf(title) : '';
}

function blocksOf(element: Element): CorpusBlock[] {
  if (isLeftOut(element)) return [];
  if (element.name === 'section')
    return [{ kind: 'heading', level: 3, text: titleOf(element) }, ...elementsOf(element).flatMap(blocksOf)];
  if (element.name === 'p') return block('paragraph', textOf(element));
  if (element.name === 'item') return item(element);
  return elementsOf(element).flatMap(blocksOf);
}

/** The title of an item and its own paragraphs form one block, and the nested parts the next blocks. */
function item(element: Element): CorpusBlock[] {
  const inside = elementsOf(element);
  const own = inside.filter(({ name }) => name === 'title' || name === 'p').map((part) => textOf(part));
  const nested = inside.filter(({ name }) => name !== 'p').flatMap(blocksOf);
  return [...block('item', own.filter(Boolean).join(' ')), ...nested];
}

const block = (kind: CorpusBlock['kind'], text: string): CorpusBlock[] => (text === '' ? [] : [{ kind, text }]);
