/** What a club's agents use and cost, by month of its time zone, and the limit that the club sets itself. */
import { Club } from '../../../entities/clubs/club.ts';
import type { RecordOf } from '../../../contract/contract.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { DatabaseDeps } from '../../deps.ts';
import { notFound } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { windowOf, type Page, type PageRequest } from '../../../platform/infra/postgres/lists/page.ts';
import { budgetOf } from './budget.ts';

const microsACent = 10_000;

/** @returns the budget of the month that `now` is in */
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

/** @param cents what the club lets its agents cost in a month; null for all that its plan allows */
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

interface UsageRow {
  agentId: Id;
  name: string;
  month: string;
  questions: number;
  complete: number;
  truncated: number;
  refused: number;
  failed: number;
  inputTokens: string;
  outputTokens: string;
  cacheWriteTokens: string;
  cacheReadTokens: string;
  costMicros: string;
}

const columns = `used.agent_id AS "agentId", agent.name, to_char(used.month, 'YYYY-MM') AS month, used.questions, used.complete,
  used.truncated, used.refused, used.failed, used.input_tokens AS "inputTokens", used.output_tokens AS "outputTokens",
  used.cache_write_tokens AS "cacheWriteTokens", used.cache_read_tokens AS "cacheReadTokens", used.cost_micros AS "costMicros"`;

function presentUsage(row: UsageRow): RecordOf<'AgentUsage'> {
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

/** @returns a page of the agent's months, the latest first @throws DomainError not_found */
export async function listAgentUsage(
  db: Queries,
  clubId: Id,
  agentId: Id,
  page: PageRequest,
): Promise<Page<RecordOf<'AgentUsage'>>> {
  const agent = await db.one(sql`SELECT 1 FROM agents WHERE id = ${agentId} AND club_id = ${clubId}`);
  if (!agent) throw notFound('agent');
  return listUsage(db, 'used.agent_id = $1', 'used.month DESC', [agentId], page);
}

/** @param filter.month as `2026-03`; absent for the one that `now` is in @returns a page of what each agent used in it, the dearest first */
export async function listClubUsage(
  db: Queries,
  clubId: Id,
  { month, ...page }: PageRequest & { month?: string },
  now: Date,
): Promise<Page<RecordOf<'AgentUsage'>>> {
  const firstDay = month === undefined ? (await budgetOf(db, clubId, now)).month : `${month}-01`;
  const order = 'used.cost_micros DESC, used.agent_id';
  return listUsage(db, 'used.club_id = $1 AND used.month = $2', order, [clubId, firstDay], page);
}

async function listUsage(
  db: Queries,
  condition: string,
  order: string,
  parameters: readonly string[],
  page: PageRequest,
): Promise<Page<RecordOf<'AgentUsage'>>> {
  const { limit, offset } = windowOf(page);
  const [counted] = await db.query<{ total: number }[]>(
    `SELECT count(*)::int AS total FROM agent_months used WHERE ${condition}`,
    [...parameters],
  );
  const rows = await db.query<UsageRow[]>(
    `SELECT ${columns} FROM agent_months used JOIN agents agent ON agent.id = used.agent_id
      WHERE ${condition} ORDER BY ${order} LIMIT ${limit} OFFSET ${offset}`,
    [...parameters],
  );
  return { rows: rows.map(presentUsage), total: counted?.total ?? 0 };
}
