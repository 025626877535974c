/**
 * Finds the properties that a slide's paragraphs inherit: from their shape, from the matching placeholder in the layout and in the master,
 * and from the master's styles.
 */
import { childOf, childrenOf, descendantsOf, type XmlElement } from '../../../../../platform/core/text/xml.ts';
import type { Relation } from '../../../../../platform/core/text/office-parts.ts';
import type { OfficeFile } from '../office-file.ts';

export interface Layout {
  layout: XmlElement | undefined;
  master: XmlElement | undefined;
}

export class SlideStyles {
  readonly none: Layout = { layout: undefined, master: undefined };
  readonly #file: OfficeFile;
  readonly #layouts = new Map<string, Layout>();
  readonly #masters = new Map<string, XmlElement | undefined>();

  constructor(file: OfficeFile) {
    this.#file = file;
  }

  /** @param relations the relations of the slide to other parts of the file @throws BrokenPart; Unreadable too_large, file_corrupt */
  async layoutOf(relations: readonly Relation[]): Promise<Layout> {
    const name = relations.find(({ type }) => type === 'slideLayout')?.target;
    if (name === undefined) return this.none;
    const cachedLayout = this.#layouts.get(name);
    if (cachedLayout) return cachedLayout;
    const root = await this.#file.partBeside(name);
    const layout = { layout: root, master: root && (await this.#masterOf(name)) };
    this.#layouts.set(name, layout);
    return layout;
  }

  async #masterOf(layout: string): Promise<XmlElement | undefined> {
    const name = (await this.#file.relationsOf(layout)).find(({ type }) => type === 'slideMaster')?.target;
    if (name === undefined) return undefined;
    if (!this.#masters.has(name)) this.#masters.set(name, await this.#file.partBeside(name));
    return this.#masters.get(name);
  }

  /**
   * @param paragraph `a:p`
   * @param around the text body and the layout of the paragraph, and the placeholder of its shape (`p:ph`)
   * @returns the properties, nearest first
   */
  ofParagraph(
    paragraph: XmlElement,
    { body, layout, place }: { body: XmlElement | undefined; layout: Layout; place: XmlElement | undefined },
  ): XmlElement[] {
    const own = childOf(paragraph, 'a:pPr');
    const level = `a:lvl${(Number(own?.attributes['lvl'] ?? '0') || 0) + 1}pPr`;
    const type = place?.attributes['type'] ?? 'body';
    const styles = childOf(layout.master, 'p:txStyles', type.endsWith('itle') ? 'p:titleStyle' : 'p:bodyStyle');
    const lists = [
      childOf(body, 'a:lstStyle'),
      ...(place ? [...shapesAt(place, layout).map((shape) => childOf(shape, 'p:txBody', 'a:lstStyle')), styles] : []),
    ];
    return [own, ...lists.map((list) => childOf(list, level))].filter((one) => one !== undefined);
  }
}

/**
 * @param place the placeholder of a shape on the slide (`p:ph`)
 * @returns the placeholder's shapes in the layout and in the master
 */
export function shapesAt(place: XmlElement, { layout, master }: Layout): XmlElement[] {
  const typeOf = ({ attributes }: XmlElement) => attributes['type'] ?? 'body';
  const { idx } = place.attributes;
  const inLayout = (other: XmlElement) =>
    idx === undefined ? typeOf(other) === typeOf(place) : other.attributes['idx'] === idx;
  const inMaster = (other: XmlElement) => typeOf(other) === typeOf(place);
  return [shapeIn(layout, inLayout), shapeIn(master, inMaster)].filter((shape) => shape !== undefined);
}

function shapeIn(root: XmlElement | undefined, isPlace: (place: XmlElement) => boolean): XmlElement | undefined {
  for (const shape of descendantsOf(childOf(root, 'p:cSld'), 'p:sp')) {
    const [placeholder] = childrenOf(childOf(shape, 'p:nvSpPr', 'p:nvPr'), 'p:ph');
    if (placeholder && isPlace(placeholder)) return shape;
  }
  return undefined;
}
