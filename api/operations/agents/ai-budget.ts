/** The budget of a club's AI agents, and their usage and costs. */
import * as usage from '../../../domain/agents/budget/usage.ts';
import type { Operation } from '../../operation.ts';
import { data, page } from '../answers.ts';

export const getAiBudget: Operation<'getAiBudget'> = async ({ params, db, now }) =>
  data(await usage.readAiBudget(db, params.clubId, now));

export const setAiBudgetLimit: Operation<'setAiBudgetLimit'> = async ({ params, body, deps, now }) =>
  data(await usage.setOwnLimit(deps, params.clubId, body.own_limit, now));

export const removeAiBudgetLimit: Operation<'removeAiBudgetLimit'> = async ({ params, deps, now }) =>
  data(await usage.setOwnLimit(deps, params.clubId, null, now));

export const listAiUsage: Operation<'listAiUsage'> = async ({ params, query, db, now }) =>
  page(await usage.listClubUsage(db, params.clubId, query, now));

export const listAgentUsage: Operation<'listAgentUsage'> = async ({ params, query, db }) =>
  page(await usage.listAgentUsage(db, params.clubId, params.agentId, query));
