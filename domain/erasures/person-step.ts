/**
 * Follows the erasure of a student or an administrator until nothing remains outside Postgres (ERS-23). The transaction of the request has
 * already erased the rows. The run `person-erasure/<id of the person>` writes the marker, and waits for the buckets and for receivers.
 */
import { Erasure, type ErasureCounts as Counts } from '../../entities/erasures/erasure.ts';
import type { Id } from '../../platform/core/ids.ts';
import { defineLease, runStep, type Claim } from '../../platform/engine/lease.ts';
import type { Database } from '../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../platform/infra/postgres/sql.ts';
import type { ObjectStore } from '../../platform/infra/store/object-store.ts';
import type { ErasedPerson, RemainsOfPerson } from '../questions.ts';
import { writeMarker } from './markers.ts';
import { readReceivers } from './receivers.ts';

export interface PersonErasureDeps {
  db: Database;
  storage: ObjectStore;
  /** The answers of the contexts. */
  remains: readonly RemainsOfPerson[];
}

export type PersonErasureStep =
  | { done: true; outcome: 'completed' | 'gone' }
  | {
      done: false;
      /** Unix milliseconds. */
      at: number;
      /** Absent if another worker has the lease. */
      remaining?: { files: number; receivers: number };
    };

const secondMs = 1_000;

/** The wait between looks is as long as the time since the request, within these limits. So a month has about 130 looks. */
const waitMs = { least: 10 * secondMs, most: 6 * 3_600 * secondMs } as const;

const lease = defineLease(Erasure, { open: { status: 'objects' }, due: 'looksAt', seconds: 60 });

type Claimed = Claim & ErasedPerson & { counts: Counts };

/** Takes one step of the erasure of a person. @param now Unix milliseconds */
export async function stepPersonErasure(
  deps: PersonErasureDeps,
  subjectId: Id,
  now: number,
): Promise<PersonErasureStep> {
  const { db } = deps;
  const erasure = await db.one<{ id: Id }>(
    sql`SELECT id FROM erasures WHERE subject_id = ${subjectId} AND kind <> 'club'`,
  );
  if (!erasure) return { done: true, outcome: 'gone' };
  let remaining: Remaining | undefined;
  return runStep<Claimed, PersonErasureStep>({
    claim: () =>
      lease.claim(
        db,
        erasure.id,
        now,
        sql`SELECT ${columns(Erasure, ['id', 'fence', 'kind', 'subjectId', 'clubId', 'requestedAt', 'counts'])} FROM claimed`,
      ),
    async act(claimed) {
      remaining = await look(deps, claimed, new Date(now));
    },
    state: () => readState(db, erasure.id, remaining),
  });
}

interface Remaining {
  files: number;
  receivers: number;
}

/** Writes the marker first, so that it exists even if the erasure of files takes long. */
async function look(
  { db, storage, remains }: PersonErasureDeps,
  { id, fence, counts, ...person }: Claimed,
  now: Date,
): Promise<Remaining> {
  await writeMarker(storage, person, person.requestedAt);
  const exports = await eraseExports(storage, person);
  const answers = await Promise.all(remains.map((count) => count({ db, storage }, person, now)));
  const remaining = {
    files: answers.reduce((sum, { files = 0 }) => sum + files, 0),
    receivers: answers.reduce((sum, { receivers = 0 }) => sum + receivers, 0),
  };
  // The first look counts the files. Later looks add exports that were being written at that time.
  const files = (counts.buckets?.['private'] ?? remaining.files) + exports;
  const isComplete = remaining.files + remaining.receivers === 0;
  const { kind, clubId, subjectId } = person;
  const isStudent = kind === 'student' && clubId !== null;
  const receivers = isComplete && isStudent ? await readReceivers(db, clubId, subjectId) : undefined;
  await lease.record(
    db,
    { id, fence },
    {
      counts: { ...counts, buckets: { private: files } },
      ...(receivers && { receivers }),
      ...(isComplete
        ? { status: 'completed', completedAt: now, looksAt: null }
        : { looksAt: new Date(now.getTime() + waitAfter(now.getTime() - person.requestedAt.getTime())) }),
    },
  );
  return remaining;
}

/** @returns the wait in milliseconds */
const waitAfter = (sinceRequestMs: number): number =>
  Math.min(waitMs.most, Math.max(waitMs.least, Math.round(sinceRequestMs)));

/** Erases the exports of a removed student. @returns the number of objects */
async function eraseExports(storage: ObjectStore, { kind, clubId, subjectId }: ErasedPerson): Promise<number> {
  if (kind !== 'student' || clubId === null) return 0;
  let count = 0;
  for await (const key of storage.list(`exports/${clubId}/${subjectId}/`)) {
    await storage.remove(key);
    count += 1;
  }
  return count;
}

async function readState(db: Database, id: Id, remaining: Remaining | undefined): Promise<PersonErasureStep> {
  const row = await db.one<{ at: Date | null }>(
    sql`SELECT CASE WHEN status = 'objects' THEN greatest(looks_at, lease_until) END AS at FROM erasures WHERE id = ${id}`,
  );
  if (!row) return { done: true, outcome: 'gone' };
  if (row.at === null) return { done: true, outcome: 'completed' };
  return { done: false, at: row.at.getTime(), ...(remaining && { remaining }) };
}
