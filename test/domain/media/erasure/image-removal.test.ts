/** Tests that an index finds the images of deleted conversations. */
import { expect } from 'chai';
import type { EntityManager } from 'typeorm';
import { Queries, Transaction } from '../../../../platform/infra/postgres/database.ts';
import { newId, type Id } from '../../../../platform/core/ids.ts';
import { removeImagesOf } from '../../../../domain/agents/conversations/images.ts';
import { buildOpenAgent } from '../../../toolkit/builders/agents.ts';
import { buildClub, buildStudent } from '../../../toolkit/builders/clubs.ts';
import { testDatabase } from '../../../toolkit/stack/database.ts';

/** Each question shows another image. */
async function buildShowing(db: Queries, images: number): Promise<Id> {
  const { id: clubId } = await buildClub();
  const { id: studentId } = await buildStudent(clubId);
  const { id: agentId } = await buildOpenAgent(clubId);
  const conversationId = newId();
  await db.manager.query(
    `INSERT INTO agent_conversations (id, club_id, agent_id, student_id, title, last_message_at, created_at)
     VALUES ($1, $2, $3, $4, '', now(), now())`,
    [conversationId, clubId, agentId, studentId],
  );
  await db.manager.query(
    `WITH pair AS MATERIALIZED (
       SELECT gen_random_uuid() AS question_id, gen_random_uuid() AS media_id FROM generate_series(1, $5::int)),
     question AS (
       INSERT INTO agent_questions (id, club_id, agent_id, conversation_id, student_id, content, asked_at)
       SELECT question_id, $1, $2, $3, $4, '', now() FROM pair),
     image AS (
       INSERT INTO media (id, club_id, purpose, owner_id, kind, title, provider, status, object_key, created_at, updated_at)
       SELECT media_id, $1, 'agent_image', $4, 'image', '', 'objstore', 'ready', 'media/' || media_id, now(), now() FROM pair)
     INSERT INTO agent_question_images (question_id, position, media_id) SELECT question_id, 0, media_id FROM pair`,
    [clubId, agentId, conversationId, studentId, images],
  );
  return conversationId;
}

/** The plans of the statements that `work` executes. */
async function plansOf(db: Queries, work: (planned: Transaction) => Promise<void>): Promise<string[]> {
  const plans: string[] = [];
  const query = async (statement: string, parameters: unknown[]) => {
    const rows = await db.manager.query<Record<string, string>[]>(`EXPLAIN ${statement}`, parameters);
    plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
    return db.manager.query(statement, parameters);
  };
  await work(new Transaction({ query } as unknown as EntityManager));
  return plans;
}

describe('removal of the images of deleted conversations', () => {
  it('uses an index, even if another club has 5,000 images', async () => {
    const runner = (await testDatabase()).createQueryRunner();
    await runner.startTransaction();
    try {
      const tx = runner.manager;
      const deleted = [await buildShowing(new Queries(tx), 2), await buildShowing(new Queries(tx), 1)];
      await buildShowing(new Queries(tx), 5_000);
      await tx.query(`UPDATE agent_conversations SET deleted_at = now() WHERE id = ANY ($1)`, [deleted]);
      await tx.query('ANALYZE media, agent_conversations, agent_questions, agent_question_images');
      const plans = await plansOf(new Queries(tx), (planned) => removeImagesOf(planned, deleted, new Date()));
      expect(plans).to.have.length(2);
      for (const plan of plans) {
        expect(plan).to.not.match(/Seq Scan on (?:media|agent_questions|agent_question_images)/);
        expect(plan).to.match(/Index (?:Only )?Scan/);
      }
      const [row] = await tx.query<{ removed: number }[]>(
        `SELECT count(*)::int AS removed FROM media WHERE club_id IN (SELECT club_id FROM agent_conversations WHERE id = ANY ($1))
            AND removed_at IS NOT NULL`,
        [deleted],
      );
      expect(row?.removed).to.equal(3);
    } finally {
      await runner.rollbackTransaction();
      await runner.release();
    }
  });
});
