/** Clubs on the largest plan, each with an owner and a student who are signed in. */
import type { DataSource } from 'typeorm';
import { createOrganization } from '../../../../domain/clubs/organizations.ts';
import { openSession } from '../../../../domain/identity/sessions/sessions.ts';
import { newId, type Id } from '../../../../platform/core/ids.ts';
import { Transaction } from '../../../../platform/infra/postgres/database.ts';

export interface Library {
  clubId: Id;
  tokens: Readonly<Record<'owner' | 'student', string>>;
}

export async function buildLibraries(source: DataSource, count: number): Promise<Library[]> {
  const libraries: Library[] = [];
  while (libraries.length < count) libraries.push(await source.transaction((tx) => buildLibrary(new Transaction(tx))));
  return libraries;
}

async function buildLibrary(tx: Transaction): Promise<Library> {
  const [ownerId, studentId, now] = [newId(), newId(), new Date()];
  await tx.manager.query(
    `INSERT INTO administrators (id, name, email, verified_at, created_at) VALUES ($1, 'Owner', $2, $3, $3)`,
    [ownerId, `${ownerId}@example.com`, now],
  );
  const { organization_id: clubId } = await createOrganization(
    tx,
    ownerId,
    { name: `Harbour ${ownerId}`, plan: 'professional' },
    now,
  );
  await tx.manager.query(`INSERT INTO club_plans (club_id, plan, status) VALUES ($1, 'business', 'active')`, [clubId]);
  await tx.manager.query(
    `INSERT INTO students (id, club_id, name, email, verified_at, created_at) VALUES ($1, $2, 'Student', $3, $4, $4)`,
    [studentId, clubId, `${studentId}@example.com`, now],
  );
  const [owner, student] = [
    (await openSession(tx, 'admin', ownerId, now)).token,
    (await openSession(tx, 'student', studentId, now)).token,
  ];
  return { clubId, tokens: { owner, student } };
}
