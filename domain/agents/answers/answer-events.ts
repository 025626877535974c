/** An answer as the events of a stream: its text as it grows, then its end (AGT-15 to AGT-17). */
import { Queries } from '../../../platform/infra/postgres/database.ts';
import { setTimeout as pause } from 'node:timers/promises';
import type { RecordOf } from '../../../contract/contract.ts';
import type { DataSource } from 'typeorm';
import type { Id } from '../../../platform/core/ids.ts';
import type { Wording } from '../../language/wording.ts';
import { answerErrors } from '../agents.policy.ts';
import type { AnswerFeed } from './answer-feed.ts';
import { findAnswer, type Message } from '../conversations/messages.ts';

export type AnswerEvent = RecordOf<'AgentStreamEvent'>;

/** Before the final answer is looked for again, when Postgres was away. */
const againMs = 500;

/**
 * @param from characters (code points) that the receiver has already
 * @param wording of the receiver
 * @param closed says that nobody receives any more
 * @returns `delta`s, and once the answer has ended `done` or `error`; without one of these where the process stops before: the
 *   receiver takes up the answer elsewhere
 */
export async function* answerEvents(
  { source, feed }: { source: DataSource; feed: AnswerFeed },
  { answerId, from, wording }: { answerId: Id; from: number; wording: Wording },
  closed: AbortSignal,
): AsyncGenerator<AnswerEvent> {
  const text = feed.follow(answerId, from, closed);
  let part = await text.next();
  for (; !part.done; part = await text.next()) yield { event: 'delta', data: { text: part.value } };
  if (!part.value) return;
  const answer = await finalAnswer(source, answerId, closed);
  if (answer) yield endOf(answer, wording);
}

function endOf(answer: Message, wording: Wording): AnswerEvent {
  if (answer.status !== 'failed') return { event: 'done', data: { answer } };
  const code = answer.error_code ?? 'internal_error';
  const known = answerErrors.find((one) => one === code) ?? 'internal_error';
  const message = wording.say(`answer.${known}`);
  return { event: 'error', data: { error: { code, message }, answer } };
}

/** @returns undefined where nobody waits for it any more, or the club is gone */
async function finalAnswer(source: DataSource, answerId: Id, closed: AbortSignal): Promise<Message | undefined> {
  while (!closed.aborted) {
    try {
      return await findAnswer(new Queries(source.manager), answerId);
    } catch {
      await pause(againMs);
    }
  }
  return undefined;
}
