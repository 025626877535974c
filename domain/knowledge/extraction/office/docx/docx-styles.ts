/** Reads the styles of a Word file: the properties that paragraphs and letters inherit from their styles and base styles. */
import { childOf, childrenOf, type XmlElement } from '../../../../../platform/core/text/xml.ts';

/** The list and the level to which a style or a paragraph belongs. */
export interface ListPlace {
  list: string;
  /**
   * The level, from 0. Undefined if the style or the paragraph does not state the level. The definition of the list then names the style at
   * the right level.
   */
  level: number | undefined;
}

interface Style {
  name: string;
  basedOn: string | undefined;
  paragraph: XmlElement | undefined;
  letters: XmlElement | undefined;
  hasHeaderRow: boolean;
}

/** Some programs write the names of heading styles in their user's language. */
const headingNames =
  /^(?:heading|überschrift|titre|título|titulo|titolo|encabezado|cabeçalho|kop|rubrik|overskrift|otsikko|nagłówek|nadpis|címsor|заголовок|başlık|标题|標題|見出し|제목|عنوان|כותרת) ?([1-9])$/u;
const titleNames = /^(?:title|titel|título|titulo|titre|titolo|tytuł|название|标题|標題|表題|제목)$/u;
const outlineOfText = 9;

export class Styles {
  readonly #styles = new Map<string, Style>();
  readonly #defaults = new Map<string, string>();
  /** The language of the document, such as `pt-BR`. */
  readonly language: string;

  constructor(root: XmlElement | undefined) {
    for (const style of childrenOf(root, 'w:style')) {
      const { 'w:styleId': id = '', 'w:type': type = '', 'w:default': isDefault = '' } = style.attributes;
      this.#styles.set(id, {
        name: (valueOf(style, 'w:name') ?? '').toLowerCase(),
        basedOn: valueOf(style, 'w:basedOn'),
        paragraph: childOf(style, 'w:pPr'),
        letters: childOf(style, 'w:rPr'),
        hasHeaderRow: [...childrenOf(style, 'w:tblStylePr')].some(
          ({ attributes }) => attributes['w:type'] === 'firstRow',
        ),
      });
      if (isTrue(isDefault)) this.#defaults.set(type, id);
    }
    this.language = childOf(root, 'w:docDefaults', 'w:rPrDefault', 'w:rPr', 'w:lang')?.attributes['w:val'] ?? 'en';
  }

  /** @returns the style and its base styles, each once */
  *chainOf(id: string | undefined, type: 'paragraph' | 'character' | 'table'): Generator<{ id: string; style: Style }> {
    const visitedStyles = new Set<string>();
    let next = id ?? this.#defaults.get(type);
    while (next !== undefined && !visitedStyles.has(next)) {
      visitedStyles.add(next);
      const style = this.#styles.get(next);
      if (!style) return;
      yield { id: next, style };
      next = style.basedOn;
    }
  }

  /** @returns the level from 1; undefined if the paragraph is not a heading */
  headingLevel(properties: XmlElement | undefined): number | undefined {
    const own = numberOf(properties, 'w:outlineLvl');
    if (own !== undefined) return own < outlineOfText ? own + 1 : undefined;
    for (const { style } of this.chainOf(valueOf(properties, 'w:pStyle'), 'paragraph')) {
      const level = numberOf(style.paragraph, 'w:outlineLvl');
      if (level !== undefined) return level < outlineOfText ? level + 1 : undefined;
      if (titleNames.test(style.name)) return 1;
      const named = headingNames.exec(style.name)?.[1];
      if (named !== undefined) return Number(named);
    }
    return undefined;
  }

  /** @returns undefined if the paragraph is in no list */
  listPlace(properties: XmlElement | undefined): (ListPlace & { style: string | undefined }) | undefined {
    const own = childOf(properties, 'w:numPr');
    const ownList = valueOf(own, 'w:numId');
    if (ownList !== undefined) return placeIn(ownList, numberOf(own, 'w:ilvl') ?? 0, undefined);
    for (const { id, style } of this.chainOf(valueOf(properties, 'w:pStyle'), 'paragraph')) {
      const numbered = childOf(style.paragraph, 'w:numPr');
      const list = valueOf(numbered, 'w:numId');
      if (list !== undefined) return placeIn(list, numberOf(own, 'w:ilvl') ?? numberOf(numbered, 'w:ilvl'), id);
    }
    return undefined;
  }

  /**
   * Returns the first value of a property that it finds: in the letters' own properties, then in their style, and then in the paragraph's
   * style.
   */
  ofLetters(run: XmlElement | undefined, paragraph: XmlElement | undefined, name: string): XmlElement | undefined {
    const own = childOf(run, name);
    if (own) return own;
    const chains = [
      this.chainOf(valueOf(run, 'w:rStyle'), 'character'),
      this.chainOf(valueOf(paragraph, 'w:pStyle'), 'paragraph'),
    ];
    for (const chain of chains)
      for (const { style } of chain) {
        const found = childOf(style.letters, name);
        if (found) return found;
      }
    return undefined;
  }

  /** Whether the table's style marks the first row as a header. */
  hasHeaderRow(table: string | undefined): boolean {
    return table !== undefined && [...this.chainOf(table, 'table')].some(({ style }) => style.hasHeaderRow);
  }

  listOfStyle(id: string): string | undefined {
    return valueOf(childOf(this.#styles.get(id)?.paragraph, 'w:numPr'), 'w:numId');
  }
}

function placeIn(list: string, level: number | undefined, style: string | undefined) {
  return list === '0' ? undefined : { list, level, style }; // list 0 means that the paragraph is not in the list of its style
}

export function valueOf(element: XmlElement | undefined, name: string): string | undefined {
  return childOf(element, name)?.attributes['w:val'];
}

export function numberOf(element: XmlElement | undefined, name: string): number | undefined {
  const value = Number(valueOf(element, name) ?? 'none');
  return Number.isInteger(value) ? value : undefined;
}

/** Whether an on-off property is switched on. */
export function isOn(property: XmlElement | undefined): boolean {
  return property !== undefined && isTrue(property.attributes['w:val'] ?? 'true');
}

export function isTrue(value: string): boolean {
  return /^(?:1|true|on)$/i.test(value);
}
