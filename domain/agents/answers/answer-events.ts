/** Sends an answer as the events of a stream: the growing text, then the end (AGT-15 to AGT-17). */
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

/** If Postgres is unreachable, the function waits this long before it reads the final answer again. */
const againMs = 500;

/**
 * @param from the number of characters (code points) that the receiver already has
 * @param wording the messages in the language of the receiver
 * @returns `delta` events, and `done` or `error` when the answer has ended. If the process stops earlier, that last event is missing and
 * the receiver reconnects to another process
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
  const listedCode = answerErrors.find((one) => one === code) ?? 'internal_error';
  const message = wording.say(`answer.${listedCode}`);
  return { event: 'error', data: { error: { code, message }, answer } };
}

/** @returns undefined if the receiver has disconnected or the club was deleted */
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
