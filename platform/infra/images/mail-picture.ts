/** Creates the picture of an image for e-mails, in a format that every e-mail program can show (CAMP-10). */
import { endedWith, runPictureProcess, unreadable, type PictureProcess } from './pictures.ts';

export const mailPictureRules = {
  /** In pixels: twice the width of e-mails, for high-resolution screens. */
  width: 1_200,
  /** An animation is smaller, because it has many frames. */
  animatedWidth: 600,
  frames: 500,
  mostBytes: 5 * 1_024 * 1_024,
} as const;

export interface MailPicture {
  bytes: Buffer;
  type: 'image/jpeg' | 'image/png' | 'image/gif';
  width: number;
  height: number;
  /** Whether only the first frame of an animation is shown. */
  standsStill: boolean;
}

/** The image cannot be read, has too many pixels, or its picture would have too many bytes. */
export type NoMailPicture = 'image_unreadable' | 'image_too_large' | 'image_too_heavy';

/** For comparison: an animation of 50 megapixels takes 5 s. */
const making: PictureProcess = {
  module: new URL('mail-picture-child.mjs', import.meta.url),
  workMs: 90_000,
  cpuSeconds: 20,
  maxHeapMb: 128,
};

/** The key is the exit code; `null` means that the process exceeded a limit. */
const reasons = new Map<number | null, NoMailPicture>([
  [null, 'image_unreadable'],
  [unreadable, 'image_unreadable'],
  [3, 'image_too_large'],
  [4, 'image_too_heavy'],
]);

interface Head {
  type: MailPicture['type'];
  width: number;
  height: number;
  isMoving: boolean;
  /** Whether the image has few enough frames and pixels for an animation. */
  isAnimatable: boolean;
}

/**
 * Makes the picture: upright, without metadata, never enlarged. An animation within the limits stays animated.
 * @param image the uploaded bytes
 * @param options.bounds for tests
 * @throws Error if a process failed for a reason other than the image
 */
export async function makeMailPicture(
  image: Buffer,
  {
    signal = new AbortController().signal,
    bounds,
  }: { signal?: AbortSignal; bounds?: Partial<typeof mailPictureRules> } = {},
): Promise<MailPicture | NoMailPicture> {
  const rules = { ...mailPictureRules, ...bounds };
  const run = (animated: boolean) => runPictureProcess(making, [image], { rules, animated }, signal);
  const still = await run(false);
  if ('code' in still) return reasonOf(still.code);
  const picture = pictureIn(still.output);
  if (!picture.isAnimatable) return present(picture, picture.isMoving);
  const moving = await run(true);
  if ('output' in moving) return present(pictureIn(moving.output), false);
  reasonOf(moving.code);
  return present(picture, true);
}

function reasonOf(code: number | null): NoMailPicture {
  const reason = reasons.get(code);
  if (reason === undefined) throw endedWith(code ?? 0);
  return reason;
}

const present = ({ bytes, type, width, height }: Head & { bytes: Buffer }, standsStill: boolean): MailPicture => ({
  bytes,
  type,
  width,
  height,
  standsStill,
});

function pictureIn(output: Buffer): Head & { bytes: Buffer } {
  const end = output.indexOf('\n');
  return { ...(JSON.parse(output.toString('utf8', 0, end)) as Head), bytes: output.subarray(end + 1) };
}
