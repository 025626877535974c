/** Builds erasures of clubs. */
import { newId, type Id } from '../../../platform/core/ids.ts';
import type { ErasureStatus } from '../../../entities/erasures/values.ts';
import { testDatabase } from '../stack/database.ts';

interface PlannedErasure {
  status?: ErasureStatus;
  requestedAt?: Date;
  erasesAt: Date;
  /** `erasesAt` if absent. */
  looksAt?: Date;
  closedAt?: Date;
}

/** Inserts the erasure of a club, without a wake. @returns its id */
export async function buildClubErasure(
  clubId: Id,
  { status = 'planned', requestedAt = new Date(), erasesAt, looksAt = erasesAt, closedAt }: PlannedErasure,
): Promise<Id> {
  const id = newId();
  const source = await testDatabase();
  await source.query(
    `INSERT INTO erasures (id, kind, subject_id, club_id, requested_at, erases_at, status, looks_at, closed_at)
     VALUES ($1, 'club', $2, $2, $3, $4, $5, $6, $7)`,
    [id, clubId, requestedAt, erasesAt, status, looksAt, closedAt ?? null],
  );
  return id;
}
