/**
 * The channel on which workers inform API processes that answers have grown or ended. One NOTIFY after the commit announces several answers
 * together (ANS-8).
 */
import type { DataSource } from 'typeorm';
import type { Id } from '../../../platform/core/ids.ts';
import { prepared } from '../../../platform/infra/postgres/prepared.ts';
import { forAllClubs } from '../../../platform/infra/postgres/shared-pool.ts';

export const answersChannel = 'agent_answers';

/** Two answers with equal tags cause only one unneeded read. */
const tagLength = 8;
/** The maximum number of tags in one NOTIFY. Postgres limits the payload to fewer than 8,000 bytes. */
const maxTags = 800;

/** @returns the tag that stands for the answer in a payload: the last part of the answer's random id */
export function tagOf(answerId: Id): string {
  return answerId.slice(-tagLength);
}

/**
 * @returns the tags of the answers that the payload names, or undefined if the payload names none. An empty payload means that any answer
 * may have changed
 */
export function tagsIn(payload: string): string[] | undefined {
  return payload === '' ? undefined : payload.split(',');
}

export interface AnswersNotifier {
  /** Announces that these answers have grown or ended. If a NOTIFY is lost, followers wait for their next poll. */
  notify(answerIds: readonly Id[]): void;
}

/**
 * Sends one statement at a time. Announcements that arrive meanwhile go into the next statement.
 * @param onError is called when a NOTIFY fails
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
        await tell(source, { payloads });
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

const tell = prepared<object, { payloads: readonly string[] }>(
  'notify_answers',
  (value) => `SELECT pg_notify('${answersChannel}', payload) FROM unnest(${value.payloads}::text[]) AS payload`,
);
