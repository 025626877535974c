/** Calls as a client makes them that does not give up: each again, until it is answered. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Id } from '../../../../platform/core/ids.ts';
import type { Library } from './libraries.ts';

/** Longer than any call of ours takes: one that is given up and comes to pass later would be done twice. */
const answerWithinMs = 30_000;
const pauseMs = 200;

/** What a file is for: the club's library, a student's image for agents, or work that a student hands in. */
export type Purpose = 'library' | 'agent image' | 'assignment';

export interface Client {
  /** @param options.accepted statuses that are no refusal, beside those of success @throws Error at a refusal */
  call(
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    options?: { body?: object; accepted?: readonly number[] },
  ): Promise<Response>;
  /** One try of what must not be repeated blindly; whatever comes of it, the caller looks. */
  callOnce(method: 'POST', path: string, body: object): Promise<void>;
}

/** @param purpose decides who calls: the club's owner, or its student */
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

/** @throws Error at a refusal */
export async function answered(url: string, request: RequestInit, accepted: readonly number[] = []): Promise<Response> {
  for (;;) {
    const answer = await fetch(url, { ...request, signal: AbortSignal.timeout(answerWithinMs) }).catch(() => undefined);
    if (answer && (answer.ok || accepted.includes(answer.status))) return answer;
    const text = await answer?.text().catch(() => '');
    if (answer && answer.status < 500 && answer.status !== 429 && answer.status !== 423)
      throw new Error(`It was refused: ${request.method ?? 'GET'} ${new URL(url).pathname} ${answer.status} ${text}`);
    await sleep(pauseMs);
  }
}

interface FileRecord {
  id: Id;
  status: 'uploading' | 'processing' | 'ready' | 'failed';
  visibility: 'private' | 'public';
  size_bytes: number;
}

/** Reads a file of the library until it is as wanted. */
export async function readUntil(
  client: Client,
  id: Id,
  isAsWanted: (record: FileRecord) => boolean,
): Promise<FileRecord> {
  for (;;) {
    const answer = await client.call('GET', `/media/${id}`);
    const { data } = (await answer.json().catch(() => ({}))) as { data?: FileRecord };
    if (data && isAsWanted(data)) return data;
    await sleep(pauseMs);
  }
}
