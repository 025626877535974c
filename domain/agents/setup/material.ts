/** Reads and replaces an agent's material: the courses, lessons and files from which the agent answers. */
import { AgentMaterial } from '../../../entities/agents/agent-material.ts';
import type { RecordOf } from '../../../contract/contract.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { columns, raw, sql } from '../../../platform/infra/postgres/sql.ts';
import type { DatabaseDeps } from '../../deps.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { requireAgent, lockAgent } from './agents.ts';
import type { MaterialKind } from '../agents.policy.ts';
import { setUses } from '../../media/uses/uses.ts';
import { syncSources } from '../../knowledge/sources.ts';

type Material = RecordOf<'AgentMaterial'>;
type Field = keyof Material;

/** For each field of the material, the kind of its ids and the rows that these ids can name. */
const fields: Record<Field, { kind: MaterialKind; noun: string; named: string }> = {
  course_ids: { kind: 'course', noun: 'course', named: 'courses named WHERE true' },
  lesson_ids: { kind: 'lesson', noun: 'lesson', named: 'lessons named WHERE named.removed_at IS NULL' },
  media_ids: {
    kind: 'media',
    noun: 'file',
    named: `media named WHERE named.purpose = 'library' AND named.removed_at IS NULL`,
  },
};
const fieldNames = Object.keys(fields) as Field[];

/** @returns the material in the order of the request that set it, without removed items @throws DomainError not_found */
export async function findMaterial(db: Queries, clubId: Id, agentId: Id): Promise<Material> {
  await requireAgent(db, clubId, agentId);
  const idsOf = (field: Field) => {
    const named = raw(`material.${fields[field].kind}_id`);
    return sql`ARRAY (SELECT ${named} FROM agent_materials material
                       WHERE material.agent_id = ${agentId} AND ${named} IN (SELECT named.id FROM ${raw(fields[field].named)})
                       ORDER BY material.id) AS ${raw(field)}`;
  };
  const material = await db.one<Material>(
    sql`SELECT ${idsOf('course_ids')}, ${idsOf('lesson_ids')}, ${idsOf('media_ids')}`,
  );
  if (!material) throw new Error('A SELECT without a table has one row');
  return material;
}

/**
 * Replaces the whole material and updates the index.
 * @throws DomainError not_found (no such agent or item), media_archived (a newly named file is archived)
 */
export async function setMaterial(
  { db }: DatabaseDeps,
  clubId: Id,
  agentId: Id,
  material: Material,
  now: Date,
): Promise<Material> {
  return db.transaction(async (tx) => {
    await lockAgent(tx, clubId, agentId);
    for (const field of fieldNames) await requireNamed(tx, clubId, field, material[field]);
    await setUses(tx, clubId, { kind: 'agent', id: agentId }, material.media_ids);
    const removedRows = await tx.rows<Pick<AgentMaterial, 'courseId' | 'lessonId' | 'mediaId'>>(
      sql`DELETE FROM agent_materials WHERE agent_id = ${agentId}
          RETURNING ${columns(AgentMaterial, ['courseId', 'lessonId', 'mediaId'])}`,
    );
    for (const field of fieldNames) await insertNamed(tx, agentId, field, material[field]);
    const idsOf = (ids: readonly (Id | null)[]) => ids.filter((id) => id !== null);
    await syncSources(
      tx,
      clubId,
      {
        courseIds: idsOf([...removedRows.map(({ courseId }) => courseId), ...material.course_ids]),
        lessonIds: idsOf([...removedRows.map(({ lessonId }) => lessonId), ...material.lesson_ids]),
        mediaIds: idsOf([...removedRows.map(({ mediaId }) => mediaId), ...material.media_ids]),
      },
      now,
    );
    return findMaterial(tx, clubId, agentId);
  });
}

async function requireNamed(tx: Transaction, clubId: Id, field: Field, ids: readonly Id[]): Promise<void> {
  const { noun, named } = fields[field];
  const stranger = await tx.one<{
    place: number;
  }>(sql`SELECT place::int - 1 AS place FROM unnest(${ids}::uuid[]) WITH ORDINALITY AS given (id, place)
      WHERE NOT EXISTS (SELECT FROM ${raw(named)} AND named.id = given.id AND named.club_id = ${clubId}) ORDER BY place LIMIT 1`);
  if (stranger)
    throw new DomainError('not_found', `${field}/${stranger.place}: there is no such ${noun} in this club.`);
}

/** Stores the ids in the order of the request. An id that is there in small and in capital letters is stored once. */
async function insertNamed(tx: Transaction, agentId: Id, field: Field, ids: readonly Id[]): Promise<void> {
  const named = [...new Set(ids.map((id) => id.toLowerCase()))];
  await tx.run(sql`INSERT INTO agent_materials (id, agent_id, ${raw(fields[field].kind)}_id)
     SELECT named.id, ${agentId}, named.named_id FROM unnest(${named.map(() => newId())}::uuid[], ${named}::uuid[]) AS named (id, named_id)`);
}
