/**
 * Decides the reading order of a slide's shapes. The order is usually the order of the file, which screen readers also use. But shapes in
 * the same column are read from top to bottom.
 */
import { childOf, childrenOf, type XmlElement } from '../../../../../platform/core/text/xml.ts';
import { shapesAt, type Layout } from './pptx-styles.ts';

interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** Each shape is compared with every other. A slide with more shapes keeps the order of the file. */
const mostCompared = 400;

/**
 * Reads a shape before the shapes below it in its column. Otherwise keeps the order of the file.
 * @param shapes shapes with a position on the slide or in the layout
 */
export function inReadingOrder(shapes: readonly XmlElement[], layout: Layout): XmlElement[] {
  if (shapes.length > mostCompared) return [...shapes];
  const unordered = shapes.map((shape) => ({ shape, box: boxOf(shape, layout) }));
  const ordered: XmlElement[] = [];
  while (unordered.length > 0) {
    // A shape without a shape above it always exists: the highest shape.
    const next = unordered.findIndex(({ box }) => !unordered.some((other) => isAbove(other.box, box)));
    for (const { shape } of unordered.splice(Math.max(next, 0), 1)) ordered.push(shape);
  }
  return ordered;
}

/** A small overlap at the edges of two boxes does not count. */
function isAbove(one: Box | undefined, other: Box | undefined): boolean {
  if (!one || !other || one.top >= other.top) return false;
  const overlap = Math.min(one.left + one.width, other.left + other.width) - Math.max(one.left, other.left);
  const isSameColumn = overlap > 0 && overlap >= Math.min(one.width, other.width) / 2;
  return isSameColumn && one.top + one.height <= other.top + Math.min(one.height, other.height) / 5;
}

function boxOf(shape: XmlElement, layout: Layout): Box | undefined {
  const placeholder = childOf(shape, 'p:nvSpPr', 'p:nvPr', 'p:ph') ?? childOf(shape, 'p:nvPicPr', 'p:nvPr', 'p:ph');
  const frames = [shape, ...(placeholder ? shapesAt(placeholder, layout) : [])].flatMap((one) => [
    childOf(one, 'p:xfrm'),
    ...['p:spPr', 'p:grpSpPr'].map((properties) => childOf(one, properties, 'a:xfrm')),
  ]);
  const frame = frames.find((one) => one !== undefined);
  const [offset] = childrenOf(frame, 'a:off');
  const [size] = childrenOf(frame, 'a:ext');
  if (!offset || !size) return undefined;
  const [left = NaN, top = NaN, width = NaN, height = NaN] = [
    offset.attributes['x'],
    offset.attributes['y'],
    size.attributes['cx'],
    size.attributes['cy'],
  ].map(Number);
  return [left, top, width, height].every((value) => Number.isFinite(value)) ? { left, top, width, height } : undefined;
}
