/** Calls under the path of a club, by its owner unless told, and the facts that they leave. */
import type { Id } from '../../../domain/core/ids.ts';
import { call, type Answer } from './api.ts';
import { testDatabase } from '../stack/database.ts';
import type { TestClub } from '../builders/factories.ts';

export type ClubCalls = (method: string, path: string, body?: unknown) => Promise<Answer>;

export function callsOf(club: Pick<TestClub, 'id' | 'owner'>, token = club.owner.token): ClubCalls {
  return (method, path, body) => call(method, `/v1/clubs/${club.id}${path}`, { token, body });
}

/** The facts of a club with what each is about, oldest first. */
export async function factRecordsOf(
  clubId: Id,
): Promise<{ type: string; studentId: Id; subjectId: Id | null; details: unknown }[]> {
  const source = await testDatabase();
  return source.query(
    `SELECT type, student_id AS "studentId", subject_id AS "subjectId", details FROM facts WHERE club_id = $1 ORDER BY seq`,
    [clubId],
  );
}
