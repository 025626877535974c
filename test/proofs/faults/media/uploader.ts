/**
 * Uploads a file by the method that its reservation names. The client interrupts resumable uploads several times, and continues each upload
 * at its offset.
 */
import { once } from 'node:events';
import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Id } from '../../../../platform/core/ids.ts';
import { between } from '../ranges.ts';
import { answered, type Client, type Purpose } from './client.ts';

export interface Arriving {
  name: string;
  mime: string;
  bytes: Buffer;
  purpose: Purpose;
}

interface Upload {
  method: 'put' | 'tus';
  url: string;
  headers: Record<string, string>;
}

const pauseMs = 200;
/** The share of upload requests that the client breaks off. */
const cutShare = 0.6;
const pieceWithinMs = 30_000;

/**
 * @returns the id of the record, and how often the client broke off the upload. If the answer to a reservation was lost, that reservation
 * expires later
 */
export async function uploadOnce(client: Client, file: Arriving): Promise<{ id: Id; cuts: number }> {
  const { data, upload } = await reserve(client, file);
  const cuts = upload.method === 'put' ? await sendAtOnce(upload, file.bytes) : await sendByTus(upload, file.bytes);
  const answer = await client.call('POST', `/media/${data.id}/complete`);
  await answer.arrayBuffer().catch(() => undefined); // the process may die during its answer
  return { id: data.id, cuts };
}

/** Reserves a file, deletes the file, and uploads its bytes afterwards. */
export async function writeAfterDeletion(client: Client, file: Arriving): Promise<Id> {
  const { data, upload } = await reserve(client, file);
  await client.call('DELETE', `/media/${data.id}`, { accepted: [404] }); // 404: the answer was lost
  await sendAtOnce(upload, file.bytes);
  return data.id;
}

const paths: Record<Purpose, string> = {
  library: '/media',
  'agent image': '/classroom/agent-images',
  assignment: '/classroom/assignment-files',
};

function reserve(client: Client, { name, mime, bytes, purpose }: Arriving): ReturnType<typeof reservation> {
  const size = purpose === 'assignment' ? {} : { size_bytes: bytes.length };
  return reservation(client, paths[purpose], { file_name: name, mime, ...size });
}

async function reservation(client: Client, path: string, body: object): Promise<{ data: { id: Id }; upload: Upload }> {
  for (;;) {
    const answer = await client.call('POST', path, { body });
    const reserved = (await answer.json().catch(() => undefined)) as { data: { id: Id }; upload: Upload } | undefined;
    if (reserved) return reserved;
  }
}

async function sendAtOnce({ url, headers }: Upload, bytes: Buffer): Promise<number> {
  // 412: the bytes had arrived, and the answer was lost.
  await answered(url, { method: 'PUT', headers, body: new Uint8Array(bytes) }, [412]);
  return 0;
}

async function sendByTus({ url, headers: authorization }: Upload, bytes: Buffer): Promise<number> {
  const headers = { ...authorization, 'tus-resumable': '1.0.0' };
  const created = await answered(url, {
    method: 'POST',
    headers: { ...headers, 'upload-length': String(bytes.length) },
  });
  const location = created.headers.get('location') ?? '';
  for (let cuts = 0; ;) {
    const answer = await answered(location, { method: 'HEAD', headers });
    const offset = Number(answer.headers.get('upload-offset'));
    if (offset === bytes.length) return cuts;
    const remainingBytes = bytes.length - offset;
    const isCut = Math.random() < cutShare;
    cuts += isCut ? 1 : 0;
    await sendPiece(
      location,
      { ...headers, 'upload-offset': String(offset) },
      bytes.subarray(offset),
      isCut ? remainingBytes : 0,
    );
    await sleep(between({ least: 0, most: pauseMs }));
  }
}

/**
 * Sends a piece of the file. The next HEAD request shows how many bytes have arrived.
 * @param cutBefore the connection breaks after a random number of bytes, which is smaller than this number; if this number is 0, the client
 * sends all bytes
 */
async function sendPiece(
  location: string,
  headers: Record<string, string>,
  piece: Buffer,
  cutBefore: number,
): Promise<void> {
  const sending = request(location, {
    method: 'PATCH',
    headers: { ...headers, 'content-type': 'application/offset+octet-stream', 'content-length': piece.length },
  });
  sending.on('error', () => {});
  const end = Promise.race([
    once(sending, 'response').then(([answer]) => (answer as NodeJS.ReadableStream).resume()),
    once(sending, 'close'),
    sleep(pieceWithinMs),
  ]).catch(() => undefined);
  if (cutBefore === 0) sending.end(piece);
  else sending.write(piece.subarray(0, Math.floor(Math.random() * cutBefore)), () => sending.destroy());
  await end;
  sending.destroy();
}
