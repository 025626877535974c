/** AI agents: administrators configure them and their sources; students list them. */
import * as agents from '../../../domain/agents/setup/agents.ts';
import * as classroom from '../../../domain/agents/setup/classroom.ts';
import * as material from '../../../domain/agents/setup/material.ts';
import * as sources from '../../../domain/agents/setup/source-list.ts';
import type { Operation } from '../../operation.ts';
import { data, page } from '../answers.ts';

export const listAgents: Operation<'listAgents'> = async ({ params, query, db }) =>
  page(await agents.listAgents(db, params.clubId, query));

export const createAgent: Operation<'createAgent'> = async ({ params, body, deps, now }) =>
  data(await agents.createAgent(deps, params.clubId, body, now));

export const getAgent: Operation<'getAgent'> = async ({ params, db }) =>
  data(await agents.findAgent(db, params.clubId, params.agentId));

export const updateAgent: Operation<'updateAgent'> = async ({ params, body, deps, now }) =>
  data(await agents.updateAgent(deps, params.clubId, params.agentId, body, now));

export const getAgentMaterial: Operation<'getAgentMaterial'> = async ({ params, db }) =>
  data(await material.findMaterial(db, params.clubId, params.agentId));

export const setAgentMaterial: Operation<'setAgentMaterial'> = async ({ params, body, deps, now }) =>
  data(await material.setMaterial(deps, params.clubId, params.agentId, body, now));

export const listAgentSources: Operation<'listAgentSources'> = async ({ params, query, db }) =>
  page(await sources.listSources(db, params.clubId, params.agentId, query));

export const reindexAgentSource: Operation<'reindexAgentSource'> = async ({ params, deps, now }) =>
  data(await sources.reindexSource(deps, params.clubId, params.agentId, params.sourceId, now));

export const listClassroomAgents: Operation<'listClassroomAgents'> = async ({ query, student, db, now }) =>
  page(await classroom.listOwnAgents(db, student, query, now));
