/**
 * Builds the tree of HTML elements from the tokens of htmlparser2. It follows the standard's rules that affect the visible text: for
 * example, end tags may be absent, and no element inside a cell ends the table around it. It leaves out the rules for formatting elements,
 * so that time and memory grow only with the length of the text.
 */
import { Tokenizer } from 'htmlparser2';

export interface HtmlElement {
  /** The name of the element in lower case, also for elements of SVG. */
  tag: string;
  attributes: ReadonlyMap<string, string>;
  children: (HtmlElement | string)[];
  parent: HtmlElement | undefined;
}

/**
 * The kinds of elements that a later tag may close without an end tag. Each open element has, for each kind, a link to the nearest open
 * element of the kind around it.
 */
type Kind = 'p' | 'heading' | 'li' | 'dd' | 'option' | 'cell' | 'row' | 'section' | 'table';

/** An open element. */
interface Open {
  element: HtmlElement;
  parent: Open | undefined;
  nearest: Readonly<Partial<Record<Kind, Open>>>;
  /** The number of open elements in this cell, by name. */
  counts: Map<string, number>;
  /** Inside SVG or MathML, `<g/>` is a complete element without an end tag. */
  isForeign: boolean;
}

interface Rule {
  /** The kind of this element. A tag whose rule lists this kind in `closes` closes the element. */
  is?: Kind;
  closes?: readonly Kind[];
  /** The kinds of outer elements that inner elements cannot close. */
  hides?: readonly Kind[];
}

const headings = ['h1', 'h2', 'h3', 'h4', 'h5', 'h6'];
const inCells = ['p', 'heading', 'li', 'dd', 'option'] as const;
const cell: Rule = { is: 'cell', closes: ['cell'], hides: inCells };
const section: Rule = { is: 'section', closes: ['cell', 'row', 'section'] };
const rules: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ...[
    'address', 'article', 'aside', 'blockquote', 'center', 'details', 'dialog', 'div', 'fieldset', 'figcaption', 'figure', 'footer',
    'form', 'header', 'hgroup', 'hr', 'main', 'nav', 'pre', 'search', 'section', 'summary',
  ].map((tag): [string, Rule] => [tag, { closes: ['p'] }]),
  ...headings.map((tag): [string, Rule] => [tag, { is: 'heading', closes: ['p', 'heading'] }]),
  ...['ul', 'ol', 'menu'].map((tag): [string, Rule] => [tag, { closes: ['p'], hides: ['li'] }]),
  ...['dd', 'dt'].map((tag): [string, Rule] => [tag, { is: 'dd', closes: ['dd', 'p'] }]),
  ['p', { is: 'p', closes: ['p'] }],
  ['li', { is: 'li', closes: ['li', 'p'] }],
  ['dl', { closes: ['p'], hides: ['dd'] }],
  ['option', { is: 'option', closes: ['option'] }],
  ['optgroup', { closes: ['option'] }],
  ['select', { hides: ['option'] }],
  ['button', { hides: ['p'] }],
  ['table', { is: 'table', closes: ['p'], hides: [...inCells, 'cell', 'row', 'section'] }],
  ['td', cell],
  ['th', cell],
  ['caption', cell],
  ['tr', { is: 'row', closes: ['cell', 'row'] }],
  ['thead', section],
  ['tbody', section],
  ['tfoot', section],
]); // prettier-ignore
const voidTags = new Set([
  'area', 'base', 'basefont', 'bgsound', 'br', 'col', 'embed', 'frame', 'hr', 'img', 'input', 'keygen', 'link', 'meta', 'param', 'source',
  'track', 'wbr',
]); // prettier-ignore
/** The elements of SVG and MathML that contain HTML. */
const holdsHtml = new Set(['foreignobject', 'desc', 'title', 'annotation-xml', 'mtext']);
const noAttributes: ReadonlyMap<string, string> = new Map();

export function parseHtml(html: string): HtmlElement {
  const tree = new TreeBuilder();
  let attributes = new Map<string, string>();
  let tag = '';
  let name = '';
  let value = '';
  const end = (isWhole: boolean) => {
    tree.start(tag, attributes.size === 0 ? noAttributes : attributes, isWhole);
    attributes = new Map();
  };
  const ignore = () => {};
  const tokenizer = new Tokenizer(
    { decodeEntities: true },
    {
      onopentagname: (from, to) => void (tag = html.slice(from, to).toLowerCase()),
      onattribname: (from, to) => void (name = html.slice(from, to).toLowerCase()),
      onattribdata: (from, to) => void (value += html.slice(from, to)),
      onattribentity: (code) => void (value += String.fromCodePoint(code)),
      onattribend() {
        if (!attributes.has(name)) attributes.set(name, value);
        value = '';
      },
      onopentagend: () => end(false),
      onselfclosingtag: () => end(true),
      onclosetag: (from, to) => tree.end(html.slice(from, to).toLowerCase()),
      ontext: (from, to) => tree.text(html.slice(from, to)),
      ontextentity: (code) => tree.text(String.fromCodePoint(code)),
      oncdata(from, to, offset) {
        if (tree.isForeign()) tree.text(html.slice(from, to - offset));
      },
      isInForeignContext: () => tree.isForeign(),
      oncomment: ignore,
      ondeclaration: ignore,
      onprocessinginstruction: ignore,
      onend: ignore,
    },
  );
  tokenizer.write(html);
  tokenizer.end();
  return tree.root;
}

