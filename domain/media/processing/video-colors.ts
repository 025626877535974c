/**
 * Reads the colours of a video from its bytes, and builds the ffmpeg filters that convert these colours to BT.709. Every screen shows
 * BT.709 correctly (MED-31, docs/adr/0056-colors-by-a-table.md).
 */
import { open } from 'node:fs/promises';
import { toStandardColors } from '../../../platform/infra/images/colors.mjs';

/** The codes of ITU-T H.273; 2 means "unspecified". */
export interface VideoColors {
  primaries: number;
  transfer: number;
  matrix: number;
  /** In the full range, black is 0. In the limited range, it is 16 of 255. */
  isFullRange: boolean;
  hasAlpha: boolean;
}

const unspecified = 2;
const unknownColors: VideoColors = {
  primaries: unspecified,
  transfer: unspecified,
  matrix: unspecified,
  isFullRange: false,
  hasAlpha: false,
};

/** The names that ffmpeg uses for matrices, by the code of the matrix. */
const matrixNames: Readonly<Record<number, string>> = {
  1: 'bt709',
  4: 'fcc',
  5: 'bt470',
  6: 'smpte170m',
  7: 'smpte240m',
  9: 'bt2020',
  10: 'bt2020',
};

/**
 * Returns the matrix of a video. For a video without colour data, the matrix is BT.601 if the video has fewer than 720 lines, and otherwise
 * BT.709.
 */
function matrixOf({ matrix }: VideoColors, { width, height }: { width: number; height: number }): string {
  const isHd = Math.max(width, height) >= 1_280 || Math.min(width, height) >= 720;
  return matrixNames[matrix] ?? (isHd ? 'bt709' : 'smpte170m');
}

const exact = 'flags=bicubic+accurate_rnd+full_chroma_int';

/**
 * @param options.source the size of the video
 * @param options.target the size of the output
 * @param options.table a file with the table of {@link conversionOf}; absent if no conversion is needed
 * @param options.as the format of the output. `video` has 8 bits and 4:2:0, and `picture` has RGB
 * @returns the value of ffmpeg's option `-vf`. The value makes ffmpeg scale the output, remove transparency, and convert the colours to
 * BT.709
 */
export function colorFilters(
  colors: VideoColors,
  {
    source,
    target,
    table,
    as,
  }: {
    source: { width: number; height: number };
    target: { width: number; height: number };
    table?: string | undefined;
    as: 'video' | 'picture';
  },
): string {
  const range = colors.isFullRange ? ':in_range=pc' : '';
  const scaled = `scale=${target.width}:${target.height}:${exact}:in_color_matrix=${matrixOf(colors, source)}${range}`;
  const toVideo = 'out_color_matrix=bt709:out_range=tv,format=yuv420p';
  const metadata = 'setsar=1,sidedata=delete,setparams=range=tv:color_primaries=bt709:color_trc=bt709:colorspace=bt709';
  const changes = [
    // Players show transparent parts in black, so the filter makes them black.
    ...(colors.hasAlpha ? ['format=gbrap16le', 'premultiply=inplace=1'] : []),
    ...(colors.hasAlpha || table !== undefined ? ['format=gbrp16le'] : []),
    ...(table === undefined ? [] : [`lut3d=file=${quoted(table)}`]),
  ];
  if (as === 'picture') return [`${scaled}:out_range=pc`, ...changes, 'format=rgb24', 'setsar=1'].join(',');
  if (changes.length === 0) return [`${scaled}:${toVideo}`, metadata].join(',');
  return [`${scaled}:out_range=pc`, ...changes, `scale=${exact}:${toVideo}`, metadata].join(',');
}

/** Quotes a value twice, for the options of a filter and for the filter graph. */
function quoted(text: string): string {
  return text.replaceAll(/[\\':]/g, String.raw`\$&`).replaceAll(/[\\'[\],;]/g, String.raw`\$&`);
}

/** The options with which the encoder writes the codes of the colours into the file. */
export const standardColors = [
  '-color_range',
  'tv',
  '-color_primaries',
  'bt709',
  '-color_trc',
  'bt709',
  '-colorspace',
  'bt709',
] as const;

/** @returns the conversion of the colours to BT.709; undefined if the colours already are BT.709 */
export const conversionOf = ({ primaries, transfer }: VideoColors) => toStandardColors({ primaries, transfer });

/** The number of bytes that are read from the start of each probe file. {@link file://./video.ts} makes these files. */
const headBytes = 1_024 * 1_024;

async function headOf(file: string): Promise<Buffer> {
  const handle = await open(file).catch(() => undefined);
  if (!handle) return Buffer.alloc(0);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(headBytes), 0, headBytes);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}

/**
 * @param probes two files that ffmpeg made from the first frame: a Matroska file and a PNG. If one of the files is missing, the properties
 * that it shows are unknown
 */
export async function readColors(probes: { matroska: string; png: string }): Promise<VideoColors> {
  const [matroska, png] = [await headOf(probes.matroska), await headOf(probes.png)];
  return { ...unknownColors, ...colorsIn(matroska), hasAlpha: isPngWithAlpha(png) };
}

/** The colour types 4 and 6 of PNG have transparency. */
function isPngWithAlpha(png: Buffer): boolean {
  const colorTypeAt = 25;
  return png.length > colorTypeAt && [4, 6].includes(png.readUInt8(colorTypeAt));
}

/** The Matroska elements around the colours, and the ids of the colours. */
const containers: ReadonlySet<number> = new Set([0x18538067, 0x1654ae6b, 0xae, 0xe0, 0x55b0]);
const [matrixId, rangeId, transferId, primariesId] = [0x55b1, 0x55b9, 0x55ba, 0x55bb];
const fullRange = 2;

/** @param bytes the first bytes of a Matroska file that ffmpeg has written */
function colorsIn(bytes: Buffer): Partial<VideoColors> {
  const values = new Map<number, number>();
  try {
    for (let at = 0; at < bytes.length;) {
      const id = variableInteger(bytes, at, { withMarker: true });
      const size = variableInteger(bytes, id.end, { withMarker: false });
      if (containers.has(id.value)) at = size.end;
      else {
        if ([matrixId, rangeId, transferId, primariesId].includes(id.value))
          values.set(id.value, bytes.readUIntBE(size.end, size.value));
        at = size.end + size.value;
      }
    }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error; // the bytes of the probe end inside an element
  }
  const of = (id: number) => values.get(id) ?? unspecified;
  return {
    primaries: of(primariesId),
    transfer: of(transferId),
    matrix: of(matrixId),
    isFullRange: values.get(rangeId) === fullRange,
  };
}

/** The number of leading zero bits gives the length. @throws RangeError */
function variableInteger(
  bytes: Buffer,
  at: number,
  { withMarker }: { withMarker: boolean },
): { value: number; end: number } {
  const length = Math.clz32(bytes.readUInt8(at)) - 23;
  let value = withMarker ? bytes.readUInt8(at) : bytes.readUInt8(at) & (0xff >> length);
  for (let next = 1; next < length; next++) value = value * 256 + bytes.readUInt8(at + next);
  return { value, end: at + length };
}
