/** Builds Office files part by part, with content that real programs write but npm packages do not. */
import { zipOf } from './archives.ts';

const schemas = 'http://schemas.openxmlformats.org';
const relationType = `${schemas}/officeDocument/2006/relationships`;
const office = 'application/vnd.openxmlformats-officedocument';
const microsoft = 'http://schemas.microsoft.com/office';

const namespaces = Object.entries({
  w: `${schemas}/wordprocessingml/2006/main`,
  p: `${schemas}/presentationml/2006/main`,
  a: `${schemas}/drawingml/2006/main`,
  c: `${schemas}/drawingml/2006/chart`,
  dgm: `${schemas}/drawingml/2006/diagram`,
  pic: `${schemas}/drawingml/2006/picture`,
  wp: `${schemas}/drawingml/2006/wordprocessingDrawing`,
  r: relationType,
  m: `${schemas}/officeDocument/2006/math`,
  mc: `${schemas}/markup-compatibility/2006`,
  v: 'urn:schemas-microsoft-com:vml',
  o: 'urn:schemas-microsoft-com:office:office',
  wps: `${microsoft}/word/2010/wordprocessingShape`,
  a14: `${microsoft}/drawing/2010/main`,
  w14: `${microsoft}/word/2010/wordml`,
  adec: `${microsoft}/drawing/2017/decorative`,
  cx1: `${microsoft}/drawing/2015/9/8/chartex`,
  cx: `${microsoft}/drawing/2014/chartex`,
  am3d: `${microsoft}/drawing/2017/model3d`,
})
  .map(([prefix, namespace]) => `xmlns:${prefix}="${namespace}"`)
  .join(' ');

/** @returns a complete XML file with this element as its root, and with all namespaces */
export function partXml(element: string, contents: string): string {
  return `<?xml version="1.0" encoding="UTF-8" standalone="yes"?><${element} ${namespaces}>${contents}</${element.split(' ')[0]}>`;
}

/** Relations by their ids. Each value consists of the last part of the relation type's URI, and of the target. */
type Relations = Readonly<Record<string, readonly [type: string, target: string]>>;

export function relationsXml(relations: Relations): string {
  const all = Object.entries(relations).map(
    ([id, [type, target]]) => `<Relationship Id="${id}" Type="${relationType}/${type}" Target="${target}"/>`,
  );
  return `<Relationships xmlns="${schemas}/package/2006/relationships">${all.join('')}</Relationships>`;
}

export function contentTypesXml(overrides: Readonly<Record<string, string>>): string {
  const all = Object.entries(overrides).map(
    ([part, type]) => `<Override PartName="/${part}" ContentType="${office}.${type}"/>`,
  );
  return `<Types xmlns="${schemas}/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>${all.join('')}</Types>`;
}

export function packageOf(parts: Readonly<Record<string, string>>): Uint8Array<ArrayBuffer> {
  return zipOf(Object.entries(parts).map(([name, content]) => ({ name, content })));
}

interface WordParts {
  /** The contents of further files, such as styles.xml. */
  styles?: string;
  numbering?: string;
  footnotes?: string;
  endnotes?: string;
  settings?: string;
  relations?: Relations;
  further?: Readonly<Record<string, string>>;
}

/** @param body the content of `w:body` */
export function wordOf(body: string, parts: WordParts = {}): Uint8Array<ArrayBuffer> {
  const { relations = {}, further = {}, ...beside } = parts;
  const names = Object.keys(beside) as (keyof typeof beside)[];
  return packageOf({
    '[Content_Types].xml': contentTypesXml({ 'word/document.xml': 'wordprocessingml.document.main+xml' }),
    '_rels/.rels': relationsXml({ rId1: ['officeDocument', 'word/document.xml'] }),
    'word/document.xml': partXml('w:document', `<w:body>${body}</w:body>`),
    'word/_rels/document.xml.rels': relationsXml({
      ...Object.fromEntries(names.map((name) => [name, [name, `${name}.xml`]])),
      ...relations,
    }),
    ...Object.fromEntries(names.map((name) => [`word/${name}.xml`, partXml(`w:${name}`, beside[name] ?? '')])),
    ...further,
  });
}

interface SlideParts {
  /** The content of `p:spTree`. */
  shapes: string;
  /** Attributes of `p:sld`, such as ` show="0"`. */
  attributes?: string;
  /** The content of `p:spTree` in the notes of the slide. */
  notes?: string;
  background?: string;
  relations?: Relations;
}

export function slidesOf(
  slides: readonly SlideParts[],
  further: Readonly<Record<string, string>> = {},
): Uint8Array<ArrayBuffer> {
  const parts: Record<string, string> = {};
  for (const [at, { shapes, attributes = '', notes, background = '', relations = {} }] of slides.entries()) {
    const name = `slide${at + 1}`;
    const tree = (inside: string) => `<p:cSld>${background}<p:spTree>${inside}</p:spTree></p:cSld>`;
    parts[`ppt/slides/${name}.xml`] = partXml(`p:sld${attributes}`, tree(shapes));
    parts[`ppt/slides/_rels/${name}.xml.rels`] = relationsXml({
      ...(notes !== undefined && { notes: ['notesSlide', `../notesSlides/${name}.xml`] }),
      ...relations,
    });
    if (notes !== undefined) parts[`ppt/notesSlides/${name}.xml`] = partXml('p:notes', tree(notes));
  }
  const ids = slides.map((_, at) => `<p:sldId id="${256 + at}" r:id="rId${at + 1}"/>`).join('');
  return packageOf({
    '[Content_Types].xml': contentTypesXml({ 'ppt/presentation.xml': 'presentationml.presentation.main+xml' }),
    '_rels/.rels': relationsXml({ rId1: ['officeDocument', 'ppt/presentation.xml'] }),
    'ppt/presentation.xml': partXml('p:presentation', `<p:sldIdLst>${ids}</p:sldIdLst>`),
    'ppt/_rels/presentation.xml.rels': relationsXml(
      Object.fromEntries(slides.map((_, at) => [`rId${at + 1}`, ['slide', `slides/slide${at + 1}.xml`]])),
    ),
    ...parts,
    ...further,
  });
}
