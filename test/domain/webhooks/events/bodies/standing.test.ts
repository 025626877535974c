import { expect } from 'chai';
import { newId, type Id } from '../../../../../platform/core/ids.ts';
import { createLevel, deleteLevel, updateLevel } from '../../../../../domain/learning/engagement/levels.ts';
import { createTag, deleteTag, updateTag } from '../../../../../domain/learning/engagement/tags.ts';
import type { EventType } from '../../../../../platform/core/event-types.ts';
import { assembleBody } from '../../../../toolkit/drive/facts.ts';
import type { SubjectStudent } from '../../../../../domain/webhooks/events/bodies/reading.ts';
import { eventFaults } from '../../../../toolkit/assert/contract-schemas.ts';
import { buildClub } from '../../../../toolkit/builders/clubs.ts';
import { testDeps } from '../../../../toolkit/stack/database.ts';

const student: SubjectStudent = {
  id: newId(),
  name: 'Zoë 学生',
  email: 'zoe@example.com',
  verified: true,
  createdAt: new Date('2026-02-20T08:00:00.123Z'),
  removed: false,
};
const expectedStudent = {
  id: student.id,
  name: 'Zoë 学生',
  email: 'zoe@example.com',
  verified: true,
  created_at: '2026-02-20T08:00:00.123Z',
};

describe('the bodies of student.tagged, student.untagged and student.level_reached', () => {
  const dataOf = async (clubId: Id, type: EventType, subjectId: Id): Promise<unknown> => {
    const { db } = await testDeps();
    const fact = { id: newId(), clubId, type, studentId: student.id, subjectId, details: null, occurredAt: new Date() };
    const body = JSON.parse(await assembleBody(db, fact, student, new Date())) as {
      data: unknown;
    };
    expect(eventFaults(type, body)).to.deep.equal([]);
    return body.data;
  };

  it('contain the tag with its current name, even after its deletion', async () => {
    const { db } = await testDeps();
    const { id: clubId } = await buildClub();
    const { id } = await createTag({ db }, clubId, { name: 'vip' }, new Date());
    for (const type of ['student.tagged', 'student.untagged'] as const)
      expect(await dataOf(clubId, type, id), type).to.deep.equal({
        tag: { id, name: 'vip' },
        student: expectedStudent,
      });
    await updateTag({ db }, clubId, id, { name: 'Very important' });
    await deleteTag({ db }, clubId, id, new Date());
    expect(await dataOf(clubId, 'student.untagged', id)).to.deep.equal({
      tag: { id, name: 'Very important' },
      student: expectedStudent,
    });
  });

  it('contain the level in its current state, even after its deletion', async () => {
    const { db } = await testDeps();
    const { id: clubId } = await buildClub();
    const { id } = await createLevel({ db }, clubId, { name: 'Bosun', points: 500 }, new Date());
    await updateLevel({ db }, clubId, id, { points: 600 });
    await deleteLevel({ db }, clubId, id, new Date());
    expect(await dataOf(clubId, 'student.level_reached', id)).to.deep.equal({
      level: { id, name: 'Bosun', points: 600 },
      student: expectedStudent,
    });
  });

  it('are not built from records of another club', async () => {
    const { db } = await testDeps();
    const { id } = await createTag({ db }, (await buildClub()).id, { name: 'vip' }, new Date());
    const error: unknown = await dataOf(newId(), 'student.tagged', id).catch((reason: unknown) => reason);
    expect(error).to.have.property('message', 'The record of the fact student.tagged does not exist');
  });
});
