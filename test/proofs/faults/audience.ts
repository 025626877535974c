/** The clubs of a proof: each has an owner, endpoints, and one student for each fact, so that the student identifies the fact. */
import { Transaction } from '../../../platform/infra/postgres/database.ts';
import type { DataSource } from 'typeorm';
import { createOrganization } from '../../../domain/clubs/organizations.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';
import { openSession } from '../../../domain/identity/sessions/sessions.ts';
import { newSecret } from '../../../domain/webhooks/endpoints/secrets.ts';

export interface Subject {
  clubId: Id;
  studentId: Id;
  ownerToken: string;
  endpoints: readonly Id[];
}

const clubs = 10;
/** Every third club has two endpoints, so that a kill can fall between the two deliveries of a fact. */
const usualEndpoints = (club: number): number => (club % 3 === 0 ? 2 : 1);
/** The number of consecutive subjects that belong to one club. */
const neighbours = 4;

export async function buildAudience(
  source: DataSource,
  vault: Vault,
  facts: number,
  urlOf: (endpointId: Id) => string,
  endpointsOf = usualEndpoints,
): Promise<Subject[]> {
  const builtClubs = await Promise.all(
    Array.from({ length: clubs }, (_, club) => buildClub(source, vault, club, urlOf, endpointsOf(club))),
  );
  const subjects = Array.from({ length: facts }, (_, index) => ({
    ...(builtClubs[Math.floor(index / neighbours) % clubs] as Omit<Subject, 'studentId'>),
    studentId: newId(),
  }));
  await source.query(
    `INSERT INTO students (id, club_id, name, email, created_at)
     SELECT id, club_id, 'Student', id || '@example.com', now() FROM unnest($1::uuid[], $2::uuid[]) AS one (id, club_id)`,
    [subjects.map(({ studentId }) => studentId), subjects.map(({ clubId }) => clubId)],
  );
  return subjects;
}

async function buildClub(
  source: DataSource,
  vault: Vault,
  number: number,
  urlOf: (endpointId: Id) => string,
  endpointCount: number,
): Promise<Omit<Subject, 'studentId'>> {
  const now = new Date();
  const ownerId = newId();
  const endpoints = Array.from({ length: endpointCount }, newId);
  return source.transaction(async (tx) => {
    await tx.query(
      `INSERT INTO administrators (id, name, email, verified_at, created_at) VALUES ($1, 'Owner', $2, $3, $3)`,
      [ownerId, `${ownerId}@example.com`, now],
    );
    const { organization_id: clubId } = await createOrganization(
      new Transaction(tx),
      ownerId,
      { name: `Club ${number}`, plan: 'professional' },
      now,
    );
    for (const id of endpoints) {
      await tx.query(
        `INSERT INTO webhook_endpoints (id, club_id, url, event_types, secret, created_at, updated_at)
         VALUES ($1, $2, $3, '{student.updated}', $4, $5, $5)`,
        [id, clubId, urlOf(id), vault.seal(newSecret(), id), now],
      );
    }
    const { token } = await openSession(new Transaction(tx), 'admin', ownerId, now);
    return { clubId, ownerToken: token, endpoints };
  });
}
