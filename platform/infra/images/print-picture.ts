/** Prepares an image for printed documents: a separate process makes a form that a PDF can contain unchanged. */
import { endedWith, runPictureProcess, unreadable, type PictureProcess } from './pictures.ts';

/** The picture is upright, in sRGB and without metadata. */
export interface PrintPicture {
  /** In pixels. */
  width: number;
  height: number;
  /** A JPEG with three components, or deflated pixels of three bytes. */
  coding: 'jpeg' | 'deflate';
  colors: Uint8Array;
  /** One byte for each pixel, deflated; 0 is transparent. Empty without transparency. */
  alpha: Uint8Array;
}

/** For comparison: a logo of 1,600 × 1,600 pixels takes 0.3 s. */
const making: PictureProcess = {
  module: new URL('print-picture-child.mjs', import.meta.url),
  workMs: 30_000,
  cpuSeconds: 10,
  maxHeapMb: 128,
};

/**
 * @param image at most 50 megapixels
 * @param options.box in pixels; the picture is never enlarged
 * @param options.mostBytes a larger picture is made smaller, at least a quarter of the box
 * @param options.signal ends the process
 * @returns undefined if the image cannot be read, or if its process exceeded the limit of CPU time or memory
 * @throws the signal's reason
 */
export async function makePrintPicture(
  image: Buffer,
  { box, mostBytes, signal }: { box: { width: number; height: number }; mostBytes: number; signal: AbortSignal },
): Promise<PrintPicture | undefined> {
  const ended = await runPictureProcess(making, [image], { box, mostBytes }, signal);
  if ('output' in ended) return pictureIn(ended.output);
  if (ended.code === unreadable || ended.code === null) return undefined;
  throw endedWith(ended.code);
}

function pictureIn(output: Buffer): PrintPicture {
  const end = output.indexOf('\n');
  const head = JSON.parse(output.toString('utf8', 0, end)) as Pick<PrintPicture, 'width' | 'height' | 'coding'> & {
    colorBytes: number;
  };
  const { width, height, coding, colorBytes } = head;
  const colors = output.subarray(end + 1, end + 1 + colorBytes);
  return { width, height, coding, colors, alpha: output.subarray(end + 1 + colorBytes) };
}
