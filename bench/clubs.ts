/** Clubs for measurements through the API: an owner with a session, and any number of students. */
import type { DataSource } from 'typeorm';
import { createOrganization } from '../domain/clubs/organizations.ts';
import { openSession } from '../domain/identity/sessions/sessions.ts';
import { newId, type Id } from '../platform/core/ids.ts';
import { Transaction } from '../platform/infra/postgres/database.ts';

export interface BenchClub {
  id: Id;
  /** The token of the owner's session. */
  token: string;
  deliveryId: Id;
}

/** The new club has a delivery, and may have many students. */
export async function addClub(source: DataSource): Promise<BenchClub> {
  const [administratorId, courseId, deliveryId, now] = [newId(), newId(), newId(), new Date()];
  await source.query(
    `INSERT INTO administrators (id, name, email, verified_at, created_at) VALUES ($1, 'Ada', $2, $3, $3)`,
    [administratorId, `${administratorId}@example.com`, now],
  );
  return source.transaction(async (tx) => {
    const { organization_id: id } = await createOrganization(
      new Transaction(tx),
      administratorId,
      { name: `Club ${administratorId}`, plan: 'professional' },
      now,
    );
    await tx.query(
      `INSERT INTO club_plans (club_id, plan, status) VALUES ($1, 'business', 'active')
       ON CONFLICT (club_id) DO UPDATE SET plan = 'business'`,
      [id],
    );
    await tx.query(
      `INSERT INTO courses (id, club_id, public_id, title, status, created_at, updated_at, published_at)
       VALUES ($1, $2, 'course', 'Knots', 'published', $3, $3, $3)`,
      [courseId, id, now],
    );
    await tx.query(
      `INSERT INTO access_deliveries (id, club_id, name, kind, course_id, created_at, updated_at)
       VALUES ($1, $2, 'Knots', 'course', $3, $4, $4)`,
      [deliveryId, id, courseId, now],
    );
    const { token } = await openSession(new Transaction(tx), 'admin', administratorId, now);
    return { id, token, deliveryId };
  });
}
