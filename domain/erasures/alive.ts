/** Finds erased records that Postgres has again, for example after a restore (ERS-25). */
import type { Id } from '../../platform/core/ids.ts';
import type { Queries } from '../../platform/infra/postgres/database.ts';
import { sql, type Sql } from '../../platform/infra/postgres/sql.ts';
import type { ErasureKind } from '../../entities/erasures/values.ts';
import type { ObjectStore } from '../../platform/infra/store/object-store.ts';
import { listMarkers, type MarkedErasure } from './markers.ts';

/** One query looks up at most this many ids of a kind. */
const idsPerQuery = 500;

const aliveRows: Readonly<Record<ErasureKind, (ids: readonly Id[]) => Sql>> = {
  student: (ids) => sql`SELECT id, club_id AS "clubId" FROM students WHERE id = ANY(${ids}) AND removed_at IS NULL`,
  administrator: (ids) =>
    sql`SELECT id, NULL::uuid AS "clubId" FROM administrators WHERE id = ANY(${ids}) AND removed_at IS NULL`,
  // The erasure of a planned club has not begun.
  club: (ids) => sql`
    SELECT id, id AS "clubId" FROM clubs club
     WHERE id = ANY(${ids}) AND NOT EXISTS (SELECT FROM erasures WHERE subject_id = club.id AND status <> 'planned')`,
};

async function findAlive(db: Queries, erasures: readonly MarkedErasure[]): Promise<MarkedErasure[]> {
  const clubOf = new Map<Id, Id | null>();
  for (const [kind, found] of Map.groupBy(erasures, (erasure) => erasure.kind)) {
    const ids = found.map(({ subjectId }) => subjectId);
    for (const { id, clubId } of await db.rows<{ id: Id; clubId: Id | null }>(aliveRows[kind](ids)))
      clubOf.set(id, clubId);
  }
  return erasures.filter(({ subjectId, clubId }) => clubOf.get(subjectId) === clubId);
}

export interface AliveErasures {
  /** The markers of this page. */
  markers: number;
  /** The erased records that Postgres has again. A record with two markers may occur twice. */
  alive: MarkedErasure[];
  /** The keys of objects that are no markers. */
  unknown: string[];
}

/**
 * Reads the markers since a time, page by page, and compares them with Postgres.
 * @param options.until the last day; no limit if absent
 * @param options.most the number of markers after which the reading ends; no limit if absent
 * @throws the error of the store
 */
export async function* readAlive(
  { db, storage }: { db: Queries; storage: Pick<ObjectStore, 'list'> },
  since: Date,
  { until, most = Infinity }: { until?: Date; most?: number } = {},
): AsyncGenerator<AliveErasures> {
  let [page, unknown]: [MarkedErasure[], string[]] = [[], []];
  let read = 0;
  const onUnknown = (key: string) => void unknown.push(key);
  for await (const erasure of listMarkers(storage, since, { onUnknown, ...(until && { until }) })) {
    page.push(erasure);
    read += 1;
    if (page.length < idsPerQuery && read < most) continue;
    yield { markers: page.length, alive: await findAlive(db, page), unknown };
    [page, unknown] = [[], []];
    if (read >= most) return;
  }
  if (page.length + unknown.length > 0) yield { markers: page.length, alive: await findAlive(db, page), unknown };
}
