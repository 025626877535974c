/** AI agents, what they answer from and what opens them, for tests to start from; and what stands in the index. */
import type { AgentStatus } from '../../../domain/agents/agents.policy.ts';
import { newId, type Id } from '../../../domain/core/ids.ts';
import type { MediaStatus } from '../../../domain/media/media.policy.ts';
import { testDatabase } from '../stack/database.ts';

export interface TestAgent {
  id: Id;
  publicId: string;
  name: string;
}

/** An agent without material, published unless told. */
export async function buildAgent(
  clubId: Id,
  {
    name = 'Bosun',
    publicId = `agent-${newId().slice(-12)}`,
    status = 'published',
  }: { name?: string; publicId?: string; status?: AgentStatus } = {},
): Promise<TestAgent> {
  const source = await testDatabase();
  const id = newId();
  await source.query(
    `INSERT INTO agents (id, club_id, public_id, name, status, daily_limit, answer_max_tokens, created_at, updated_at)
     VALUES ($1, $2, $3, $4, $5, 50, 2048, $6, $6)`,
    [id, clubId, publicId, name, status, new Date()],
  );
  return { id, publicId, name };
}

/** A delivery that opens the agent. */
export async function buildAgentDelivery(
  clubId: Id,
  agentId: Id,
  { name = `Delivery ${newId().slice(-12)}`, free = false }: { name?: string; free?: boolean } = {},
): Promise<{ id: Id; name: string }> {
  const source = await testDatabase();
  const id = newId();
  await source.query(
    `INSERT INTO access_deliveries (id, club_id, name, kind, agent_id, free, created_at, updated_at)
     VALUES ($1, $2, $3, 'agent', $4, $5, $6, $6)`,
    [id, clubId, name, agentId, free, new Date()],
  );
  return { id, name };
}

/** A file of the club's library, ready unless told; there is nothing of it in the bucket. */
export async function buildLibraryFile(
  clubId: Id,
  { title = 'Rope handbook', status = 'ready' }: { title?: string; status?: MediaStatus } = {},
): Promise<{ id: Id }> {
  const source = await testDatabase();
  const id = newId();
  await source.query(
    `INSERT INTO media (id, club_id, purpose, kind, title, provider, status, error, created_at, updated_at)
     VALUES ($1, $2, 'library', 'document', $3, 'objstore', $4, $5, $6, $6)`,
    [id, clubId, title, status, status === 'failed' ? 'unreadable' : null, new Date()],
  );
  return { id };
}

export interface IndexedSource {
  id: Id;
  /** The lesson's or the file's. */
  itemId: Id;
  title: string;
  status: string;
  wantedVersion: number;
}

/** What stands in the club's index, by the id of the lesson or file. */
export async function indexOf(clubId: Id): Promise<IndexedSource[]> {
  const source = await testDatabase();
  return source.query<IndexedSource[]>(
    `SELECT id, coalesce(lesson_id, media_id) AS "itemId", title, status, wanted_version AS "wantedVersion"
       FROM agent_sources WHERE club_id = $1 ORDER BY 2`,
    [clubId],
  );
}
