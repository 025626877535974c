/** Many students of a club, inserted without passwords, because hashing a password takes long. */
import { newId, type Id } from '../../../platform/core/ids.ts';
import { testDatabase } from '../stack/database.ts';

/** @returns the ids of the new students, each with the address `<id>@example.com` */
export async function buildManyStudents(clubId: Id, count: number): Promise<Id[]> {
  const ids = Array.from({ length: count }, () => newId());
  const source = await testDatabase();
  await source.query(
    `INSERT INTO students (id, club_id, name, email, opened_by, created_at)
     SELECT id, $2, 'S', id || '@example.com', 'club', now() FROM unnest($1::uuid[]) AS id`,
    [ids, clubId],
  );
  return ids;
}
