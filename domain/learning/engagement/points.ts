/** Students' points. A student gets points only once for each cause. An award may also make the student reach levels (EVT-19). */
import { PointAward } from '../../../entities/learning/point-award.ts';
import type { RecordOf } from '../../../contract/contract.ts';
import type { AwardKind } from '../../../entities/learning/values.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../../platform/infra/postgres/sql.ts';
import type { DatabaseDeps } from '../../deps.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { descending } from '../../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page, type PageRequest } from '../../../platform/infra/postgres/lists/page.ts';
import { recordFacts, type FactOptions } from '../../../platform/engine/facts.ts';
import { lockStudent } from '../../identity/accounts/accounts.ts';
import { findStudent } from '../../identity/students.ts';
import { levelsPassed } from './levels.ts';

export interface Award {
  kind: AwardKind;
  /** The id of the cause: the id of the lesson, or an id that the administrator's client chose. */
  causeId: Id;
  points: number;
  note: string | null;
  createdAt: Date;
}

export interface NewAward {
  clubId: Id;
  studentId: Id;
  /** The number of points. It may be negative. If it is 0, nothing is recorded. */
  points: number;
  /** A student gets at most one award for each cause. */
  cause: { kind: AwardKind; id: Id };
  note?: string | undefined;
  /** The options of the facts about reached levels. */
  options?: FactOptions;
}

const awardColumns = columns(
  PointAward,
  { kind: 'causeKind', causeId: 'causeId', points: 'points', note: 'note', createdAt: 'createdAt' },
  'award',
);

function presentAward(award: Award): RecordOf<'PointAward'> {
  return {
    id: award.causeId,
    cause: award.kind,
    points: award.points,
    ...(award.note !== null && { note: award.note }),
    awarded_at: award.createdAt.toISOString(),
  };
}

/**
 * Awards points to a student once per cause, and records `student.level_reached` for each new level, the lowest first. A level is reached
 * only once, even if the points fall and rise again.
 * @returns the award of this cause, perhaps from an earlier call
 * @throws DomainError not_found (no such student)
 */
export async function awardPoints(tx: Transaction, award: NewAward, now: Date): Promise<Award> {
  const { clubId, studentId, points, cause, options = {} } = award;
  await lockStudent(tx, clubId, studentId);
  const recordedAward: Award = {
    kind: cause.kind,
    causeId: cause.id,
    points,
    note: award.note ?? null,
    createdAt: now,
  };
  if (points === 0) return recordedAward;
  const earlier = await findAward(tx, studentId, cause);
  if (earlier) return earlier;

  await tx.manager.insert(PointAward, {
    studentId,
    causeKind: cause.kind,
    causeId: cause.id,
    points,
    note: recordedAward.note,
    createdAt: now,
  });
  await tx.run(sql`UPDATE students SET points = points + ${points} WHERE id = ${studentId}`);
  await reachLevels(tx, { clubId, studentId }, options, now);
  return recordedAward;
}

/**
 * Awards points by hand, once for each `id` of the administrator's client.
 * @throws DomainError invalid_request (the points are 0), not_found (no such student)
 */
export async function awardByHand(
  { db }: DatabaseDeps,
  student: { clubId: Id; studentId: Id },
  { id, ...given }: { id: Id; points: number; note?: string },
  now: Date,
): Promise<RecordOf<'PointAward'>> {
  requirePoints(given.points);
  const award = { ...student, ...given, cause: { kind: 'manual', id } } as const;
  return presentAward(await db.transaction((tx) => awardPoints(tx, award, now)));
}

/** @throws DomainError invalid_request: an award of 0 points would record nothing */
export function requirePoints(points: number): void {
  if (points === 0) throw new DomainError('invalid_request', 'points must not be 0.');
}

async function findAward(tx: Transaction, studentId: Id, cause: NewAward['cause']): Promise<Award | undefined> {
  const award = await tx.one<Award>(sql`SELECT ${awardColumns} FROM point_awards award
      WHERE award.student_id = ${studentId} AND award.cause_kind = ${cause.kind} AND award.cause_id = ${cause.id}`);
  return award;
}

async function reachLevels(
  tx: Transaction,
  { clubId, studentId }: { clubId: Id; studentId: Id },
  options: FactOptions,
  now: Date,
): Promise<void> {
  const passed = await levelsPassed(tx, clubId, studentId, await pointsOf(tx, studentId));
  if (passed.length === 0) return;
  await tx.run(
    sql`INSERT INTO student_levels (student_id, level_id, reached_at) SELECT ${studentId}, level_id, ${now} FROM unnest(${passed.map(({ id }) => id)}::uuid[]) AS level_id`,
  );
  await recordFacts(
    tx,
    passed.map(({ id }) => ({
      ...options,
      clubId,
      type: 'student.level_reached',
      studentId,
      subjectId: id,
      occurredAt: now,
    })),
  );
}

/** @returns the sum of a student's awards */
export async function pointsOf(db: Queries, studentId: Id): Promise<number> {
  const student = await db.one<{ points: number }>(
    sql`SELECT points::float8 AS points FROM students WHERE id = ${studentId}`,
  );
  return student?.points ?? 0;
}

/** @returns a page of a student's awards, newest first @throws DomainError not_found */
export async function listAwards(
  db: Queries,
  student: { clubId: Id; studentId: Id },
  page: PageRequest,
): Promise<Page<RecordOf<'PointAward'>>> {
  const { id: studentId } = await findStudent(db, student.clubId, student.studentId);
  const { rows, total, next } = await listPage(db, page, {
    columns: awardColumns,
    from: sql`FROM point_awards award WHERE award.student_id = ${studentId}`,
    orderBy: [
      descending('award.created_at', 'timestamptz'),
      descending('award.cause_id', 'uuid'),
      descending('award.cause_kind', 'text'),
    ],
  });
  return { rows: rows.map(presentAward), total, next };
}
