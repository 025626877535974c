/** Administrators read the conversations of students with agents. */
import * as reviews from '../../../domain/agents/conversations/conversation-reviews.ts';
import type { Operation } from '../../operation.ts';
import { page, messagesPage } from '../answers.ts';

export const listAgentConversations: Operation<'listAgentConversations'> = async ({ params, query, db }) =>
  page(await reviews.listReviews(db, params.clubId, params.agentId, query));

export const getAgentConversation: Operation<'getAgentConversation'> = async ({ params, query, db, deps }) =>
  messagesPage(await reviews.readReview(db, deps.storage, params, query));
