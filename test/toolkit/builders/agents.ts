/** Builds AI agents and their material. */
import type { AgentStatus } from '../../../entities/agents/values.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { testDatabase } from '../stack/database.ts';
import { buildAccessDelivery } from './access.ts';

export interface TestAgent {
  id: Id;
  clubId: Id;
  publicId: string;
  name: string;
}

export interface AgentOptions {
  name?: string;
  publicId?: string;
  status?: AgentStatus;
  description?: string;
  instructions?: string;
  model?: string | null;
  dailyLimit?: number;
  answerMaxTokens?: number;
}

/** An agent without material, published by default. */
export async function buildAgent(
  clubId: Id,
  {
    name = 'Bosun',
    publicId = `agent-${newId().slice(-12)}`,
    status = 'published',
    description = '',
    instructions = '',
    model = null,
    dailyLimit = 50,
    answerMaxTokens = 1_024,
  }: AgentOptions = {},
): Promise<TestAgent> {
  const source = await testDatabase();
  const id = newId();
  await source.query(
    `INSERT INTO agents (id, club_id, public_id, name, description, instructions, model, status, daily_limit, answer_max_tokens, created_at, updated_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11)`,
    [id, clubId, publicId, name, description, instructions, model, status, dailyLimit, answerMaxTokens, new Date()],
  );
  return { id, clubId, publicId, name };
}

/** Adds a course, a lesson or a file to an agent's material, but does not update the index. */
export async function buildMaterial(
  agentId: Id,
  { courseId, lessonId, mediaId }: { courseId?: Id; lessonId?: Id | null; mediaId?: Id | null },
): Promise<void> {
  const source = await testDatabase();
  await source.query(
    `INSERT INTO agent_materials (id, agent_id, course_id, lesson_id, media_id) VALUES ($1, $2, $3, $4, $5)`,
    [newId(), agentId, courseId ?? null, lessonId ?? null, mediaId ?? null],
  );
  if (mediaId)
    await source.query(`INSERT INTO media_uses (media_id, kind, place_id) VALUES ($1, 'agent', $2)`, [
      mediaId,
      agentId,
    ]);
}

export interface OpenAgent extends TestAgent {
  deliveryId: Id;
}

/** An agent, published by default, and a delivery that opens it. */
export async function buildOpenAgent(clubId: Id, options: AgentOptions = {}): Promise<OpenAgent> {
  const agent = await buildAgent(clubId, options);
  const delivery = await buildAccessDelivery(clubId, { agentId: agent.id, name: agent.name });
  return { ...agent, deliveryId: delivery.id };
}
