/** Calls the API as the owner of a club, and repeats each call until the API answers. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Id } from '../../../../platform/core/ids.ts';
import type { Ground } from '../victims.ts';
import type { Recipients } from './recipients.ts';

export type OwnerCall = (
  method: string,
  path: string,
  body?: object,
) => Promise<{ status: number; data: { id: Id; status: string } }>;

const answerWithinMs = 10_000;
const pauseMs = 100;
/** A club may write 60 times a minute (LIM-1). Faster calls are refused, and use up the limit of the next minute. */
const everyMs = 1_050;

export function caller({ urls }: Ground, { clubId, ownerToken }: Recipients): OwnerCall {
  let freeAt = 0;
  async function waitForLimit(): Promise<void> {
    const now = performance.now();
    freeAt = Math.max(now, freeAt) + everyMs;
    await sleep(freeAt - everyMs - now);
  }

  return async (method, at, body) => {
    for (;;) {
      if (method !== 'GET') await waitForLimit();
      try {
        const answer = await fetch(`${urls.API}/v1/clubs/${clubId}${at}`, {
          method,
          headers: { Authorization: `Bearer ${ownerToken}`, 'Content-Type': 'application/json' },
          ...(body && { body: JSON.stringify(body) }),
          signal: AbortSignal.timeout(answerWithinMs),
        });
        const text = await answer.text();
        if (answer.status < 500 && answer.status !== 429) {
          const { data } = (text === '' ? {} : JSON.parse(text)) as { data?: { id: Id; status: string } };
          return { status: answer.status, data: data ?? { id: '', status: '' } };
        }
      } catch {
        // The API, or Postgres behind it, is dead.
      }
      await sleep(pauseMs);
    }
  };
}
