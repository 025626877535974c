/**
 * Updates memberships of spaces in the transaction that opens an account, or grants, ends or moves access (COMM-8, COMM-9). Accounts and
 * access cannot call the community, because the community depends on them. So they call this module, which only uses tables.
 */
import type { Id } from '../../platform/core/ids.ts';
import type { Database, Transaction } from '../../platform/infra/postgres/database.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { hasLeftDigests } from './digests.ts';

/**
 * Makes students members of the spaces with `auto_join`, and records for each membership whether `member_count` includes it. A student who
 * left, was removed or is banned does not become a member again. The cost depends on the students and the club's spaces, but not on the
 * number of members. A second call changes nothing.
 * @param studentIds students whose rows the transaction has locked or just inserted
 * @param spaceId if present, only this space is handled
 */
export async function followAccess(
  tx: Transaction,
  { clubId, studentIds, spaceId }: { clubId: Id; studentIds: readonly Id[]; spaceId?: Id },
  now: Date,
): Promise<void> {
  const ofSpace = spaceId === undefined ? sql`` : sql`AND space.id = ${spaceId}`;
  // A student with later access becomes a member now, but counts only when the access begins. So no job is needed at that time.
  await tx.run(sql`
    WITH held AS MATERIALIZED (
      SELECT enrollment.student_id, opening.space_id, bool_or(enrollment.starts_at <= ${now}) AS open,
             min(CASE WHEN enrollment.starts_at > ${now} THEN enrollment.starts_at ELSE enrollment.ends_at END) AS looks_at
        FROM enrollments enrollment JOIN access_deliveries opening ON opening.id = enrollment.delivery_id
       WHERE enrollment.student_id = ANY (${studentIds}::uuid[]) AND opening.space_id IS NOT NULL AND enrollment.revoked_at IS NULL
         AND (enrollment.ends_at IS NULL OR enrollment.ends_at > ${now})
       GROUP BY 1, 2)
    INSERT INTO community_memberships AS standing (space_id, student_id, club_id, joined_at, read_at, digest, counted, looks_at)
    SELECT space.id, student.id, space.club_id, ${now}, ${now}, space.digest_by_default AND NOT ${hasLeftDigests(sql`student.id`)},
           NOT space.private OR coalesce(held.open, false), CASE WHEN space.private THEN held.looks_at END
      FROM community_spaces space
      CROSS JOIN unnest(${studentIds}::uuid[]) AS student (id)
      LEFT JOIN held ON held.space_id = space.id AND held.student_id = student.id
      LEFT JOIN community_memberships membership ON membership.space_id = space.id AND membership.student_id = student.id
     WHERE space.club_id = ${clubId} ${ofSpace}
       AND (membership.space_id IS NOT NULL OR (space.auto_join AND (NOT space.private OR held.space_id IS NOT NULL)))
     ORDER BY space.id, student.id
    ON CONFLICT (space_id, student_id) DO UPDATE SET counted = excluded.counted, looks_at = excluded.looks_at
     WHERE standing.left_at IS NULL AND standing.banned_at IS NULL
       AND (standing.counted, standing.looks_at) IS DISTINCT FROM (excluded.counted, excluded.looks_at)`);
}

const membershipsPerRound = 500;

/**
 * Updates memberships after access has begun or ended by its dates. `member_count` is correct again within an hour (COMM-8). Repeated or
 * simultaneous calls do no harm.
 * @returns the number of due memberships, and whether there may be more to do now
 */
export async function followAccessByTime(db: Database, now: Date): Promise<{ followed: number; more: boolean }> {
  const due = await db.rows<{ clubId: Id; studentId: Id }>(sql`
    SELECT club_id AS "clubId", student_id AS "studentId" FROM community_memberships
     WHERE looks_at <= ${now} ORDER BY looks_at LIMIT ${membershipsPerRound}`);
  for (const [clubId, members] of Map.groupBy(due, (membership) => membership.clubId)) {
    const studentIds = [...new Set(members.map(({ studentId }) => studentId))];
    await db.transaction(async (tx) => {
      const lockedIds = await lockStudents(tx, studentIds);
      await followAccess(tx, { clubId, studentIds: lockedIds }, now);
    });
  }
  return { followed: due.length, more: due.length === membershipsPerRound };
}

