/** The thread that looks into one file. It asks for the bytes that it needs, and tells what it found. */
import { once } from 'node:events';
import { parentPort, workerData } from 'node:worker_threads';
import { lookInto, type ArrivedFile, type Finding } from '../file-content.ts';

export type IdentificationMessage =
  | { asks: 'bytes'; offset: number; length: number }
  | { tells: 'finding'; finding: Finding };

const parent = parentPort;
if (!parent) throw new Error('This module is for a thread');

const tell = (message: IdentificationMessage) => parent.postMessage(message, []); // nothing is given away

async function read(offset: number, length: number): Promise<Buffer> {
  const answered = once(parent as NonNullable<typeof parent>, 'message') as Promise<[Uint8Array]>;
  tell({ asks: 'bytes', offset, length });
  const [bytes] = await answered;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

tell({ tells: 'finding', finding: await lookInto(read, workerData as ArrivedFile) });
