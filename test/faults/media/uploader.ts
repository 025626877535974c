/** Uploads a file as a client does that does not give up: every call again, until it is answered. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Id } from '../../../platform/core/ids.ts';
import type { Library } from './libraries.ts';

export interface Arriving {
  name: string;
  mime: string;
  bytes: Buffer;
  becomes: 'ready' | 'failed';
}

interface Reserved {
  data: { id: Id };
  upload: { url: string; headers: Record<string, string> };
}

const answerWithinMs = 15_000;
const pauseMs = 200;

/** @returns the id of the record; a reservation whose answer was lost is left to expire */
export async function uploadOnce(apiUrl: string, { clubId, token }: Library, file: Arriving): Promise<Id> {
  const call = (path: string, body?: object) =>
    answered(`${apiUrl}/v1/clubs/${clubId}/media${path}`, () => ({
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    }));
  const announced = { file_name: file.name, mime: file.mime, size_bytes: file.bytes.length };
  const { data, upload } = (await (await call('', announced)).json()) as Reserved;
  // 412: it had arrived, and the answer was lost.
  await answered(
    upload.url,
    () => ({ method: 'PUT', headers: upload.headers, body: new Uint8Array(file.bytes) }),
    [412],
  );
  await (await call(`/${data.id}/complete`)).arrayBuffer();
  return data.id;
}

/** @throws Error at a refusal */
async function answered(url: string, request: () => RequestInit, accepted: readonly number[] = []): Promise<Response> {
  for (;;) {
    const answer = await fetch(url, { ...request(), signal: AbortSignal.timeout(answerWithinMs) }).catch(
      () => undefined,
    );
    if (answer && (answer.ok || accepted.includes(answer.status))) return answer;
    const text = await answer?.text().catch(() => '');
    if (answer && answer.status < 500 && answer.status !== 429)
      throw new Error(`It was refused: ${answer.status} ${text}`);
    await sleep(pauseMs);
  }
}
