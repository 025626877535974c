/** Calls of the API as the owner of a club, again and again while it is away. */
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
/** A club has 60 writes a minute (LIM-1). Who asks sooner uses up the next minute, and gets nowhere. */
const everyMs = 1_050;

export function caller({ urls }: Ground, { clubId, ownerToken }: Recipients): OwnerCall {
  let freeAt = 0;
  async function turn(): Promise<void> {
    const now = performance.now();
    freeAt = Math.max(now, freeAt) + everyMs;
    await sleep(freeAt - everyMs - now);
  }

  return async (method, at, body) => {
    for (;;) {
      if (method !== 'GET') await turn();
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
        // It, or Postgres behind it, is dead.
      }
      await sleep(pauseMs);
    }
  };
}
