/** AI agents as administrators set them up, what they answer from, and which of them a student finds. */
import {
  createAgent as create,
  findAgent,
  listAgents as list,
  updateAgent as update,
} from '../../domain/agents/setup/agents.ts';
import { listOwnAgents } from '../../domain/agents/setup/classroom.ts';
import { findMaterial, setMaterial } from '../../domain/agents/setup/material.ts';
import { listSources, reindexSource } from '../../domain/agents/setup/source-list.ts';
import type { Operation } from '../operation.ts';
import { listed } from './answers.ts';

export const listAgents: Operation<'listAgents'> = async ({ params, query, services }) =>
  listed(await list(services.database, params.clubId, query));

export const createAgent: Operation<'createAgent'> = async ({ params, body, services, now }) => ({
  data: await create(services.database, params.clubId, body, now),
});

export const getAgent: Operation<'getAgent'> = async ({ params, services }) => ({
  data: await findAgent(services.database, params.clubId, params.agentId),
});

export const updateAgent: Operation<'updateAgent'> = async ({ params, body, services, now }) => ({
  data: await update(services.database, params.clubId, params.agentId, body, now),
});

export const getAgentMaterial: Operation<'getAgentMaterial'> = async ({ params, services }) => ({
  data: await findMaterial(services.database, params.clubId, params.agentId),
});

export const setAgentMaterial: Operation<'setAgentMaterial'> = async ({ params, body, services, now }) => ({
  data: await setMaterial(services.database, params.clubId, params.agentId, body, now),
});

export const listAgentSources: Operation<'listAgentSources'> = async ({ params, query, services }) =>
  listed(await listSources(services.database, params.clubId, params.agentId, query));

export const reindexAgentSource: Operation<'reindexAgentSource'> = async ({ params, services, now }) => ({
  data: await services.database.transaction((tx) =>
    reindexSource(tx, params.clubId, params.agentId, params.sourceId, now),
  ),
});

export const listClassroomAgents: Operation<'listClassroomAgents'> = async ({ query, student, services, now }) =>
  listed(await listOwnAgents(services.database, student, query, now));
