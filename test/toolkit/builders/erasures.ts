/** Builds rows of erasures in any state. */
import { Erasure } from '../../../entities/erasures/erasure.ts';
import type { ErasureStatus } from '../../../entities/erasures/values.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { testDatabase } from '../stack/database.ts';

/** In whole seconds. Certificates are available for 400 days, so a fixed time would make the tests fail one day. */
const yesterday = () => new Date(Math.floor(Date.now() / 1_000 - 86_400) * 1_000);

/** @returns the row: the completed erasure of an administrator, unless `values` says something else */
export async function buildErasure(values: Partial<Erasure> = {}): Promise<Erasure> {
  const at = yesterday();
  const source = await testDatabase();
  const erasure = source.manager.create(Erasure, {
    id: newId(),
    kind: 'administrator',
    subjectId: newId(),
    clubId: null,
    requestedBy: null,
    requestedAt: at,
    erasesAt: at,
    status: 'completed',
    looksAt: null,
    completedAt: new Date(at.getTime() + 9_000),
    ...values,
  });
  await source.manager.insert(Erasure, erasure);
  return erasure;
}

/** The values of an erasure that is not completed. */
export const underWay = { status: 'objects', completedAt: null, looksAt: yesterday() } as const;

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
