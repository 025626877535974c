/** PowerPoint files, read out: a slide is a page, in the order in which they are shown, with the speaker's notes after its text. */
import { Parser } from 'htmlparser2';
import type { Archive } from './archive.ts';
import { indexingRules } from '../indexing/indexing.policy.ts';
import type { SectionBuilder } from './sections.ts';
import { Unreadable } from './unreadable.ts';

/**
 * @param onPage called with how many slides are read, and how many there are
 * @returns the number of slides @throws Unreadable too_many_pages, too_large, file_corrupt, file_encrypted
 */
export async function readPptx(
  archive: Archive,
  into: SectionBuilder,
  onPage: (done: number, total: number) => void,
): Promise<number> {
  const main = 'ppt/presentation.xml';
  const targets = new Map((await relationsOf(archive, main)).map(({ id, target }) => [id, target]));
  const slides = elementsOf((await archive.text(main)) ?? '', 'p:sldId').flatMap((attributes) => {
    const target = targets.get(attributes['r:id'] ?? '');
    return target === undefined ? [] : [target];
  });
  if (slides.length > indexingRules.maxPages) throw new Unreadable('too_many_pages');
  for (const [at, slide] of slides.entries()) {
    into.startPage(at + 1, false);
    readShapes(await partOf(archive, slide), into);
    const notes = (await relationsOf(archive, slide)).find(({ type }) => type.endsWith('/notesSlide'));
    if (notes) readShapes(await partOf(archive, notes.target), into);
    onPage(at + 1, slides.length);
  }
  return slides.length;
}

async function partOf(archive: Archive, name: string): Promise<string> {
  const text = await archive.text(name);
  if (text === undefined) throw new Unreadable('file_corrupt');
  return text;
}

interface Relation {
  id: string;
  type: string;
  /** The name of the part in the archive. */
  target: string;
}

async function relationsOf(archive: Archive, part: string): Promise<Relation[]> {
  const folder = part.slice(0, part.lastIndexOf('/') + 1);
  const xml = await archive.text(`${folder}_rels/${part.slice(folder.length)}.rels`);
  return elementsOf(xml ?? '', 'Relationship')
    .filter((attributes) => attributes['TargetMode'] !== 'External')
    .map((attributes) => ({
      id: attributes['Id'] ?? '',
      type: attributes['Type'] ?? '',
      target: nameOf(attributes['Target'] ?? '', folder),
    }));
}

/** A target is a path from the folder or from the archive's root. What leads elsewhere is a name that the archive lacks. */
function nameOf(target: string, folder: string): string {
  return URL.parse(target, `file:///${folder}`)?.pathname.slice(1) ?? target;
}

function elementsOf(xml: string, wanted: string): Record<string, string>[] {
  const found: Record<string, string>[] = [];
  const parser = new Parser(
    { onopentag: (name, attributes) => void (name === wanted && found.push(attributes)) },
    { xmlMode: true },
  );
  parser.write(xml);
  parser.end();
  return found;
}

/** Shapes whose text is on every slide, or is no text of it. */
const furniture = new Set(['sldNum', 'dt', 'ftr', 'hdr', 'sldImg']);
const titles = new Set(['title', 'ctrTitle']);

/** Reads the text of a slide's shapes, or of its notes. The title is the heading of what follows. */
function readShapes(xml: string, into: SectionBuilder): void {
  let placeholder = '';
  let title: string[] = [];
  let text: string[] = [];
  let cells: string[] | null = null;
  let isText = false;
  let fallbacks = 0; // the same shapes again, for older programs

  const endTitle = () => {
    if (title.length > 0) into.heading(1, title.join(' '));
    title = [];
  };
  const endParagraph = () => {
    const words = text.join('').trim();
    text = [];
    if (words === '' || furniture.has(placeholder)) return;
    if (cells) cells.push(`${cells.pop() ?? ''} ${words}`.trim());
    else if (titles.has(placeholder)) title.push(words);
    else into.paragraph({ text: words, kind: 'row' });
  };
  const opening: Record<string, (attributes: Record<string, string>) => void> = {
    'p:sp': () => (placeholder = ''),
    'p:ph': (attributes) => (placeholder = attributes['type'] ?? 'body'),
    'a:tr': () => (cells = []),
    'a:tc': () => cells?.push(''),
    'a:t': () => (isText = true),
    'a:br': () => text.push(' '),
    'a:tab': () => text.push(' '),
  };
  const closing: Record<string, () => void> = {
    'a:t': () => (isText = false),
    'a:p': endParagraph,
    'a:tr': () => {
      into.paragraph({ text: (cells ?? []).filter((cell) => cell !== '').join(' | '), kind: 'row' });
      cells = null;
    },
    'p:sp': () => {
      endTitle();
      placeholder = '';
    },
  };
  const parser = new Parser(
    {
      onopentag(name, attributes) {
        if (name === 'mc:Fallback') fallbacks += 1;
        if (fallbacks === 0 && Object.hasOwn(opening, name)) opening[name]?.(attributes);
      },
      ontext(part) {
        if (isText && fallbacks === 0) text.push(part);
      },
      onclosetag(name) {
        if (fallbacks === 0 && Object.hasOwn(closing, name)) closing[name]?.();
        if (name === 'mc:Fallback') fallbacks -= 1;
      },
    },
    { xmlMode: true, decodeEntities: true },
  );
  parser.write(xml);
  parser.end();
}
