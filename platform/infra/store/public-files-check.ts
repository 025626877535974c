/** Reads one file of the public bucket without a signature, to check that everyone can. */
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { describeError } from '../describe-error.ts';
import { createObjectStore, keyPrefix, type ObjectStoreSettings } from './object-store.ts';

const answerMs = 20_000;

/**
 * @returns the mistakes, each with its remedy
 * @throws the error of the store if it refuses the file
 */
export async function publicFilesMistakes(settings: ObjectStoreSettings): Promise<string[]> {
  const storage = createObjectStore(settings);
  const key = `${keyPrefix.public}readable-${randomUUID()}`;
  const content = randomUUID();
  try {
    await storage.put(key, 'text/plain', Readable.from([Buffer.from(content)]));
    const wrongAnswer = await answerOf(storage.publicAddress(key), content);
    return wrongAnswer === undefined
      ? []
      : [
          `A file of the bucket ${settings.publicBucket} (S3_PUBLIC_BUCKET) is not publicly readable below PUBLIC_FILES_URL (${wrongAnswer}): allow s3:GetObject to everyone in the policy of the bucket. If the store has "Block public access", switch it off for the bucket first. Or let PUBLIC_FILES_URL lead to a server that may read it (docs/how-to/deploy.md, Buckets).`,
        ];
  } finally {
    await storage.remove(key).catch(() => undefined); // If the answer got lost, the file may exist.
    storage.close();
  }
}

/** @returns undefined if the file arrives */
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
