/** Videos of one colour, coded as cameras and programs code them, and what players show of a video. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { components } from '../../../dev/components/catalogue.ts';
import { locate } from '../../../dev/components.ts';

const run = promisify(execFile);

export type Rgb = readonly [number, number, number];

/** How colours are coded: the share of red and blue in the brightness, by the name of the matrix. */
const shares = {
  bt709: [0.2126, 0.0722],
  smpte170m: [0.299, 0.114],
  bt2020nc: [0.2627, 0.0593],
} as const;

export interface Coding {
  /** What the stream says; absent: it says nothing. */
  says?: { primaries: string; transfer: string };
  matrix: keyof typeof shares;
  bits?: 8 | 10;
  isFullRange?: boolean;
  size?: string;
  /** More for the encoder x265, in 10 bits. */
  more?: string;
}

/** @returns brightness and colour differences as numbers of so many bits */
function codesOf([red, green, blue]: Rgb, { matrix, bits = 10, isFullRange = false }: Coding): number[] {
  const [ofRed, ofBlue] = shares[matrix];
  const brightness = ofRed * red + (1 - ofRed - ofBlue) * green + ofBlue * blue;
  const differences = [(blue - brightness) / (2 * (1 - ofBlue)), (red - brightness) / (2 * (1 - ofRed))];
  const unit = 2 ** (bits - 8);
  const most = 2 ** bits - 1;
  const coded = isFullRange
    ? [most * brightness, ...differences.map((one) => 128 * unit + most * one)]
    : [(16 + 219 * brightness) * unit, ...differences.map((one) => (128 + 224 * one) * unit)];
  return coded.map((value) => Math.min(most, Math.max(0, Math.round(value))));
}

/** @param color red, green and blue from 0 to 1, as the coding has them */
export function videoOf(color: Rgb, coding: Coding): Promise<Buffer> {
  const { says, matrix, bits = 10, isFullRange = false, size = '320x180', more = '' } = coding;
  const [y, u, v] = codesOf(color, coding);
  const picture = ['-f', 'lavfi', '-i', `color=s=${size}:r=5:d=1`];
  const filled = ['-vf', `format=yuv444p${bits === 10 ? '10le' : ''},lutyuv=y=${y}:u=${u}:v=${v}`];
  const range = isFullRange ? 'pc' : 'tv';
  if (bits === 8) {
    const colors = says && ['-color_primaries', says.primaries, '-color_trc', says.transfer, '-colorspace', matrix];
    const said = colors && [...colors, '-color_range', range];
    return made([...picture, ...filled, '-c:v', 'libx264', '-preset', 'ultrafast', ...(said ?? [])], 'mov');
  }
  const said = says ? `:colorprim=${says.primaries}:transfer=${says.transfer}:colormatrix=${matrix}` : '';
  const full = isFullRange ? ':range=full' : '';
  const encoder = ['-c:v', 'libx265', '-preset', 'ultrafast', '-x265-params', `log-level=none${said}${full}${more}`];
  return made([...picture, ...filled, ...encoder, '-tag:v', 'hvc1'], 'mov');
}

/** @param args of ffmpeg, without the output @returns what it writes */
export async function made(args: readonly string[], format: string, input?: Buffer): Promise<Buffer> {
  const directory = await mkdtemp(path.join(tmpdir(), 'coded-video-'));
  try {
    const [from, to] = [path.join(directory, 'from'), path.join(directory, `to.${format}`)];
    if (input) await writeFile(from, input);
    const quiet = ['-nostdin', '-loglevel', 'error'];
    await run(await locate(components.ffmpeg), [...quiet, ...(input ? ['-i', from] : []), ...args, to]);
    return await readFile(to);
  } finally {
    await rm(directory, { recursive: true });
  }
}

/** @returns what ffmpeg says of the stream of pictures, such as `h264 (High) (avc1 / 0x31637661), yuv420p(tv, bt709), 320x180` */
export async function describedVideo(bytes: Buffer): Promise<string> {
  const directory = await mkdtemp(path.join(tmpdir(), 'described-video-'));
  try {
    const file = path.join(directory, 'video');
    await writeFile(file, bytes);
    const refused = await run(await locate(components.ffmpeg), ['-hide_banner', '-i', file]).catch(
      (error: { stderr: string }) => error,
    );
    return /Video: (.*)/.exec(refused.stderr)?.[1] ?? '';
  } finally {
    await rm(directory, { recursive: true });
  }
}

/** @param filters before the pixel is read @returns the pixel in the middle, 0 to 255 each, as a player of BT.709 shows it */
export async function shownColor(bytes: Buffer, filters: readonly string[] = []): Promise<number[]> {
  const seen = [...filters, 'scale=in_color_matrix=bt709:in_range=tv:flags=accurate_rnd', 'format=rgb24'].join(',');
  const output = ['-frames:v', '1', '-vf', seen, '-c:v', 'rawvideo', '-f', 'rawvideo'];
  const pixels = await made(output, 'rgb', bytes);
  const [, width = 0, height = 0] = /, (\d+)x(\d+)/.exec(await describedVideo(bytes))?.map(Number) ?? [];
  const middle = 3 * (width * Math.floor(height / 2) + Math.floor(width / 2));
  return [...pixels.subarray(middle, middle + 3)];
}
