/** Images made smaller in a process of their own: a hostile file ends that process and nothing else. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const child = fileURLToPath(new URL('shrink-child.mjs', import.meta.url));
/** Longer than the largest image takes by far. */
const timeLimitMs = 20_000;
const maxHeapMb = 128;
/** Exit code of the child for what is no image. */
const unreadable = 2;

/**
 * @param bytes an image, as somebody uploaded it
 * @returns the image upright, without metadata, at most 1,200 pixels wide; undefined where it cannot be read
 * @throws Error where the process failed for another reason
 */
export async function shrinkImage(
  bytes: Buffer,
): Promise<{ bytes: Buffer; type: 'image/jpeg' | 'image/png' } | undefined> {
  const running = spawn(process.execPath, [`--max-old-space-size=${maxHeapMb}`, child], {
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
  const made = Buffer.concat(chunks);
  return { bytes: made, type: made[0] === 0x89 ? 'image/png' : 'image/jpeg' };
}