/** Locks these students. @returns the students who are not removed */
async function lockStudents(tx: Transaction, studentIds: readonly Id[]): Promise<Id[]> {
  const students = await tx.rows<{ id: Id }>(sql`
    SELECT id FROM students WHERE id = ANY (${studentIds}::uuid[]) AND removed_at IS NULL ORDER BY id FOR NO KEY UPDATE`);
  return students.map(({ id }) => id);
}

/** A page takes some milliseconds, and its students are locked for this time. */
const studentsPerPage = 500;
/**
 * The pause before the step checks again whether other transactions are still writing students. Such a transaction lasts some seconds at
 * most.
 */
const barrierWaitMs = 2_000;

export type SpaceFillStep = { done: true; outcome: 'filled' } | { done: false; at?: number; waits?: true };

interface Fill {
  clubId: Id;
  after: Id | null;
  barrier: string | null;
  isPassed: boolean;
}

/**
 * SQL that selects the transactions of this database that have begun to write students. The run waits for these transactions only. Every
 * other transaction either sees the new space when it reads spaces, or must first lock a student. In the second case, the run waits for the
 * lock of the student. Reads,
 * writes of other tables, and other databases of the server do not delay the run.
 */
const writersOfStudents = sql`SELECT virtualtransaction FROM pg_locks
   WHERE locktype = 'relation' AND relation = 'students'::regclass AND mode = 'RowExclusiveLock' AND granted
     AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;

/**
 * The step of the workflow `space-fill/<space>`. It updates the memberships of a space, one page of students at a time (COMM-9). It first
 * waits for transactions that are adding students, because they may not see the current state of the space (ADR 31). If the space changes,
 * the run begins again with the first student.
 * @param now Unix milliseconds
 */
export async function fillSpace({ db }: { db: Database }, spaceId: Id, now: number): Promise<SpaceFillStep> {
  const fill = await db.one<Fill>(sql`
    SELECT club_id AS "clubId", fill_after AS after, fill_barrier AS barrier,
           NOT EXISTS (${writersOfStudents} AND virtualtransaction = ANY(fill_barrier::text[])) AS "isPassed"
      FROM community_spaces WHERE id = ${spaceId} AND fill_looks_at IS NOT NULL`);
  if (!fill) return { done: true, outcome: 'filled' };
  const unchanged = sql`id = ${spaceId} AND fill_looks_at IS NOT NULL AND fill_barrier IS NOT DISTINCT FROM ${fill.barrier}`;
  if (fill.barrier === null) {
    await db.run(sql`UPDATE community_spaces SET fill_barrier = ARRAY(${writersOfStudents})::text WHERE ${unchanged}`);
    return { done: false };
  }
  if (!fill.isPassed) return { done: false, at: now + barrierWaitMs, waits: true };
  const { clubId, after } = fill;
  return db.transaction(async (tx): Promise<SpaceFillStep> => {
    const page = await pageOfStudents(tx, clubId, after);
    const studentIds = await lockStudents(tx, page);
    if (studentIds.length > 0) await followAccess(tx, { clubId, studentIds, spaceId }, new Date(now));
    const last = page.length === studentsPerPage ? page.at(-1) : undefined;
    const progress =
      last === undefined
        ? sql`fill_looks_at = NULL, fill_after = NULL, fill_barrier = NULL`
        : sql`fill_looks_at = ${new Date(now)}, fill_after = ${last}`;
    const moved = await tx.run(
      sql`UPDATE community_spaces SET ${progress} WHERE ${unchanged} AND fill_after IS NOT DISTINCT FROM ${after}::uuid`,
    );
    return last === undefined && moved > 0 ? { done: true, outcome: 'filled' } : { done: false };
  });
}

/**
 * Reads the next students in the order in which their accounts were opened, because an index has this order. The row of a removed student
 * still exists, so a page can begin after it.
 */
async function pageOfStudents(tx: Transaction, clubId: Id, after: Id | null): Promise<Id[]> {
  const from =
    after === null ? sql`` : sql`AND (created_at, id) > (SELECT created_at, id FROM students WHERE id = ${after})`;
  const page = await tx.rows<{ id: Id }>(sql`
    SELECT id FROM students WHERE club_id = ${clubId} AND removed_at IS NULL ${from} ORDER BY created_at, id LIMIT ${studentsPerPage}`);
  return page.map(({ id }) => id);
}
