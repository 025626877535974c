/** The data of `student.tagged`, `.untagged` and `.level_reached`: the current tag or level, and the student. */
import type { EventBodyOf } from '../../../../contract/contract.ts';
import { Level } from '../../../../entities/learning/level.ts';
import { Tag } from '../../../../entities/learning/tag.ts';
import { columns, sql } from '../../../../platform/infra/postgres/sql.ts';
import { recordsOf, type DataReader } from './reading.ts';
import { studentRecord } from './student.ts';

type TagData = EventBodyOf<'student.tagged'>['data'];
type LevelData = EventBodyOf<'student.level_reached'>['data'];

const tagData: DataReader<TagData> = async (tx, subjects) => {
  const records = await recordsOf(
    tx,
    subjects,
    columns(Tag, ['id', 'name'], 'tag'),
    sql`JOIN tags tag ON tag.id = fact.subject_id AND tag.club_id = fact.club_id`,
  );
  return records.map(({ row: { id, name }, student }) => ({ tag: { id, name }, ...studentRecord(student) }));
};

const levelData: DataReader<LevelData> = async (tx, subjects) => {
  const records = await recordsOf(
    tx,
    subjects,
    columns(Level, ['id', 'name', 'points'], 'level'),
    sql`JOIN levels level ON level.id = fact.subject_id AND level.club_id = fact.club_id`,
  );
  return records.map(({ row: { id, name, points }, student }) => ({
    level: { id, name, points },
    ...studentRecord(student),
  }));
};

export const standingBodies = {
  'student.tagged': tagData,
  'student.untagged': tagData,
  'student.level_reached': levelData,
};
