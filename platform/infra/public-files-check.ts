/** Whether everybody reads the files of the public bucket: seen by reading one. */
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { describeError } from './describe-error.ts';
import { createObjectStore, keyPrefix, type ObjectStoreSettings } from './object-store.ts';

const answerMs = 20_000;

/**
 * Puts a file into the public bucket, reads it by its public address as anybody would, and removes it.
 * @returns a sentence for each mistake, which says what to do
 * @throws the error of the store where it does not take the file
 */
export async function publicFilesMistakes(settings: ObjectStoreSettings): Promise<string[]> {
  const storage = createObjectStore(settings);
  const key = `${keyPrefix.public}readable-${randomUUID()}`;
  const content = randomUUID();
  try {
    await storage.put(key, 'text/plain', Readable.from([Buffer.from(content)]));
    const said = await answerOf(storage.publicAddress(key), content);
    return said === undefined
      ? []
      : [
          `A file of the bucket ${settings.publicBucket} (S3_PUBLIC_BUCKET) cannot be read by everybody below PUBLIC_FILES_URL (${said}): allow s3:GetObject to everybody by the policy of the bucket, and switch "Block public access" off for it first where the store has that; or let PUBLIC_FILES_URL lead to what may read it (docs/how-to/deploy.md, Buckets).`,
        ];
  } finally {
    await storage.remove(key).catch(() => undefined); // also where the answer got lost: the file may be there
    storage.close();
  }
}

/** @returns what comes instead of the file; undefined where it comes */
async function answerOf(address: string, content: string): Promise<string | undefined> {
  try {
    const answer = await fetch(address, { signal: AbortSignal.timeout(answerMs) });
    if (answer.status !== 200) return String(answer.status);
    return (await answer.text()) === content ? undefined : 'another content';
  } catch (error) {
    const { code, name } = describeError(error);
    return code ?? name;
  }
}
