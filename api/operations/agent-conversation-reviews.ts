/** What administrators read of students' conversations with agents. */
import { listReviews, readReview } from '../../domain/agents/conversations/conversation-reviews.ts';
import type { Operation } from '../operation.ts';
import { listed } from './answers.ts';

export const listAgentConversations: Operation<'listAgentConversations'> = async ({ params, query, services }) =>
  listed(await listReviews(services.database, params.clubId, params.agentId, query));

export const getAgentConversation: Operation<'getAgentConversation'> = async ({ params, query, services }) => {
  const { storage, database } = services;
  const { conversation, total } = await readReview(database, storage, params, query);
  return { data: conversation, total };
};
