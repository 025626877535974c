/**
 * Finds the writing directions of a page, and rotates the letters of each direction. After the rotation, the lines run from left to right
 * and follow each other from top to bottom.
 */
import type { Box, Glyph } from '../pdf-drawing.ts';

export type Place = (x: number, y: number) => readonly [number, number];

export interface Direction {
  glyphs: Glyph[];
  /** Converts coordinates of the page to the rotated coordinates of this direction. */
  place: Place;
  /** Whether the direction is not parallel to a side of the page. Watermarks usually have such a direction. */
  isSlanted: boolean;
}

/** The maximum rotation, in degrees, of a page that was scanned at a slight angle. */
const askew = 6;

/** @returns the directions; the direction with the most letters is first */
export function directionsOf(glyphs: readonly Glyph[]): Direction[] {
  const groups = Map.groupBy(glyphs, ({ angle }) => {
    const quarter = Math.round(angle / 90) * 90;
    return Math.abs(angle - quarter) <= askew ? (quarter + 360) % 360 : `slanted ${Math.round(angle / 5)}`;
  });
  return [...groups]
    .map(([group, own]) => ({ isSlanted: typeof group === 'string', own }))
    .toSorted((a, b) => b.own.length - a.own.length)
    .map(({ isSlanted, own }) => {
      const angles = own.map(({ angle }) => angle).toSorted((a, b) => a - b);
      const middle = angles[Math.floor(angles.length / 2)] ?? 0;
      const direction = turning(Math.abs(middle % 90) < 0.2 ? Math.round(middle) : middle);
      const turned = own.map((glyph) => {
        const [x, y] = direction(glyph.x, glyph.y);
        return { ...glyph, x, y };
      });
      return { glyphs: turned, place: direction, isSlanted };
    });
}

function turning(degrees: number): Place {
  if (degrees === 0) return (x, y) => [x, y];
  const [sine, cosine] = [Math.sin((degrees * Math.PI) / 180), Math.cos((degrees * Math.PI) / 180)];
  return (x, y) => [x * cosine + y * sine, y * cosine - x * sine];
}

/** Slanted letters that are larger by this factor count as a watermark. */
const watermarkFactor = 1.7;
const watermarkSize = 30;

export function isWatermark({ isSlanted, glyphs }: Direction, main: Direction): boolean {
  if (!isSlanted) return false;
  const [size, usual] = [glyphs[0]?.size ?? 0, main === undefined ? 0 : sizeOf(main.glyphs)];
  return size >= watermarkSize || size > usual * watermarkFactor;
}

function sizeOf(glyphs: readonly Glyph[]): number {
  const sizes = glyphs.map(({ size }) => size).toSorted((a, b) => a - b);
  return sizes[Math.floor(sizes.length / 2)] ?? 0;
}

export function placedBoxes(boxes: readonly Box[], place: Place): Box[] {
  return boxes.map(({ x, y, width, height }) => {
    const [a, b] = [place(x, y), place(x + width, y + height)];
    return {
      x: Math.min(a[0], b[0]),
      y: Math.min(a[1], b[1]),
      width: Math.abs(a[0] - b[0]),
      height: Math.abs(a[1] - b[1]),
    };
  });
}
