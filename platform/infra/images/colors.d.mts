/** Red, green and blue, from 0 to 1 each. */
export type Color = readonly [number, number, number] | readonly number[];

/** Codes of ITU-T H.273. */
export interface ColorCodes {
  primaries: number;
  transfer: number;
}

export function toStandardColors(codes: ColorCodes): ((color: Color) => number[]) | undefined;
export function colorTable(convert: (color: Color) => number[]): string;
