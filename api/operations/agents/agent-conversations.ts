/** Students ask agents: their questions, the streamed answers, and their conversations. */
import { EventStream } from '../../../contract/contract.ts';
import { answerEvents, type AnswerEvent } from '../../../domain/agents/answers/answer-events.ts';
import * as asking from '../../../domain/agents/conversations/asking.ts';
import * as conversations from '../../../domain/agents/conversations/conversations.ts';
import type { StudentIdentity } from '../../../domain/identity/student-identity.ts';
import { languageOf } from '../../../domain/language/languages.ts';
import { wordingIn } from '../../../domain/language/wording.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Deps, Operation } from '../../operation.ts';
import { data, noContent, page, messagesPage } from '../answers.ts';

export const askAgent: Operation<'askAgent'> = async ({ params, body, student, deps, now }) => {
  const accepted = await asking.askAgent(deps, student, params.publicId, body, now);
  return new EventStream(async function* (closed): AsyncGenerator<AnswerEvent> {
    yield { event: 'accepted', data: accepted };
    yield* eventsOf(deps, student, { answerId: accepted.answer.id, from: 0 }, closed);
  });
};

export const reattachAnswer: Operation<'reattachAnswer'> = async ({ params, query, student, db, deps }) => {
  const { conversationId, messageId } = params;
  const answerId = await conversations.findAnswerToFollow(db, student, conversationId, messageId, query.from);
  return new EventStream((closed) => eventsOf(deps, student, { answerId, from: query.from }, closed));
};

function eventsOf(
  { db, answers }: Deps,
  { language, clubLanguage }: StudentIdentity,
  answer: { answerId: Id; from: number },
  closed: AbortSignal,
): AsyncGenerator<AnswerEvent> {
  const wording = wordingIn(languageOf(language, clubLanguage));
  return answerEvents({ source: db.source, feed: answers }, { ...answer, wording }, closed);
}

export const getClassroomAgent: Operation<'getClassroomAgent'> = async ({ params, student, db, deps, now }) =>
  data(await conversations.openAgent(db, student, params.publicId, deps.model, now));

export const listConversations: Operation<'listConversations'> = async ({ params, query, student, db }) =>
  page(await conversations.listConversations(db, student, params.publicId, query));

export const getConversation: Operation<'getConversation'> = async ({ params, query, student, db, deps }) =>
  messagesPage(await conversations.readConversation(db, deps.storage, student, params, query));

export const getConversationOfAgent: Operation<'getConversationOfAgent'> = async ({
  params,
  query,
  student,
  db,
  deps,
}) => messagesPage(await conversations.readConversation(db, deps.storage, student, params, query));

export const renameConversation: Operation<'renameConversation'> = async ({ params, body, student, deps }) =>
  data(await conversations.renameConversation(deps, student, params.conversationId, body.title));

export const removeConversation: Operation<'removeConversation'> = async ({ params, student, deps, now }) =>
  noContent(await conversations.removeConversation(deps, student, params.conversationId, now));
