/** Makes pictures in a separate process, so that a hostile file ends only that process. */
import { spawn } from 'node:child_process';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';

/** In pixels. No picture is enlarged. */
export interface Box {
  width: number;
  height?: number;
  isSquare?: boolean;
}

export interface SmallPicture {
  bytes: Buffer;
  type: 'image/jpeg' | 'image/png';
  width: number;
  height: number;
}

export interface PictureProcess {
  module: URL;
  /**
   * In milliseconds, after the end of the input; far longer than `cpuSeconds`. A process that reaches it had too little CPU, so the file is
   * not the cause.
   */
  workMs: number;
  /** Enforced by the kernel, so the process ends even if its parent was killed. */
  cpuSeconds: number;
  maxHeapMb: number;
  /** Absent without WebAssembly. */
  maxWasmMb?: number;
}

/** The exit code for input that cannot be read. */
export const unreadable = 2;
const wasmPagesPerMb = 16;

const script = 'ulimit -t "$1" && ulimit -c 0 && shift && exec "$@"';

/**
 * @param input the uploaded file
 * @param boxes at least one
 * @param signal ends the process
 * @returns undefined if the file cannot be read, or if the process exceeded its limit of CPU time or memory
 * @throws the error of the input, the signal's reason, and Error for another reason, such as a busy machine
 */
export async function makePictures(
  bounds: PictureProcess,
  input: Iterable<Buffer> | AsyncIterable<Buffer>,
  boxes: readonly Box[],
  signal: AbortSignal,
): Promise<SmallPicture[] | undefined> {
  const ended = await runPictureProcess(bounds, input, boxes, signal);
  if ('output' in ended) return picturesIn(ended.output);
  if (ended.code === unreadable || ended.code === null) return undefined;
  throw endedWith(ended.code);
}

export const endedWith = (code: number): Error => new Error(`The picture process ended with code ${code}`);

/**
 * @param order the process gets it as JSON
 * @returns the output, or the exit code if it is not 0; null if the process exceeded a bound
 */
export async function runPictureProcess(
  { module, workMs, cpuSeconds, maxHeapMb, maxWasmMb }: PictureProcess,
  input: Iterable<Buffer> | AsyncIterable<Buffer>,
  order: unknown,
  signal: AbortSignal,
): Promise<{ output: Buffer } | { code: number | null }> {
  signal.throwIfAborted();
  const wasm = maxWasmMb === undefined ? [] : [`--wasm-max-mem-pages=${maxWasmMb * wasmPagesPerMb}`];
  const program = [
    process.execPath,
    `--max-old-space-size=${maxHeapMb}`,
    ...wasm,
    fileURLToPath(module),
    JSON.stringify(order),
  ];
  const running = spawn('/bin/sh', ['-c', script, 'sh', String(cpuSeconds), ...program], {
    env: {}, // the environment is empty, because the process needs no setting and must get no secret
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const kill = () => void running.kill('SIGKILL');
  let isLate = false;
  signal.addEventListener('abort', kill, { once: true });
  const chunks: Buffer[] = [];
  running.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  const ending = new Promise<{ code: number | null } | { error: Error }>((resolve) => {
    running.once('error', (error) => resolve({ error }));
    running.once('close', (code) => resolve({ code }));
  });
  let limit: NodeJS.Timeout | undefined;
  try {
    const failure = await send(input, running.stdin);
    if (failure) throw failure.error;
    limit = setTimeout(() => {
      isLate = true;
      kill();
    }, workMs);
    const ended = await ending;
    signal.throwIfAborted();
    if ('error' in ended) throw ended.error;
    if (isLate) throw new Error(`The picture process did not end within ${workMs} ms`);
    return ended.code === 0 ? { output: Buffer.concat(chunks) } : { code: ended.code };
  } finally {
    clearTimeout(limit);
    signal.removeEventListener('abort', kill);
    kill();
  }
}

/** @returns the error of the input. undefined if the process ended before it read everything: then the exit code has the reason */
async function send(
  input: Iterable<Buffer> | AsyncIterable<Buffer>,
  to: NodeJS.WritableStream,
): Promise<{ error: unknown } | undefined> {
  let failure: { error: unknown } | undefined;
  const watched = async function* () {
    try {
      yield* input;
    } catch (error) {
      failure = { error };
    }
  };
  await pipeline(watched(), to).catch(() => undefined);
  return failure;
}

function picturesIn(output: Buffer): SmallPicture[] {
  const pictures: SmallPicture[] = [];
  for (let at = 0; at < output.length;) {
    const [length, width, height] = [output.readUInt32BE(at), output.readUInt32BE(at + 4), output.readUInt32BE(at + 8)];
    const bytes = output.subarray(at + 12, at + 12 + length);
    pictures.push({ bytes, type: bytes[0] === 0x89 ? 'image/png' : 'image/jpeg', width, height });
    at += 12 + length;
  }
  return pictures;
}
