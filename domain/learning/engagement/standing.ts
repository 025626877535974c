/** Reads a student's standing: points, level and tags. Deletes the standing when the student is removed. */
import { Student } from '../../../entities/identity/student.ts';
import type { RecordOf } from '../../../contract/contract.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { raw, sql } from '../../../platform/infra/postgres/sql.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { levelsAround, presentLevel, type LevelRow } from './levels.ts';
import { pointsOf } from './points.ts';
import { findStudent } from '../../identity/students.ts';
import { presentTag, tagsOf } from './tags.ts';

/** The part of the standing that students see. */
export interface OwnStanding {
  points: number;
  /** The highest level that the student has reached and for which the student still has enough points. */
  level: LevelRow | undefined;
  /** The lowest level that needs more points than the student has. */
  next: LevelRow | undefined;
}

/** @returns the student's points and levels, without tags, which only administrators see */
export async function ownStandingOf(db: Queries, clubId: Id, studentId: Id): Promise<OwnStanding> {
  const points = await pointsOf(db, studentId);
  return { points, ...(await levelsAround(db, clubId, studentId, points)) };
}

/** @returns a student's own standing in the contract's form */
export async function readOwnStanding(db: Queries, clubId: Id, studentId: Id): Promise<RecordOf<'OwnStanding'>> {
  return presentOwnStanding(await ownStandingOf(db, clubId, studentId));
}

/** @returns the standing with the tags @throws DomainError not_found */
export async function readStanding(
  db: Queries,
  { clubId, studentId }: { clubId: Id; studentId: Id },
): Promise<RecordOf<'Standing'>> {
  const student = await findStudent(db, clubId, studentId);
  const standing = presentOwnStanding(await ownStandingOf(db, clubId, student.id));
  return { ...standing, tags: (await tagsOf(db, student.id)).map(presentTag) };
}

function presentOwnStanding({ points, level, next }: OwnStanding): RecordOf<'OwnStanding'> {
  return {
    points,
    ...(level && { level: presentLevel(level) }),
    ...(next && { next_level: presentLevel(next) }),
  };
}

/** Deletes the tags, points and levels of a removed student, and records no fact. */
export async function purgeStudentFromStanding(tx: Transaction, studentId: Id): Promise<void> {
  for (const table of ['student_tags', 'student_levels', 'point_awards'])
    await tx.run(sql`DELETE FROM ${raw(table)} WHERE student_id = ${studentId}`);
  await tx.manager.update(Student, { id: studentId }, { points: '0' });
}
