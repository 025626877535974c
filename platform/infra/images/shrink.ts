/** Images made smaller in a process of their own: a hostile file ends that process and nothing else. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const child = fileURLToPath(new URL('shrink-child.mjs', import.meta.url));
/** Longer than the largest image takes by far. */
const timeLimitMs = 20_000;
const maxHeapMb = 128;
/** Exit code of the child for what is no image. */
const unreadable = 2;

/** What a picture must fit into, in pixels: in width, or in both. No picture is enlarged. */
export interface Box {
  width: number;
  height?: number;
}

export interface SmallPicture {
  bytes: Buffer;
  type: 'image/jpeg' | 'image/png';
  width: number;
  height: number;
}

/**
 * @param bytes an image, as somebody uploaded it
 * @param boxes at least one
 * @returns the image upright and without metadata, once for each box; undefined where it cannot be read
 * @throws Error where the process failed for another reason
 */
export async function shrinkImage(bytes: Buffer, boxes: readonly Box[]): Promise<SmallPicture[] | undefined> {
  const running = spawn(process.execPath, [`--max-old-space-size=${maxHeapMb}`, child, JSON.stringify(boxes)], {
    env: {}, // it needs no setting, and gets no secret
    stdio: ['pipe', 'pipe', 'ignore'],
    timeout: timeLimitMs,
    killSignal: 'SIGKILL',
  });
  const chunks: Buffer[] = [];
  running.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  running.stdin.on('error', () => undefined); // it ended before it had read everything: its exit code says why
  running.stdin.end(bytes);
  const code = await new Promise<number | null>((resolve, reject) => {
    running.once('error', reject);
    running.once('close', resolve);
  });
  if (code === unreadable || code === null) return undefined; // null: out of time, or killed for its memory
  if (code !== 0) throw new Error(`the process that makes images smaller ended with code ${code}`);
  return picturesIn(Buffer.concat(chunks));
}

/** As shrink-child.mjs writes them. */
function picturesIn(made: Buffer): SmallPicture[] {
  const pictures: SmallPicture[] = [];
  for (let at = 0; at < made.length;) {
    const [length, width, height] = [made.readUInt32BE(at), made.readUInt32BE(at + 4), made.readUInt32BE(at + 8)];
    const bytes = made.subarray(at + 12, at + 12 + length);
    pictures.push({ bytes, type: bytes[0] === 0x89 ? 'image/png' : 'image/jpeg', width, height });
    at += 12 + length;
  }
  return pictures;
}