class TreeBuilder {
  readonly root: HtmlElement = { tag: '', attributes: noAttributes, children: [], parent: undefined };
  #top: Open = { element: this.root, parent: undefined, nearest: {}, counts: new Map(), isForeign: false };

  isForeign(): boolean {
    return this.#top.isForeign;
  }

  /** @param isWhole whether the tag is written as `<tag/>` */
  start(name: string, attributes: ReadonlyMap<string, string>, isWhole: boolean): void {
    const tag = name === 'image' && !this.#top.isForeign ? 'img' : name;
    const isForeign = tag === 'svg' || tag === 'math' || this.#top.isForeign;
    const rule = isForeign ? {} : (rules.get(tag) ?? {});
    if (tag === 'table' && !this.#top.nearest.cell) this.#close('table');
    for (const kind of rule.closes ?? []) this.#close(kind);
    const parent = this.#top;
    const element: HtmlElement = { tag, attributes, children: [], parent: parent.element };
    parent.element.children.push(element);
    if (isForeign ? isWhole : voidTags.has(tag)) return;
    const open: Open = {
      element,
      parent,
      nearest: parent.nearest,
      counts: rule.is === 'cell' || rule.is === 'table' ? new Map() : parent.counts,
      isForeign: isForeign && !holdsHtml.has(tag),
    };
    if (rule.is || rule.hides) {
      const nearest = { ...parent.nearest };
      for (const kind of rule.hides ?? []) delete nearest[kind];
      if (rule.is) nearest[rule.is] = open;
      open.nearest = nearest;
    }
    parent.counts.set(tag, (parent.counts.get(tag) ?? 0) + 1);
    this.#top = open;
  }

  text(text: string): void {
    const { children } = this.#top.element;
    const last = children.length - 1;
    const before = children[last];
    if (typeof before === 'string') children[last] = before + text;
    else children.push(text);
  }

  end(tag: string): void {
    const kind = headings.includes(tag) ? 'heading' : rules.get(tag)?.is;
    if (tag === 'br' || (tag === 'p' && !this.#top.nearest.p)) {
      this.start(tag, noAttributes, false);
      if (tag === 'p') this.#close('p');
    } else if (kind !== undefined && !this.#top.isForeign) {
      const open = this.#top.nearest[kind];
      if (open && (kind === 'heading' || open.element.tag === tag)) this.#closeTo(open);
    } else if (this.#top.counts.get(tag)) {
      let open: Open | undefined = this.#top;
      while (open && open.element.tag !== tag) open = open.parent;
      if (open) this.#closeTo(open);
    }
  }

  #close(kind: Kind): void {
    const open = this.#top.nearest[kind];
    if (open) this.#closeTo(open);
  }

  #closeTo(last: Open): void {
    for (let open: Open | undefined = this.#top; open?.parent; open = open.parent) {
      const { counts } = open.parent;
      const { tag } = open.element;
      counts.set(tag, (counts.get(tag) ?? 1) - 1);
      this.#top = open.parent;
      if (open === last) return;
    }
  }
}

export interface Visitor {
  /** @returns whether the content of the element must be visited, too */
  enter(element: HtmlElement): boolean;
  text(text: string, parent: HtmlElement): void;
  leave(element: HtmlElement): void;
}

/** Visits the content of an element in order. */
export function visit(root: HtmlElement, visitor: Visitor): void {
  const open = [{ element: root, next: 0 }];
  for (let top = open.at(-1); top; top = open.at(-1)) {
    const child = top.element.children[top.next];
    top.next += 1;
    if (child === undefined) {
      open.pop();
      if (top.element !== root) visitor.leave(top.element);
    } else if (typeof child === 'string') visitor.text(child, top.element);
    else if (visitor.enter(child)) open.push({ element: child, next: 0 });
  }
}

const withoutText = new Set(['script', 'style', 'template', 'title', 'noscript']);

/** @returns all text inside the element, without scripts and similar content */
export function textOf(element: HtmlElement): string {
  const texts: string[] = [];
  const enter = ({ tag }: HtmlElement) => !withoutText.has(tag);
  visit(element, { enter, text: (text) => void texts.push(text), leave: () => {} });
  return texts.join('');
}

/** @returns the text directly inside the element */
export function ownTextOf({ children }: HtmlElement): string {
  return children.filter((child) => typeof child === 'string').join('');
}

export function elementsIn(element: HtmlElement): HtmlElement[] {
  return element.children.filter((child) => typeof child !== 'string');
}

/** Whether the value of the attribute contains one of these words. */
export function hasWord(element: HtmlElement, attribute: string, words: readonly string[]): boolean {
  const value = element.attributes.get(attribute);
  return value !== undefined && value.split(/\s+/).some((word) => words.includes(word));
}
