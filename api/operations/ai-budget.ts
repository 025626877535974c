/** What a club's AI agents may cost, and what they use and cost. */
import {
  listAgentUsage as usageOfAgent,
  listClubUsage,
  readAiBudget,
  setOwnLimit,
} from '../../domain/agents/budget/usage.ts';
import type { Operation } from '../operation.ts';
import { listed } from './answers.ts';

export const getAiBudget: Operation<'getAiBudget'> = async ({ params, services, now }) => ({
  data: await readAiBudget(services.database, params.clubId, now),
});

export const setAiBudgetLimit: Operation<'setAiBudgetLimit'> = async ({ params, body, services, now }) => ({
  data: await services.database.transaction((tx) => setOwnLimit(tx, params.clubId, body.own_limit, now)),
});

export const removeAiBudgetLimit: Operation<'removeAiBudgetLimit'> = async ({ params, services, now }) => ({
  data: await services.database.transaction((tx) => setOwnLimit(tx, params.clubId, null, now)),
});

export const listAiUsage: Operation<'listAiUsage'> = async ({ params, query, services, now }) =>
  listed(await listClubUsage(services.database, params.clubId, query, now));

export const listAgentUsage: Operation<'listAgentUsage'> = async ({ params, query, services }) =>
  listed(await usageOfAgent(services.database, params.clubId, params.agentId, query));
