/** What `student.tagged`, `.untagged` and `.level_reached` say: the tag or the level as it is now, and the student. */
import type { EventBodyOf } from '../../../../contract/contract.ts';
import { Level } from '../../../../entities/learning/level.ts';
import { Tag } from '../../../../entities/learning/tag.ts';
import { columns, sql } from '../../../../platform/infra/postgres/sql.ts';
import { oneRow, type DataReader } from './reading.ts';
import { studentRecord } from './student.ts';

type TagData = EventBodyOf<'student.tagged'>['data'];
type LevelData = EventBodyOf<'student.level_reached'>['data'];

const tagData: DataReader<TagData> = async (tx, fact, student) => ({
  tag: oneRow(
    await tx.rows<TagData['tag']>(
      sql`SELECT ${columns(Tag, ['id', 'name'])} FROM tags WHERE id = ${fact.subjectId} AND club_id = ${fact.clubId}`,
    ),
    fact,
  ),
  ...studentRecord(student),
});

const levelData: DataReader<LevelData> = async (tx, fact, student) => ({
  level: oneRow(
    await tx.rows<LevelData['level']>(
      sql`SELECT ${columns(Level, ['id', 'name', 'points'])} FROM levels WHERE id = ${fact.subjectId} AND club_id = ${fact.clubId}`,
    ),
    fact,
  ),
  ...studentRecord(student),
});

export const standingBodies = {
  'student.tagged': tagData,
  'student.untagged': tagData,
  'student.level_reached': levelData,
};
