/** Builds a club on the largest plan, with one agent, a lesson as its material, and students who may ask the agent. */
import { Transaction } from '../../../../platform/infra/postgres/database.ts';
import type { DataSource } from 'typeorm';
import { createOrganization } from '../../../../domain/clubs/organizations.ts';
import { newId, type Id } from '../../../../platform/core/ids.ts';
import { openSession } from '../../../../domain/identity/sessions/sessions.ts';

export interface Classroom {
  clubId: Id;
  agentId: Id;
  publicId: string;
  tokens: readonly string[];
}

export async function buildClass(source: DataSource, students: number): Promise<Classroom> {
  const now = new Date();
  const [ownerId, agentId, deliveryId] = [newId(), newId(), newId()];
  return source.transaction(async (tx) => {
    await tx.query(
      `INSERT INTO administrators (id, name, email, verified_at, created_at) VALUES ($1, 'Owner', $2, $3, $3)`,
      [ownerId, `${ownerId}@example.com`, now],
    );
    const { organization_id: clubId } = await createOrganization(
      new Transaction(tx),
      ownerId,
      { name: 'Harbour', plan: 'professional' },
      now,
    );
    await tx.query(`INSERT INTO club_plans (club_id, plan, status) VALUES ($1, 'business', 'active')`, [clubId]);
    await tx.query(
      `INSERT INTO agents (id, club_id, public_id, name, status, daily_limit, answer_max_tokens, created_at, updated_at)
       VALUES ($1, $2, 'bosun', 'Bosun', 'published', 100000, 1024, $3, $3)`,
      [agentId, clubId, now],
    );
    await tx.query(
      `INSERT INTO access_deliveries (id, club_id, name, kind, agent_id, created_at, updated_at)
       VALUES ($1, $2, 'The bosun', 'agent', $3, $4, $4)`,
      [deliveryId, clubId, agentId, now],
    );
    const tokens: string[] = [];
    for (let number = 0; number < students; number++) {
      const id = newId();
      await tx.query(
        `INSERT INTO students (id, club_id, name, email, verified_at, created_at) VALUES ($1, $2, 'Student', $3, $4, $4)`,
        [id, clubId, `${id}@example.com`, now],
      );
      await tx.query(
        `INSERT INTO enrollments (id, club_id, student_id, delivery_id, source, starts_at, created_at, updated_at)
         VALUES ($1, $2, $3, $4, 'grant', $5, $5, $5)`,
        [newId(), clubId, id, deliveryId, now],
      );
      tokens.push((await openSession(new Transaction(tx), 'student', id, now)).token);
    }
    return { clubId, agentId, publicId: 'bosun', tokens };
  });
}
