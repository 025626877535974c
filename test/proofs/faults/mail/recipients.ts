/** Builds a club that may send campaigns, its owner, and confirmed students. The mail server always refuses some of the addresses. */
import type { DataSource } from 'typeorm';
import { createOrganization } from '../../../../domain/clubs/organizations.ts';
import { openSession } from '../../../../domain/identity/sessions/sessions.ts';
import { newId, type Id } from '../../../../platform/core/ids.ts';
import { Transaction } from '../../../../platform/infra/postgres/database.ts';

export interface Recipients {
  clubId: Id;
  ownerToken: string;
  studentIds: readonly Id[];
}

/** Every 50th address gets a permanent refusal. */
const refusedEvery = 50;
const refusedAt = 'gone.example';

export const isRefusedForGood = (address: string): boolean => address.endsWith(`@${refusedAt}`);

export async function buildRecipients(source: DataSource, count: number): Promise<Recipients> {
  const now = new Date();
  const ownerId = newId();
  const studentIds = Array.from({ length: count }, newId);
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
    await tx.query(
      `INSERT INTO students (id, club_id, name, email, verified_at, created_at)
       SELECT id, $2, 'Student', id || CASE WHEN position % $4 = 0 THEN '@' || $5 ELSE '@example.com' END, $3, $3
         FROM unnest($1::uuid[]) WITH ORDINALITY AS one (id, position)`,
      [studentIds, clubId, now, refusedEvery, refusedAt],
    );
    const { token } = await openSession(new Transaction(tx), 'admin', ownerId, now);
    return { clubId, ownerToken: token, studentIds };
  });
}
