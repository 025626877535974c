/** Calls the public API as the owner of a club, as any program can do. */
import { Problem } from '../../../../dev/problem.ts';

// oxlint-disable-next-line typescript/no-explicit-any -- the answers of many operations
export type CopiedRecord = any;

export interface Owner {
  clubId: string;
  administratorId: string;
  /** @throws Problem if the answer is an error */
  ask(method: string, path: string, body?: unknown): Promise<CopiedRecord>;
}

export function ownerAt(
  base: string,
  { clubId, administratorId, token }: { clubId: string; administratorId: string; token: string },
): Owner {
  return {
    clubId,
    administratorId,
    async ask(method, path, body) {
      for (;;) {
        const answer = await fetch(`${base}/v1/clubs/${clubId}${path}`, {
          method,
          headers: {
            authorization: `Bearer ${token}`,
            ...(body !== undefined && { 'content-type': 'application/json' }),
          },
          ...(body !== undefined && { body: JSON.stringify(body) }),
        });
        const text = await answer.text();
        if (answer.status === 429) {
          await new Promise((resolve) => setTimeout(resolve, 1_000 * Number(answer.headers.get('retry-after') ?? 1)));
          continue;
        }
        if (!answer.ok)
          throw new Problem(`${method} ${path} answers ${answer.status}: ${text}\n${JSON.stringify(body)}`);
        return text === '' ? undefined : JSON.parse(text);
      }
    },
  };
}

/** Uploads a file to the library. @returns its id once it is ready */
export async function uploadCopy(
  owner: Owner,
  file: { name: string; mime: string; bytes: Buffer; title?: string },
): Promise<string> {
  const { name, mime, bytes, title } = file;
  const body = { file_name: name, mime, size_bytes: bytes.length, ...(title !== undefined && { title }) };
  const { data: media, upload: way } = await owner.ask('POST', '/media', body);
  const answer = await fetch(way.url, { method: 'PUT', headers: way.headers, body: new Uint8Array(bytes) });
  if (!answer.ok) throw new Problem(`The upload of ${name} answers ${answer.status}`);
  await owner.ask('POST', `/media/${media.id}/complete`);
  for (;;) {
    const { data: stored } = await owner.ask('GET', `/media/${media.id}`);
    if (stored.status === 'ready') return stored.id;
    if (stored.status === 'failed') throw new Problem(`The file ${name} was not processed`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
