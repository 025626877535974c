/** What `student.tagged`, `.untagged` and `.level_reached` say: the tag or the level as it is now, and the student. */
import type { EventBodyOf } from '../../../../contract/contract.ts';
import { oneRow, type DataReader } from './reading.ts';
import { studentRecord } from './student.ts';

type TagData = EventBodyOf<'student.tagged'>['data'];
type LevelData = EventBodyOf<'student.level_reached'>['data'];

const tagData: DataReader<TagData> = async (tx, fact, student) => ({
  tag: oneRow(
    await tx.query<TagData['tag'][]>(`SELECT id, name FROM tags WHERE id = $1 AND club_id = $2`, [
      fact.subjectId,
      fact.clubId,
    ]),
    fact,
  ),
  ...studentRecord(student),
});

const levelData: DataReader<LevelData> = async (tx, fact, student) => ({
  level: oneRow(
    await tx.query<LevelData['level'][]>(`SELECT id, name, points FROM levels WHERE id = $1 AND club_id = $2`, [
      fact.subjectId,
      fact.clubId,
    ]),
    fact,
  ),
  ...studentRecord(student),
});

export const standingBodies = {
  'student.tagged': tagData,
  'student.untagged': tagData,
  'student.level_reached': levelData,
};
