import { expect } from 'chai';
import { newId, type Id } from '../../platform/core/ids.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { factsWithSubjects } from '../toolkit/assert/facts.ts';
import { buildClub, buildStudent, type TestClub, type TestStudent } from '../toolkit/builders/clubs.ts';
import { expectError } from '../toolkit/drive/api.ts';
import { inThisOrder } from '../toolkit/drive/races.ts';
import { standingCalls } from '../toolkit/drive/standing-calls.ts';
import { rowCounts } from '../toolkit/stack/database.ts';

describe('tags', () => {
  let club: TestClub;
  let student: TestStudent;
  let calls: ReturnType<typeof standingCalls>;

  const statusesOf = (answers: { status: number }[]) => answers.map(({ status }) => status).toSorted((a, b) => a - b);
  const tagged = (subjectId: Id) => ({ type: 'student.tagged', subjectId });
  const untagged = (subjectId: Id) => ({ type: 'student.untagged', subjectId });

  beforeEach(async () => {
    club = await buildClub();
    student = await buildStudent(club.id);
    calls = standingCalls(club);
  });

  describe('/v1/clubs/{clubId}/tags', () => {
    it('creates and renames a tag, and lists tags by name, in pages', async () => {
      const { status, body } = await calls.createTag('  Very   important ');
      expect([status, body.data.name]).to.deep.equal([201, 'Very important']);
      expect(Object.keys(body.data)).to.deep.equal(['id', 'name', 'created_at']);
      const renamed = await calls.renameTag(body.data.id, 'vip');
      expect([renamed.status, renamed.body.data]).to.deep.equal([200, { ...body.data, name: 'vip' }]);
      await calls.createTag('Alpha');
      await calls.createTag('beta');
      const list = async (query: string) => (await calls.send('GET', `/tags${query}`)).body;
      const names = (found: { data: { name: string }[] }) => found.data.map(({ name }) => name);
      const [first, second] = [await list('?page_size=2'), await list('?page_size=2&page=2')];
      expect([first.total, names(first), second.total, names(second)]).to.deep.equal([
        3,
        ['Alpha', 'beta'],
        3,
        ['vip'],
      ]);
    });

    it('returns 409 name_taken if the name differs from the name of a tag only in case or spaces', async () => {
      const id = await calls.buildTag('Straße Öl');
      const other = await calls.buildTag('other');
      const before = await rowCounts();
      expectError(await calls.createTag(' straße   öL'), 'name_taken');
      expectError(await calls.renameTag(other, 'STRAßE ÖL'), 'name_taken');
      expect(await rowCounts()).to.deep.equal(before);
      expect((await calls.renameTag(id, 'STRAßE ÖL')).status).to.equal(200);
      expect((await standingCalls(await buildClub()).createTag('Straße Öl')).status).to.equal(201);
      expect((await calls.deleteTag(id)).status).to.equal(204);
      expect((await calls.createTag('Straße Öl')).status).to.equal(201);
    });

    it('returns 409 name_taken to three of four simultaneous requests with one name', async () => {
      const create = () => calls.createTag('vip');
      const answers = await inThisOrder(sql`LOCK TABLE tags IN SHARE MODE`, create, create, create, create);
      expect(statusesOf(answers)).to.deep.equal([201, 409, 409, 409]);
    });

    it('returns 409 in_use for a tag that a student has', async () => {
      const id = await calls.buildTag('vip');
      await calls.tag(student.id, id);
      expectError(await calls.deleteTag(id), 'in_use');
      await calls.untag(student.id, id);
      expect((await calls.deleteTag(id)).status).to.equal(204);
    });

    it('returns 404 for a tag that is unknown, deleted or of another club, and writes nothing', async () => {
      const foreign = await standingCalls(await buildClub()).buildTag('foreign');
      const deleted = await calls.buildTag('deleted');
      await calls.deleteTag(deleted);
      const before = await rowCounts();
      await eachCase([newId(), foreign, deleted], async (id) =>
        eachCase(
          [
            await calls.renameTag(id, 'new'),
            await calls.deleteTag(id),
            await calls.tag(student.id, id),
            await calls.untag(student.id, id),
          ],
          (answer) => expectError(answer, 'not_found'),
        ),
      );
      expect(await rowCounts()).to.deep.equal(before);
    });

    it('returns 422 for an empty name, a blank name and a name of 81 characters', async () => {
      await eachCase(['a', 'a'.repeat(80)], async (name) => expect((await calls.createTag(name)).status).to.equal(201));
      await eachCase(['', ' ', 'a'.repeat(81)], async (name) =>
        expectError(await calls.createTag(name), 'invalid_request'),
      );
    });
  });

  describe('/v1/clubs/{clubId}/students/{studentId}/tags/{tagId}', () => {
    it('adds or removes the tag, and raises one fact for each change', async () => {
      const id = await calls.buildTag('vip');
      const steps = [calls.untag, calls.tag, calls.tag, calls.untag, calls.untag, calls.tag];
      await eachCase(steps, async (step) => expect((await step(student.id, id)).status).to.equal(204));
      expect(await factsWithSubjects(club.id)).to.deep.equal([tagged(id), untagged(id), tagged(id)]);
    });

    it('raises one fact for each change, even if additions and removals are simultaneous', async () => {
      const id = await calls.buildTag('vip');
      const steps = [calls.untag, calls.tag, calls.tag, calls.untag, calls.untag, calls.tag];
      const answers = await inThisOrder(
        sql`SELECT 1 FROM students WHERE id = ${student.id} FOR UPDATE`,
        ...steps.map((step) => () => step(student.id, id)),
      );
      expect(statusesOf(answers)).to.deep.equal(answers.map(() => 204));
      expect(await factsWithSubjects(club.id)).to.deep.equal([tagged(id), untagged(id), tagged(id)]);
      expect((await calls.standing(student.id)).tags).to.have.length(1);
    });

    describe('while the tag is being deleted', () => {
      let id: Id;
      beforeEach(async () => {
        id = await calls.buildTag('vip');
      });
      const tagLock = () => sql`SELECT 1 FROM tags WHERE id = ${id} FOR UPDATE`;
      const deletion = () => calls.deleteTag(id);
      const addition = () => calls.tag(student.id, id);

      it('returns 404 for an addition that is stored after the deletion', async () => {
        const [deleted, added] = await inThisOrder(tagLock(), deletion, addition);
        expect(deleted.status).to.equal(204);
        expectError(added, 'not_found');
      });

      it('accepts an addition that is stored before the deletion, and then refuses the deletion with 409', async () => {
        const [added, deleted] = await inThisOrder(tagLock(), addition, deletion);
        expect(added.status).to.equal(204);
        expectError(deleted, 'in_use');
      });
    });

    it('returns 404 for a student who is unknown, removed or of another club, and writes nothing', async () => {
      const id = await calls.buildTag('vip');
      const foreign = await buildStudent((await buildClub()).id);
      const removed = await buildStudent(club.id);
      await calls.send('DELETE', `/students/${removed.id}`);
      const before = await rowCounts();
      await eachCase([newId(), foreign.id, removed.id], async (one) => {
        expectError(await calls.tag(one, id), 'not_found');
        expectError(await calls.untag(one, id), 'not_found');
      });
      expect(await rowCounts()).to.deep.equal(before);
    });
  });

  describe('/v1/clubs/{clubId}/levels', () => {
    it('creates and changes a level, and lists levels from the lowest, in pages', async () => {
      const { status, body } = await calls.createLevel(' Bosun ', 500);
      expect([status, body.data]).to.deep.equal([
        201,
        { id: body.data.id, name: 'Bosun', points: 500, created_at: body.data.created_at },
      ]);
      const renamed = await calls.changeLevel(body.data.id, { name: 'Boatswain' });
      expect(renamed.body.data).to.deep.equal({ ...body.data, name: 'Boatswain' });
      await calls.createLevel('Deckhand', 0);
      await calls.createLevel('Captain', 1_000_000_000);
      const list = (await calls.send('GET', '/levels?page_size=2')).body;
      expect([list.total, list.data.map(({ name }: { name: string }) => name)]).to.deep.equal([
        3,
        ['Deckhand', 'Boatswain'],
      ]);
    });

    it('returns 409 points_taken if another level of the club has the same points', async () => {
      await calls.createLevel('Bosun', 500);
      const other = await calls.buildLevel('Captain', 900);
      expectError(await calls.createLevel('Mate', 500), 'points_taken');
      expectError(await calls.changeLevel(other, { points: 500 }), 'points_taken');
      expect((await calls.changeLevel(other, { points: 900 })).status).to.equal(200);
      expect((await standingCalls(await buildClub()).createLevel('Bosun', 500)).status).to.equal(201);
    });

    it('returns 409 in_use for a level that a student has reached, even if the points have fallen', async () => {
      const id = await calls.buildLevel('Bosun', 500);
      for (const points of [500, -400]) await calls.award(student.id, { id: newId(), points });
      expectError(await calls.deleteLevel(id), 'in_use');
    });

    describe('while points that reach the level are awarded', () => {
      let id: Id;
      beforeEach(async () => {
        id = await calls.buildLevel('Bosun', 500);
      });
      const levelLock = () => sql`SELECT 1 FROM levels WHERE id = ${id} FOR UPDATE`;
      const deletion = () => calls.deleteLevel(id);
      const award = () => calls.award(student.id, { id: newId(), points: 500 });
      const timesReached = async () =>
        (await factsWithSubjects(club.id)).filter(({ subjectId }) => subjectId === id).length;

      it('deletes the level if the deletion is stored first, and the award reaches no level', async () => {
        const [deleted] = await inThisOrder(levelLock(), deletion, award);
        expect([deleted.status, await timesReached()]).to.deep.equal([204, 0]);
      });

      it('returns 409 in_use if the award is stored first, and keeps the level', async () => {
        const [, deleted] = await inThisOrder(levelLock(), award, deletion);
        expectError(deleted, 'in_use');
        expect(await timesReached()).to.equal(1);
      });
    });

    it('returns 404 for a level that is unknown, deleted or of another club', async () => {
      const foreign = await standingCalls(await buildClub()).buildLevel('Foreign', 5);
      const deleted = await calls.buildLevel('Deleted', 5);
      expect((await calls.deleteLevel(deleted)).status).to.equal(204);
      await eachCase([newId(), foreign, deleted], async (id) => {
        expectError(await calls.changeLevel(id, { name: 'New' }), 'not_found');
        expectError(await calls.deleteLevel(id), 'not_found');
      });
      expect((await calls.createLevel('Deckhand', 5)).status).to.equal(201);
    });

    it('returns 422 for points out of bounds and for an empty change', async () => {
      await eachCase([-1, 1_000_000_001], async (points) =>
        expectError(await calls.createLevel('Off', points), 'invalid_request'),
      );
      expectError(await calls.changeLevel(await calls.buildLevel('On', 1), {}), 'invalid_request');
    });
  });
});
