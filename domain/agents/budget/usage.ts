/** Reads the use and the cost of a club's agents for each month in the club's time zone, and changes the club's own limit. */
import { Agent } from '../../../entities/agents/agent.ts';
import { AgentMonth } from '../../../entities/agents/agent-month.ts';
import { Club } from '../../../entities/clubs/club.ts';
import type { RecordOf } from '../../../contract/contract.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { columns, sql, type RowOf, type Sql } from '../../../platform/infra/postgres/sql.ts';
import type { DatabaseDeps } from '../../deps.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { descending, type OrderKeys } from '../../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page, type PageRequest } from '../../../platform/infra/postgres/lists/page.ts';
import { requireAgent } from '../setup/agents.ts';
import { budgetOf } from './budget.ts';

const microsACent = 10_000;

/** @returns the budget of the month that contains `now` */
export async function readAiBudget(db: Queries, clubId: Id, now: Date): Promise<RecordOf<'AiBudget'>> {
  const budget = await budgetOf(db, clubId, now);
  return {
    month: budget.month.slice(0, 7),
    turns_at: budget.turnsAt.toISOString(),
    currency: 'usd',
    allowed: budget.allowed,
    ...(budget.own !== null && { own_limit: budget.own }),
    limit: Number(budget.limitMicros) / microsACent,
    spent_micros: Number(budget.spentMicros),
    reserved_micros: Number(budget.reservedMicros),
  };
}

/** @param cents the club's own limit of a month; null if the club uses the whole allowance of its plan */
export async function setOwnLimit(
  { db }: DatabaseDeps,
  clubId: Id,
  cents: number | null,
  now: Date,
): Promise<RecordOf<'AiBudget'>> {
  return db.transaction(async (tx) => {
    await tx.manager.update(Club, { id: clubId }, { aiMonthlyLimit: cents });
    return readAiBudget(tx, clubId, now);
  });
}

const usageColumns = columns(
  AgentMonth,
  [
    'agentId',
    'questions',
    'complete',
    'truncated',
    'refused',
    'failed',
    'inputTokens',
    'outputTokens',
    'cacheWriteTokens',
    'cacheReadTokens',
    'costMicros',
  ],
  'used',
)
  .and(columns(Agent, ['name'], 'agent'))
  .and<{ month: string }>(sql`to_char(used.month, 'YYYY-MM') AS month`);

function presentUsage(row: RowOf<typeof usageColumns>): RecordOf<'AgentUsage'> {
  return {
    agent_id: row.agentId,
    agent_name: row.name,
    month: row.month,
    questions: row.questions,
    answers: { complete: row.complete, truncated: row.truncated, refused: row.refused, failed: row.failed },
    input_tokens: Number(row.inputTokens),
    output_tokens: Number(row.outputTokens),
    cache_write_tokens: Number(row.cacheWriteTokens),
    cache_read_tokens: Number(row.cacheReadTokens),
    cost_micros: Number(row.costMicros),
  };
}

/** @returns a page of the agent's usage by month, with the latest month first @throws DomainError not_found */
export async function listAgentUsage(
  db: Queries,
  clubId: Id,
  agentId: Id,
  page: PageRequest,
): Promise<Page<RecordOf<'AgentUsage'>>> {
  await requireAgent(db, clubId, agentId);
  return listUsage(db, sql`used.agent_id = ${agentId}`, [descending('used.month', 'date')], page);
}

/**
 * @param filter.month a month such as `2026-03`; if absent, the current month
 * @returns a page of each agent's use in the month, highest cost first
 */
export async function listClubUsage(
  db: Queries,
  clubId: Id,
  { month, ...page }: PageRequest & { month?: string },
  now: Date,
): Promise<Page<RecordOf<'AgentUsage'>>> {
  const firstDay = month === undefined ? (await budgetOf(db, clubId, now)).month : `${month}-01`;
  const ofMonth = sql`used.club_id = ${clubId} AND used.month = ${firstDay}`;
  return listUsage(db, ofMonth, sql`used.cost_micros DESC, used.agent_id`, page);
}

async function listUsage(
  db: Queries,
  shown: Sql,
  orderBy: OrderKeys | Sql,
  page: PageRequest,
): Promise<Page<RecordOf<'AgentUsage'>>> {
  const { rows, total, next } = await listPage(db, page, {
    columns: usageColumns,
    from: sql`FROM agent_months used JOIN agents agent ON agent.id = used.agent_id WHERE ${shown}`,
    counted: sql`FROM agent_months used WHERE ${shown}`,
    orderBy,
  });
  return { rows: rows.map(presentUsage), total, next };
}
