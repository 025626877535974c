/** A client that repeats each call until it is answered. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Id } from '../../../../platform/core/ids.ts';
import type { Library } from './libraries.ts';

/**
 * The time limit of a call. It is longer than any call takes. Otherwise a call could succeed after the client gave up, and the repetition
 * would have the effect twice.
 */
const answerWithinMs = 30_000;
const pauseMs = 200;

/** The use of a file: the library of the club, an image that a student shows to an agent, or the assignment of a student. */
export type Purpose = 'library' | 'agent image' | 'assignment';

export interface Client {
  /** @param options.accepted more statuses that the call accepts, such as 404 */
  call(
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    options?: { body?: object; accepted?: readonly number[] },
  ): Promise<Response>;
  /** Makes the call only once, even if the answer is lost. The caller must then check whether the call had an effect. */
  callOnce(method: 'POST', path: string, body: object): Promise<void>;
}

export function clientOf(apiUrl: string, { clubId, tokens }: Library, purpose: Purpose): Client {
  const token = purpose === 'library' ? tokens.owner : tokens.student;
  const urlOf = (path: string) => `${apiUrl}/v1/clubs/${clubId}${path}`;
  const requestOf = (method: string, body?: object): RequestInit => ({
    method,
    headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  return {
    call: (method, path, { body, accepted = [] } = {}) => answered(urlOf(path), requestOf(method, body), accepted),
    async callOnce(method, path, body) {
      const request = { ...requestOf(method, body), signal: AbortSignal.timeout(answerWithinMs) };
      await fetch(urlOf(path), request)
        .then((answer) => answer.arrayBuffer())
        .catch(() => undefined);
      await sleep(pauseMs);
    },
  };
}

export async function answered(url: string, request: RequestInit, accepted: readonly number[] = []): Promise<Response> {
  for (;;) {
    const answer = await fetch(url, { ...request, signal: AbortSignal.timeout(answerWithinMs) }).catch(() => undefined);
    if (answer && (answer.ok || accepted.includes(answer.status))) return answer;
    const text = await answer?.text().catch(() => '');
    if (answer && answer.status < 500 && answer.status !== 429 && answer.status !== 423)
      throw new Error(`${request.method ?? 'GET'} ${new URL(url).pathname} was refused with ${answer.status} ${text}`);
    await sleep(pauseMs);
  }
}

interface FileRecord {
  id: Id;
  status: 'uploading' | 'processing' | 'ready' | 'failed';
  visibility: 'private' | 'public';
  size_bytes: number;
}

export async function readUntil(
  client: Client,
  id: Id,
  isSatisfied: (record: FileRecord) => boolean,
): Promise<FileRecord> {
  for (;;) {
    const answer = await client.call('GET', `/media/${id}`);
    const { data } = (await answer.json().catch(() => ({}))) as { data?: FileRecord };
    if (data && isSatisfied(data)) return data;
    await sleep(pauseMs);
  }
}
