/** Reads diagrams of office files (SmartArt): the words of the nodes in reading order. */
import { childOf, childrenOf, type XmlElement } from '../../../../platform/core/text/xml.ts';
import type { Block } from './blocks.ts';
import { paragraphTextsIn } from './drawing-text.ts';

/** Types of points and connections that only control the layout of a diagram. */
const notForReaders = new Set(['pres', 'presOf', 'presParOf']);

/** @returns a row for each paragraph. A node comes before its children */
export function diagramBlocks(root: XmlElement): Block[] {
  const points = new Map(
    [...childrenOf(childOf(root, 'dgm:ptLst'), 'dgm:pt')]
      .filter(({ attributes }) => !notForReaders.has(attributes['type'] ?? 'node'))
      .map((point) => [point.attributes['modelId'] ?? '', point]),
  );
  const below = new Map<string, { id: string; order: number; between: string }[]>();
  for (const { attributes } of childrenOf(childOf(root, 'dgm:cxnLst'), 'dgm:cxn')) {
    if (!['parOf', ''].includes(attributes['type'] ?? '')) continue;
    const parent = attributes['srcId'] ?? '';
    const children = below.get(parent) ?? [];
    below.set(parent, children);
    children.push({
      id: attributes['destId'] ?? '',
      order: Number(attributes['srcOrd'] ?? '0'),
      between: attributes['sibTransId'] ?? '',
    });
  }
  // Each point is read once, even if the connections form a cycle. Points without a connection are read last.
  const ids = new Set<string>();
  const starts = [...points].filter(([, { attributes }]) => attributes['type'] === 'doc').map(([id]) => id);
  for (const start of [...starts, ...points.keys()]) visit(start);
  return [...ids].flatMap((id) =>
    paragraphTextsIn(childOf(points.get(id), 'dgm:t')).map((text): Block => ({ kind: 'row', text })),
  );

  function visit(start: string): void {
    const open = [start];
    for (let id = open.pop(); id !== undefined; id = open.pop()) {
      if (ids.has(id)) continue;
      ids.add(id);
      const children = (below.get(id) ?? []).toSorted((one, other) => other.order - one.order);
      for (const child of children) open.push(child.between, child.id);
    }
  }
}
