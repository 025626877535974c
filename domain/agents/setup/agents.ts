/** Lets administrators create, list, read, change and archive a club's AI agents. */
import { Agent } from '../../../entities/agents/agent.ts';
import type { RecordOf } from '../../../contract/contract.ts';
import { requireFeature } from '../../billing/allowances.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { all, columns, given, sql, type RowOf } from '../../../platform/infra/postgres/sql.ts';
import type { DatabaseDeps } from '../../deps.ts';
import { notFound } from '../../../platform/core/errors.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { newestFirst } from '../../../platform/infra/postgres/lists/order.ts';
import { type Page, type PageRequest, listPage } from '../../../platform/infra/postgres/lists/page.ts';
import { tidyName } from '../../../platform/core/text/text.policy.ts';
import { insertWithPublicId, refusalOf } from '../../../platform/infra/postgres/public-ids.ts';
import type { AgentStatus } from '../../../entities/agents/values.ts';
import { agentDefaults } from '../agents.policy.ts';
import { syncSources } from '../../knowledge/sources.ts';

type AgentRecord = RecordOf<'Agent'>;
type AgentSettings = RecordOf<'AgentSettings'>;

const agentColumns = columns(Agent, [
  'id',
  'publicId',
  'name',
  'description',
  'model',
  'status',
  'dailyLimit',
  'answerMaxTokens',
  'createdAt',
  'updatedAt',
]);
type AgentRow = RowOf<typeof agentColumns>;

/** Creates a draft without material. @throws DomainError feature_not_in_plan, public_id_taken */
export async function createAgent(
  { db }: DatabaseDeps,
  clubId: Id,
  input: RecordOf<'AgentCreation'>,
  now: Date,
): Promise<AgentSettings> {
  const id = newId();
  return db.transaction(async (tx) => {
    await requireFeature(tx, clubId, 'agents');
    await insertWithPublicId('agent', { ...input, title: input.name }, async (publicId) => {
      const rows =
        await tx.rows(sql`INSERT INTO agents (id, club_id, public_id, name, description, instructions, model, daily_limit, answer_max_tokens,
                             created_at, updated_at)
         VALUES (${id}, ${clubId}, ${publicId}, ${tidyName(input.name)}, ${input.description ?? ''}, ${input.instructions ?? ''}, ${input.model ?? null}, ${input.daily_limit ?? agentDefaults.dailyLimit}, ${input.answer_max_tokens ?? agentDefaults.answerMaxTokens}, ${now}, ${now})
         ON CONFLICT (club_id, public_id) DO NOTHING RETURNING 1`);
      return rows.length > 0;
    });
    return findAgent(tx, clubId, id);
  });
}

/** @returns a page of the club's agents, newest first. The records have no instructions, because instructions may be long */
export async function listAgents(
  db: Queries,
  clubId: Id,
  filter: PageRequest & { status?: AgentStatus },
): Promise<Page<AgentRecord>> {
  const { rows, total, next } = await listPage(db, filter, {
    columns: agentColumns,
    from: sql`FROM agents WHERE ${all([
      sql`club_id = ${clubId}`,
      filter.status === undefined ? undefined : sql`status = ${filter.status}`,
    ])}`,
    changedAt: 'changed_at',
    orderBy: newestFirst(),
  });
  return { rows: rows.map(presentAgent), total, next };
}

/** @throws DomainError not_found, also for an agent of another club */
export async function findAgent(db: Queries, clubId: Id, agentId: Id): Promise<AgentSettings> {
  const row = await db.one<AgentRow & { instructions: string }>(
    sql`SELECT ${agentColumns}, instructions FROM agents WHERE id = ${agentId} AND club_id = ${clubId}`,
  );
  if (!row) throw notFound('agent');
  return { ...presentAgent(row), instructions: row.instructions };
}

/** @throws DomainError not_found for an agent of another club */
export async function requireAgent(db: Queries, clubId: Id, agentId: Id): Promise<void> {
  if (!(await db.manager.existsBy(Agent, { id: agentId, clubId }))) throw notFound('agent');
}

/**
 * Locks the agent's row until the transaction ends, so that changes of the agent and of its material run one at a time.
 * @throws DomainError not_found
 */
export async function lockAgent(tx: Transaction, clubId: Id, agentId: Id): Promise<{ status: AgentStatus }> {
  const agent = await tx.one<{ status: AgentStatus }>(
    sql`SELECT status FROM agents WHERE id = ${agentId} AND club_id = ${clubId} FOR NO KEY UPDATE`,
  );
  if (!agent) throw notFound('agent');
  return agent;
}

/**
 * Changes the fields of the agent that `input` contains. If the agent is archived, its material leaves the index.
 * @param input.model the name of a model; `default` stands for the environment's model
 * @throws DomainError not_found, feature_not_in_plan (only if the agent is published), public_id_taken
 */
export async function updateAgent(
  { db }: DatabaseDeps,
  clubId: Id,
  agentId: Id,
  input: RecordOf<'AgentChange'>,
  now: Date,
): Promise<AgentSettings> {
  return db.transaction(async (tx) => {
    const before = await lockAgent(tx, clubId, agentId);
    const status = input.status ?? before.status;
    if (status === 'published' && before.status !== 'published') await requireFeature(tx, clubId, 'agents');
    const change = given({
      name: input.name === undefined ? undefined : tidyName(input.name),
      description: input.description,
      publicId: input.public_id,
      instructions: input.instructions,
      model: input.model === 'default' ? null : input.model,
      dailyLimit: input.daily_limit,
      answerMaxTokens: input.answer_max_tokens,
      status,
      updatedAt: now,
    });
    await tx.manager.update(Agent, { id: agentId }, change).catch((error: unknown) => {
      throw refusalOf(error, 'agent');
    });
    if ((status === 'archived') !== (before.status === 'archived'))
      await syncSources(tx, clubId, { agentIds: [agentId] }, now);
    return findAgent(tx, clubId, agentId);
  });
}

function presentAgent(row: AgentRow): AgentRecord {
  return {
    id: row.id,
    public_id: row.publicId,
    name: row.name,
    description: row.description,
    status: row.status,
    ...(row.model !== null && { model: row.model }),
    daily_limit: row.dailyLimit,
    answer_max_tokens: row.answerMaxTokens,
    created_at: row.createdAt.toISOString(),
    updated_at: row.updatedAt.toISOString(),
  };
}
