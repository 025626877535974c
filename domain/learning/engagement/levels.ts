/** Lists, creates, changes and deletes the levels of a club, and finds the level of a student. */
import { Level } from '../../../entities/learning/level.ts';
import type { RecordOf } from '../../../contract/contract.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../../platform/infra/postgres/sql.ts';
import type { DatabaseDeps } from '../../deps.ts';
import { violates } from '../../../platform/infra/postgres/errors.ts';
import { DomainError, notFound } from '../../../platform/core/errors.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { ascending } from '../../../platform/infra/postgres/lists/order.ts';
import { type Page, type PageRequest, listPage } from '../../../platform/infra/postgres/lists/page.ts';
import { requireUnnamed } from '../../watches/watches.ts';
import { tidyName } from '../../../platform/core/text/text.policy.ts';

type LevelRecord = RecordOf<'Level'>;

export interface LevelRow {
  id: Id;
  name: string;
  points: number;
  createdAt: Date;
}

const levelColumns = columns(Level, ['id', 'name', 'points', 'createdAt'], 'level');

/** @returns the record that callers see */
export function presentLevel(level: LevelRow): LevelRecord {
  return { id: level.id, name: level.name, points: level.points, created_at: level.createdAt.toISOString() };
}

/** @returns a page of the club's levels, with the lowest first */
export async function listLevels(db: Queries, clubId: Id, page: PageRequest): Promise<Page<LevelRecord>> {
  const { rows, total, next } = await listPage(db, page, {
    columns: levelColumns,
    from: sql`FROM levels level WHERE level.club_id = ${clubId} AND level.removed_at IS NULL`,
    orderBy: [ascending('level.points', 'int')],
  });
  return { rows: rows.map(presentLevel), total, next };
}

/** @throws DomainError not_found, also for a level of another club and for a deleted level */
async function lockLevel(tx: Transaction, clubId: Id, levelId: Id): Promise<LevelRow> {
  const level = await tx.one<LevelRow>(
    sql`SELECT ${levelColumns} FROM levels level WHERE level.id = ${levelId} AND level.club_id = ${clubId} AND level.removed_at IS NULL FOR UPDATE`,
  );
  if (!level) throw notFound('level');
  return level;
}

function rethrowPointsTaken(error: unknown): never {
  throw violates(error, 'levels_club_points')
    ? new DomainError('points_taken', 'Another level of this club begins at these points.')
    : error;
}

/**
 * Creates a level. Students with enough points reach it only with their next award.
 * @throws DomainError points_taken
 */
export async function createLevel(
  { db }: DatabaseDeps,
  clubId: Id,
  input: { name: string; points: number },
  now: Date,
): Promise<LevelRecord> {
  return db.transaction(async (tx) => {
    const level = { id: newId(), name: tidyName(input.name), points: input.points, createdAt: now };
    await tx.manager.insert(Level, { ...level, clubId }).catch(rethrowPointsTaken);
    return presentLevel(level);
  });
}

/**
 * Changes a level. Students who have reached the level keep it. Other students who have enough points reach it with their next award.
 * @throws DomainError not_found, points_taken
 */
export async function updateLevel(
  { db }: DatabaseDeps,
  clubId: Id,
  levelId: Id,
  input: { name?: string; points?: number },
): Promise<LevelRecord> {
  return db.transaction(async (tx) => {
    const before = await lockLevel(tx, clubId, levelId);
    const after = {
      ...before,
      ...(input.name !== undefined && { name: tidyName(input.name) }),
      ...(input.points !== undefined && { points: input.points }),
    };
    await tx.manager
      .update(Level, { id: levelId }, { name: after.name, points: after.points })
      .catch(rethrowPointsTaken);
    return presentLevel(after);
  });
}

/**
 * Deletes a level that no student has reached and no automation names. The row of the level stays, because facts name it.
 * @throws DomainError not_found, in_use
 */
export async function deleteLevel({ db }: DatabaseDeps, clubId: Id, levelId: Id, now: Date): Promise<void> {
  await db.transaction(async (tx) => {
    await lockLevel(tx, clubId, levelId);
    const user = await tx.one(sql`SELECT 1 FROM student_levels WHERE level_id = ${levelId} LIMIT 1`);
    if (user) throw new DomainError('in_use', 'Students of this club have reached the level.');
    await requireUnnamed(tx, 'level', levelId);
    await tx.manager.update(Level, { id: levelId }, { removedAt: now });
  });
}

/**
 * Returns the levels that a student's points reach for the first time, lowest first. They are not deleted or moved until this transaction
 * ends.
 */
export async function levelsPassed(tx: Transaction, clubId: Id, studentId: Id, points: number): Promise<LevelRow[]> {
  return tx.rows<LevelRow>(sql`SELECT ${levelColumns} FROM levels level
      WHERE level.club_id = ${clubId} AND level.removed_at IS NULL AND level.points <= ${points}::bigint
        AND NOT EXISTS (SELECT FROM student_levels reached WHERE reached.student_id = ${studentId} AND reached.level_id = level.id)
      ORDER BY level.points FOR SHARE OF level`);
}

/** @returns `level`: the highest reached level that needs at most `points`. `next`: the lowest level that needs more */
export async function levelsAround(
  db: Queries,
  clubId: Id,
  studentId: Id,
  points: number,
): Promise<{ level: LevelRow | undefined; next: LevelRow | undefined }> {
  const level =
    await db.one<LevelRow>(sql`SELECT ${levelColumns} FROM student_levels reached JOIN levels level ON level.id = reached.level_id
      WHERE reached.student_id = ${studentId} AND level.points <= ${points}::bigint ORDER BY level.points DESC LIMIT 1`);
  const next = await db.one<LevelRow>(sql`SELECT ${levelColumns} FROM levels level
      WHERE level.club_id = ${clubId} AND level.removed_at IS NULL AND level.points > ${points}::bigint ORDER BY level.points LIMIT 1`);
  return { level, next };
}
