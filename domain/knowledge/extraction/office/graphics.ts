/** Reads the charts and diagrams of a document or a slide, each from its own part of the file. */
import { descendantsOf, type XmlElement } from '../../../../platform/core/text/xml.ts';
import type { Relation } from '../../../../platform/core/text/office-parts.ts';
import type { SectionBuilder } from '../sections.ts';
import type { Block } from './blocks.ts';
import { chartBlocks } from './charts.ts';
import { diagramBlocks } from './diagrams.ts';
import type { OfficeFile } from './office-file.ts';

/** The blocks of each part, by the id that the document uses for it. */
export type Graphics = ReadonlyMap<string, readonly Block[]>;

/**
 * The elements that show a chart or a diagram. For each element, `id` is the attribute that names the part of the file, and `read` reads
 * this part.
 */
const readers: Record<string, { id: string; read: (root: XmlElement) => Block[] }> = {
  'c:chart': { id: 'r:id', read: chartBlocks },
  'cx:chart': { id: 'r:id', read: chartBlocks },
  'dgm:relIds': { id: 'r:dm', read: diagramBlocks },
};

/** @param into receives a warning for each part that is unreadable or has no words @throws Unreadable too_large, file_corrupt */
export async function loadGraphics(
  file: OfficeFile,
  { root, relations }: { root: XmlElement; relations: readonly Relation[] },
  into: SectionBuilder,
): Promise<Graphics> {
  const graphics = new Map<string, Block[]>();
  const targets = new Map(relations.map(({ id, target }) => [id, target]));
  for (const element of descendantsOf(root, ...Object.keys(readers))) {
    const reader = readers[element.name];
    const id = element.attributes[reader?.id ?? ''] ?? '';
    if (!reader || graphics.has(id)) continue;
    const part = await file.partBeside(targets.get(id) ?? '');
    const blocks = part ? reader.read(part) : [];
    if (part && blocks.length === 0) into.warn('part_skipped');
    graphics.set(id, blocks);
  }
  return graphics;
}

/** @returns the blocks that the element shows; empty for other elements */
export function blocksOfGraphic(element: XmlElement, graphics: Graphics): readonly Block[] | undefined {
  const reader = readers[element.name];
  return reader && (graphics.get(element.attributes[reader.id] ?? '') ?? []);
}
