/** A caller who never gives up: the caller repeats a request under its key until an answer arrives. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { KeyedRequest } from './requests.ts';
import type { CallerRecord } from './tally.ts';

const answerWithinMs = 20_000;
const pauseMs = 500;
/** The pause after a rate limit, or while the first request still runs. */
const waitMs = 1_000;

export interface KeyedCaller {
  /** Lost answers and 5xx answers. */
  readonly lostAnswers: number;
  /** Repeats the request after a fault, a rate limit or request_in_progress. */
  send(request: KeyedRequest): Promise<CallerRecord['answers'][number]>;
}

export function createCaller(url: string): KeyedCaller {
  let lostAnswers = 0;
  async function once({ clubId, path, method, token, key, body }: KeyedRequest) {
    try {
      const response = await fetch(`${url}/v1/clubs/${clubId}${path}`, {
        method,
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', 'Idempotency-Key': key },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(answerWithinMs),
      });
      const text = await response.text();
      if (response.status >= 500) return undefined;
      const isReplayed = response.headers.get('idempotent-replayed') === 'true';
      return { status: response.status, text, isReplayed };
    } catch {
      return undefined; // the connection was cut, or the API is dead
    }
  }
  return {
    get lostAnswers() {
      return lostAnswers;
    },
    async send(request) {
      for (;;) {
        const answer = await once(request);
        const mustWait = answer && (answer.status === 429 || answer.text.includes('"request_in_progress"'));
        if (answer && !mustWait) return answer;
        if (!answer) lostAnswers += 1;
        await sleep(mustWait ? waitMs : pauseMs);
      }
    },
  };
}
