/** Builds videos of one colour in the encodings of cameras and programs, and reads the colour that a player shows. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { components } from '../../../dev/components/catalogue.ts';
import { locate } from '../../../dev/components.ts';

const run = promisify(execFile);

export type Rgb = readonly [number, number, number];

/** For each colour matrix, the weights of red and blue in the brightness. */
const shares = {
  bt709: [0.2126, 0.0722],
  smpte170m: [0.299, 0.114],
  bt2020nc: [0.2627, 0.0593],
} as const;

export interface Coding {
  /** The colour description of the stream. The stream has no description by default. */
  says?: { primaries: string; transfer: string };
  matrix: keyof typeof shares;
  bits?: 8 | 10;
  isFullRange?: boolean;
  size?: string;
  /** Further options for the encoder x265, in 10 bits. */
  more?: string;
}

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

/** @param color red, green and blue from 0 to 1, in the coding's colour space */
export function videoOf(color: Rgb, coding: Coding): Promise<Buffer> {
  const { says, matrix, bits = 10, isFullRange = false, size = '320x180', more = '' } = coding;
  const [y, u, v] = codesOf(color, coding);
  const picture = ['-f', 'lavfi', '-i', `color=s=${size}:r=5:d=1`];
  const filled = ['-vf', `format=yuv444p${bits === 10 ? '10le' : ''},lutyuv=y=${y}:u=${u}:v=${v}`];
  const range = isFullRange ? 'pc' : 'tv';
  if (bits === 8) {
    const colors = says && ['-color_primaries', says.primaries, '-color_trc', says.transfer, '-colorspace', matrix];
    const stated = colors && [...colors, '-color_range', range];
    return ffmpegOutput([...picture, ...filled, '-c:v', 'libx264', '-preset', 'ultrafast', ...(stated ?? [])], 'mov');
  }
  const stated = says ? `:colorprim=${says.primaries}:transfer=${says.transfer}:colormatrix=${matrix}` : '';
  const full = isFullRange ? ':range=full' : '';
  const encoder = ['-c:v', 'libx265', '-preset', 'ultrafast', '-x265-params', `log-level=none${stated}${full}${more}`];
  return ffmpegOutput([...picture, ...filled, ...encoder, '-tag:v', 'hvc1'], 'mov');
}

export async function ffmpegOutput(args: readonly string[], format: string, input?: Buffer): Promise<Buffer> {
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

/** @returns ffmpeg's description of the video stream, such as `h264 (High) (avc1 / 0x31637661), yuv420p(tv, bt709), 320x180` */
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

/** @returns the color of the middle pixel in a BT.709 player, as three values from 0 to 255 */
export async function shownColor(bytes: Buffer, filters: readonly string[] = []): Promise<number[]> {
  const filterChain = [...filters, 'scale=in_color_matrix=bt709:in_range=tv:flags=accurate_rnd', 'format=rgb24'].join(
    ',',
  );
  const output = ['-frames:v', '1', '-vf', filterChain, '-c:v', 'rawvideo', '-f', 'rawvideo'];
  const pixels = await ffmpegOutput(output, 'rgb', bytes);
  const [, width = 0, height = 0] = /, (\d+)x(\d+)/.exec(await describedVideo(bytes))?.map(Number) ?? [];
  const middle = 3 * (width * Math.floor(height / 2) + Math.floor(width / 2));
  return [...pixels.subarray(middle, middle + 3)];
}
