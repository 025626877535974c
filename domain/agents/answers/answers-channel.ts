/** Where workers tell API processes which answers have grown or ended: a NOTIFY after the commit, coalesced (ANS-8). */
import type { DataSource } from 'typeorm';
import type { Id } from '../../../platform/core/ids.ts';
import { prepared } from '../../../platform/infra/postgres/prepared.ts';
import { forAllClubs } from '../../../platform/infra/postgres/shared-pool.ts';

export const answersChannel = 'agent_answers';

/** Enough to tell answers apart: two with the same end of their ids cost a look for nothing. */
const tagLength = 8;
/** Of a NOTIFY: its payload has fewer than 8,000 bytes. */
const maxTags = 800;

/** @returns what stands for an answer in a payload: the end of its id, which is random */
export function tagOf(answerId: Id): string {
  return answerId.slice(-tagLength);
}

/** @returns the tags of the answers that a payload names; undefined where it may mean any answer */
export function tagsIn(payload: string): string[] | undefined {
  return payload === '' ? undefined : payload.split(',');
}

export interface AnswersNotifier {
  /** Tells that these have grown or ended. A NOTIFY that is lost costs a follower's poll interval. */
  notify(answerIds: readonly Id[]): void;
}

/**
 * Sends one statement at a time; what is announced meanwhile goes out with the next one.
 * @param onError called with a NOTIFY that failed
 */
export function createAnswersNotifier(source: DataSource, onError: (error: unknown) => void): AnswersNotifier {
  const waiting = new Set<string>();
  let sending = false;

  async function send(): Promise<void> {
    sending = true;
    while (waiting.size > 0) {
      const tags = [...waiting];
      waiting.clear();
      const payloads: string[] = [];
      for (let from = 0; from < tags.length; from += maxTags) payloads.push(tags.slice(from, from + maxTags).join(','));
      try {
        await tell(source, [payloads]);
      } catch (error) {
        onError(error);
      }
    }
    sending = false;
  }

  return {
    notify(answerIds) {
      for (const id of answerIds) waiting.add(tagOf(id));
      if (!sending) void forAllClubs(send);
    },
  };
}

const tell = prepared<object>(
  'notify_answers',
  `SELECT pg_notify('${answersChannel}', payload) FROM unnest($1::text[]) AS payload`,
);
