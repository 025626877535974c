/**
 * Parses the XML of office files into a tree. Names get the usual prefix of their namespace, such as `w:p`, whatever prefix the file uses.
 * If the file has alternative contents (`mc:AlternateContent`), the tree has only what a current program shows. Entities of a document type
 * are not
 * expanded.
 */
import { Parser } from 'htmlparser2';

export interface XmlElement {
  name: string;
  attributes: Record<string, string>;
  children: (XmlElement | string)[];
}

export class MalformedXml extends Error {}

/** Readers walk the tree recursively. Real documents nest only a few dozen elements. */
const maxDepth = 2_000;

const ooxml = 'http://schemas.openxmlformats.org/';
const strict = 'http://purl.oclc.org/ooxml/';
const microsoft = 'http://schemas.microsoft.com/office/';

const prefixes = new Map<string, string>([
  ...Object.entries({
    w: 'wordprocessingml',
    p: 'presentationml',
    a: 'drawingml',
    c: 'drawingml/chart',
    dgm: 'drawingml/diagram',
    pic: 'drawingml/picture',
    wp: 'drawingml/wordprocessingDrawing',
    r: 'officeDocument/relationships',
    m: 'officeDocument/math',
  }).flatMap(([prefix, path]): [string, string][] => {
    const [family = '', part = 'main'] = path.split('/');
    return [
      [`${ooxml}${family}/2006/${part}`, prefix],
      [`${strict}${family}/${part}`, prefix],
    ];
  }),
  [`${ooxml}package/2006/relationships`, ''],
  [`${ooxml}package/2006/content-types`, ''],
  [`${ooxml}markup-compatibility/2006`, 'mc'],
  ['urn:schemas-microsoft-com:vml', 'v'],
  ['urn:schemas-microsoft-com:office:office', 'o'],
  [`${microsoft}word/2010/wordprocessingShape`, 'wps'],
  [`${microsoft}word/2010/wordprocessingGroup`, 'wpg'],
  [`${microsoft}word/2010/wordprocessingCanvas`, 'wpc'],
  [`${microsoft}word/2010/wordml`, 'w14'],
  [`${microsoft}drawing/2010/main`, 'a14'],
  [`${microsoft}powerpoint/2010/main`, 'p14'],
  [`${microsoft}drawing/2017/decorative`, 'adec'],
]);
const extendedChart = /^http:\/\/schemas\.microsoft\.com\/office\/drawing\/.{1,40}\/chartex$/;

function prefixOf(namespace: string): string | undefined {
  return prefixes.get(namespace) ?? (extendedChart.test(namespace) ? 'cx' : undefined);
}

interface Scope {
  declared: ReadonlyMap<string, string>;
  names: Map<string, string>;
}

export function decodeXml(bytes: Uint8Array): string {
  const [first, second] = bytes;
  const encoding =
    first === 0xff && second === 0xfe ? 'utf-16le' : first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8';
  return new TextDecoder(encoding).decode(bytes);
}

/** @returns the root @throws MalformedXml */
export function parseXml(text: string): XmlElement {
  const builder = new TreeBuilder();
  let opened = -1;
  const parser = new Parser(
    {
      onopentag: (name, attributes) => {
        opened = parser.endIndex;
        builder.open(name, attributes);
      },
      ontext: (part) => builder.text(part),
      // The parser also reports an end for elements that the file leaves open, and for empty elements.
      onclosetag: (_, isImplied) => builder.close(!isImplied || parser.endIndex === opened),
    },
    { xmlMode: true, decodeEntities: true },
  );
  parser.write(text);
  parser.end();
  return builder.root();
}

class TreeBuilder {
  readonly #open: { element: XmlElement; scope: Scope }[] = [];
  #root: XmlElement | undefined;

  open(raw: string, rawAttributes: Record<string, string>): void {
    if (this.#open.length >= maxDepth) throw new MalformedXml('The XML is nested too deeply');
    const scope = scopeOf(rawAttributes, this.#open.at(-1)?.scope);
    const attributes: Record<string, string> = {};
    for (const [name, value] of Object.entries(rawAttributes))
      if (!name.startsWith('xmlns')) attributes[name.includes(':') ? nameIn(scope, name) : name] = value;
    const element = { name: nameIn(scope, raw), attributes, children: [] };
    if (element.name === 'mc:Choice') attributes['isKnown'] = String(isKnown(attributes['Requires'] ?? '', scope));
    this.#open.push({ element, scope });
  }

  text(part: string): void {
    this.#open.at(-1)?.element.children.push(part);
  }

  close(isWritten: boolean): void {
    const element = this.#open.pop()?.element;
    if (!element || !isWritten) throw new MalformedXml('The XML has an element without an end tag');
    const parent = this.#open.at(-1)?.element;
    if (!parent) this.#root ??= element;
    else if (element.name === 'mc:AlternateContent') for (const one of shownOf(element)) parent.children.push(one);
    else parent.children.push(element);
  }

  root(): XmlElement {
    if (!this.#root) throw new MalformedXml('The XML has no root element');
    return this.#root;
  }
}

function scopeOf(attributes: Record<string, string>, around: Scope | undefined): Scope {
  const own = Object.entries(attributes).filter(([name]) => name === 'xmlns' || name.startsWith('xmlns:'));
  if (own.length === 0 && around) return around;
  const declared = new Map(around?.declared);
  for (const [name, namespace] of own) declared.set(name.slice('xmlns:'.length), namespace);
  return { declared, names: new Map() };
}

/** A prefix that the file does not declare keeps its usual meaning. */
function nameIn(scope: Scope, raw: string): string {
  const known = scope.names.get(raw);
  if (known !== undefined) return known;
  const [local = '', written = ''] = raw.split(':').toReversed();
  const namespace = scope.declared.get(written);
  const prefix = namespace === undefined ? written : (prefixOf(namespace) ?? '?');
  const name = prefix === '' ? local : `${prefix}:${local}`;
  scope.names.set(raw, name);
  return name;
}

function isKnown(requires: string, scope: Scope): boolean {
  return requires.split(/\s+/).every((prefix) => {
    const namespace = scope.declared.get(prefix);
    return namespace === undefined || prefixOf(namespace) !== undefined;
  });
}

/** The first choice that readers know, otherwise the fallback, otherwise the first choice. */
function shownOf(alternate: XmlElement): (XmlElement | string)[] {
  const choices = [...childrenOf(alternate, 'mc:Choice')];
  const known = choices.find(({ attributes }) => attributes['isKnown'] === 'true');
  const fallback = childOf(alternate, 'mc:Fallback');
  const hasContents = fallback?.children.some((one) => typeof one !== 'string') === true;
  return (known ?? (hasContents ? fallback : choices[0]))?.children ?? [];
}

export function* childrenOf(element: XmlElement | undefined, name?: string): Generator<XmlElement> {
  for (const child of element?.children ?? [])
    if (typeof child !== 'string' && (name === undefined || child.name === name)) yield child;
}

/** @param path each name selects the first child with this name */
export function childOf(element: XmlElement | undefined, ...path: string[]): XmlElement | undefined {
  let found = element;
  for (const name of path) found = childrenOf(found, name).next().value ?? undefined;
  return found;
}

/** At any depth, in the order of the document, without elements inside a returned element. */
export function* descendantsOf(element: XmlElement | undefined, ...names: string[]): Generator<XmlElement> {
  for (const child of childrenOf(element)) {
    if (names.includes(child.name)) yield child;
    else yield* descendantsOf(child, ...names);
  }
}

export function textOf(element: XmlElement | undefined): string {
  return (element?.children ?? []).filter((child) => typeof child === 'string').join('');
}
