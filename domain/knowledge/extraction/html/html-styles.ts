/**
 * Reads the styles that decide which text of a page is visible: the styles of elements, and style sheet rules with simple selectors
 * (`.class`, `#id`, `tag`).
 */
import type { HtmlElement } from './html-tree.ts';

interface Declaration {
  value: string;
  /**
   * The weight of a declaration, computed from `!important`, the selector's specificity and the position in the style sheet. The
   * declaration with the highest weight applies.
   */
  weight: number;
}

export type Style = ReadonlyMap<string, Declaration>;

const read = new Set([
  'display', 'visibility', 'opacity', 'font-size', 'white-space', 'list-style', 'list-style-type', 'text-decoration', 'text-decoration-line',
]); // prettier-ignore
const none: Style = new Map();
const simpleSelector = /^([a-z][\w-]*)?([.#][\w-]+)?$/i;

export class Styles {
  /** The declarations of each selector, by property. */
  readonly #rules = new Map<string, Map<string, Declaration>>();
  #count = 0;

  /** Adds the rules of a style sheet, without `@media` and other at-rules. */
  add(sheet: string): void {
    const css = sheet.replace(/\/\*[\s\S]*?(?:\*\/|$)/g, ' ').replace(/<!--|-->/g, ' ');
    let start = 0;
    for (;;) {
      const open = css.indexOf('{', start);
      if (open < 0) return;
      const selectors = css.slice(start, open).split(';').at(-1)?.trim() ?? ''; // an `@import …;` may stand before the selectors
      const isAtRule = selectors.startsWith('@');
      const end = isAtRule ? endOfBlock(css, open) : css.indexOf('}', open);
      const stop = end < 0 ? css.length : end;
      if (!isAtRule) this.#addRule(selectors.split(','), css.slice(open + 1, stop));
      start = stop + 1;
    }
  }

  #addRule(selectors: readonly string[], body: string): void {
    for (const selector of selectors) {
      const [whole, tag = '', name = ''] = simpleSelector.exec(selector.trim()) ?? [];
      if (!whole) continue;
      this.#count += 1;
      const exactness = (name.startsWith('#') ? 100 : name === '' ? 0 : 10) + (tag === '' ? 0 : 1);
      const key = tag.toLowerCase() + name;
      const declarations = this.#rules.get(key) ?? new Map<string, Declaration>();
      declare(body, exactness * 1e8 + this.#count, declarations);
      if (declarations.size > 0) this.#rules.set(key, declarations);
    }
  }

  of({ tag, attributes }: HtmlElement): Style {
    const styleAttribute = attributes.get('style');
    if (styleAttribute === undefined && this.#rules.size === 0) return none;
    const names = [
      ...(attributes.get('class')?.split(/\s+/) ?? []).map((name) => `.${name}`),
      ...(attributes.has('id') ? [`#${attributes.get('id')}`] : []),
    ];
    const style = new Map<string, Declaration>();
    for (const key of [tag, ...names, ...names.map((name) => tag + name)])
      for (const [property, declaration] of this.#rules.get(key) ?? []) keepHeavier(style, property, declaration);
    if (styleAttribute !== undefined) declare(styleAttribute, 1_000 * 1e8, style);
    return style;
  }
}

function declare(body: string, weight: number, into: Map<string, Declaration>): void {
  for (const part of body.split(';')) {
    const colon = part.indexOf(':');
    const property = part.slice(0, Math.max(colon, 0)).trim().toLowerCase();
    if (!read.has(property)) continue;
    const [value = '', important] = part.slice(colon + 1).toLowerCase().split('!'); // prettier-ignore
    keepHeavier(into, property, { value: value.trim(), weight: weight + (important === undefined ? 0 : 1e14) });
  }
}

function keepHeavier(into: Map<string, Declaration>, property: string, declaration: Declaration): void {
  const before = into.get(property);
  if (!before || before.weight <= declaration.weight) into.set(property, declaration);
}

/** @returns the end of the block, or of the text if the block has no end */
function endOfBlock(css: string, open: number): number {
  let depth = 0;
  for (const { 0: brace, index } of css.slice(open).matchAll(/[{}]/g)) {
    depth += brace === '{' ? 1 : -1;
    if (depth === 0) return open + index;
  }
  return css.length;
}
