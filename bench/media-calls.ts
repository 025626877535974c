/** API calls of an owner for files. */
import type { Id } from '../platform/core/ids.ts';
import type { BenchClub } from './clubs.ts';

export interface Announced {
  file_name: string;
  mime: string;
}

interface Descriptor {
  url: string;
  headers: Record<string, string>;
}

/** Reserves an upload. */
export async function reserve(
  base: string,
  club: BenchClub,
  announced: Announced & { size_bytes: number },
): Promise<{ id: Id; to: Descriptor }> {
  const { data, upload: to } = (await post(base, club, '', announced)) as { data: { id: Id }; upload: Descriptor };
  return { id: data.id, to };
}

export async function upload(
  base: string,
  club: BenchClub,
  bytes: Buffer,
  announced: Announced = { file_name: 'knot.png', mime: 'image/png' },
): Promise<Id> {
  const { id, to } = await reserve(base, club, { ...announced, size_bytes: bytes.length });
  const stored = await fetch(to.url, { method: 'PUT', headers: to.headers, body: new Uint8Array(bytes) });
  if (!stored.ok) throw new Error(`The store answered ${stored.status}.`);
  return id;
}

/** @returns the status after completion */
export async function complete(base: string, club: BenchClub, id: Id): Promise<string> {
  const { data } = (await post(base, club, `/${id}/complete`)) as { data: { status: string } };
  return data.status;
}

async function post(base: string, { id, token }: BenchClub, path: string, body?: object): Promise<unknown> {
  const answer = await fetch(`${base}/v1/clubs/${id}/media${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  if (!answer.ok) throw new Error(`A call for a file was answered ${answer.status}.`);
  return answer.json();
}
