/** Creates pictures in a separate process, so that a hostile file ends only that process. */
import { spawn } from 'node:child_process';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';

/** The box into which a picture must fit, in pixels. The box has a width, or a width and a height. No picture is enlarged. */
export interface Box {
  width: number;
  height?: number;
  /** Crops the picture to the square in its middle. */
  isSquare?: boolean;
}

export interface SmallPicture {
  bytes: Buffer;
  type: 'image/jpeg' | 'image/png';
  width: number;
  height: number;
}

/** The program of a process, and its limits. */
export interface PictureProcess {
  module: URL;
  /**
   * The time limit after the end of the input, in milliseconds. It is far longer than `cpuSeconds`. If a process reaches this limit before
   * it has used its CPU time, the cause is a busy machine, and not the file.
   */
  workMs: number;
  /**
   * The CPU time that the work on a file may take. The kernel enforces this limit, so the picture process ends even if its parent process
   * was killed.
   */
  cpuSeconds: number;
  maxHeapMb: number;
  /** The limit of WebAssembly memory; absent if the process uses no WebAssembly. */
  maxWasmMb?: number;
}

/** The exit code of a process for input that it cannot read. */
export const unreadable = 2;
const wasmPagesPerMb = 16;

/** The bounds that the process inherits. */
const script = 'ulimit -t "$1" && ulimit -c 0 && shift && exec "$@"';

/**
 * @param input the uploaded file
 * @param boxes at least one
 * @param signal ends the process
 * @returns one picture for each box. Undefined if the file cannot be read, or if the process exceeded its limit of CPU time or memory
 * @throws the error of the input, the signal's reason, and Error if the process failed for another reason, such as a machine that is too
 * busy
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
 * Runs a process that creates pictures of one file.
 * @param order the argument of the process, which it gets as JSON
 * @returns the output of the process, or its exit code if that is not 0; null if it exceeded a bound
 * @throws the errors of {@link makePictures}
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

/**
 * @returns the error of the input, or undefined if the input has no error. The result is also undefined if the process ended before it read
 * the whole input, because the exit code then gives the reason
 */
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

/** Reads the output of child.mjs. */
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
