/** Reads the index of agents' material: its sources and their passages. */
import type { Id } from '../../../platform/core/ids.ts';
import { AgentPassage } from '../../../entities/knowledge/agent-passage.ts';
import { AgentSource } from '../../../entities/knowledge/agent-source.ts';
import { testDatabase } from '../stack/database.ts';

interface IndexedSource {
  id: Id;
  itemId: Id;
  title: string;
  status: string;
  wantedVersion: number;
}

/** The sources in the club's index, by the id of the lesson or file. */
export async function indexedSourcesOf(clubId: Id): Promise<IndexedSource[]> {
  const source = await testDatabase();
  return source.query<IndexedSource[]>(
    `SELECT id, coalesce(lesson_id, media_id) AS "itemId", title, status, wanted_version AS "wantedVersion"
       FROM agent_sources WHERE club_id = $1 AND removed_at IS NULL ORDER BY 2`,
    [clubId],
  );
}

export async function sourceRow({ id }: { id: Id }): Promise<AgentSource> {
  return (await testDatabase()).manager.findOneByOrFail(AgentSource, { id });
}

export async function passagesOf({ id }: { id: Id }): Promise<AgentPassage[]> {
  return (await testDatabase()).manager.find(AgentPassage, { where: { sourceId: id }, order: { position: 'ASC' } });
}

export async function textsOf(source: { id: Id }): Promise<string[]> {
  return (await passagesOf(source)).map(({ text }) => text);
}
