/** What students ask agents: questions, answers as they are written, and the conversations that they make. */
import { EventStream } from '../../contract/contract.ts';
import { answerEvents, type AnswerEvent } from '../../domain/agents/answers/answer-events.ts';
import { askAgent as ask } from '../../domain/agents/conversations/asking.ts';
import {
  findAnswerToFollow,
  listConversations as list,
  openAgent,
  readConversation,
  removeConversation as remove,
  renameConversation as rename,
} from '../../domain/agents/conversations/conversations.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { Operation, Services } from '../operation.ts';
import { listed } from './answers.ts';

export const askAgent: Operation<'askAgent'> = async ({ params, body, student, services, now }) => {
  const accepted = await ask(services, student, params.publicId, body, now);
  return new EventStream(async function* (closed): AsyncGenerator<AnswerEvent> {
    yield { event: 'accepted', data: accepted };
    yield* eventsOf(services, { answerId: accepted.answer.id, from: 0 }, closed);
  });
};

export const reattachAnswer: Operation<'reattachAnswer'> = async ({ params, query, student, services }) => {
  const { conversationId, messageId } = params;
  const answerId = await findAnswerToFollow(services.database, student, conversationId, messageId, query.from);
  return new EventStream((closed) => eventsOf(services, { answerId, from: query.from }, closed));
};

function eventsOf(
  { database, answers }: Services,
  answer: { answerId: Id; from: number },
  closed: AbortSignal,
): AsyncGenerator<AnswerEvent> {
  return answerEvents({ source: database.source, feed: answers }, answer, closed);
}

export const getClassroomAgent: Operation<'getClassroomAgent'> = async ({ params, student, services, now }) => ({
  data: await openAgent(services.database, student, params.publicId, services.model, now),
});

export const listConversations: Operation<'listConversations'> = async ({ params, query, student, services }) =>
  listed(await list(services.database, student, params.publicId, query));

export const getConversation: Operation<'getConversation'> = async ({ params, query, student, services }) => {
  const { storage, database } = services;
  const { conversation, total } = await readConversation(database, storage, student, params.conversationId, query);
  return { data: conversation, total };
};

export const renameConversation: Operation<'renameConversation'> = async ({ params, body, student, services }) => ({
  data: await rename(services.database, student, params.conversationId, body.title),
});

export const removeConversation: Operation<'removeConversation'> = async ({ params, student, services, now }) => {
  await remove(services.database, student, params.conversationId, now);
  return undefined;
};
