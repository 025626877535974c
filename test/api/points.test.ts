import { expect } from 'chai';
import { newId, type Id } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { factsWithSubjects } from '../toolkit/assert/facts.ts';
import { buildClub, buildStudent, type TestClub, type TestStudent } from '../toolkit/builders/clubs.ts';
import { call, clock, expectError } from '../toolkit/drive/api.ts';
import { standingCalls } from '../toolkit/drive/standing-calls.ts';
import { columnsHolding, rowCounts, withAuditEntries } from '../toolkit/stack/database.ts';

let club: TestClub;
let student: TestStudent;
let calls: ReturnType<typeof standingCalls>;

const reached = (...levels: Id[]) => levels.map((subjectId) => ({ type: 'student.level_reached', subjectId }));

describe('POST /v1/clubs/{clubId}/students/{studentId}/points', () => {
  beforeEach(async () => {
    club = await buildClub();
    student = await buildStudent(club.id);
    calls = standingCalls(club);
  });

  describe('201', () => {
    it('adds or subtracts points, and returns the complete record of the award', async () => {
      const id = newId();
      const { status, body } = await calls.award(student.id, { id, points: 50, note: 'Helped a newcomer' });
      expect(status).to.equal(201);
      expect(body.data).to.deep.equal({
        id,
        cause: 'manual',
        points: 50,
        note: 'Helped a newcomer',
        awarded_at: body.data.awarded_at,
      });
      await calls.award(student.id, { id: newId(), points: -70 });
      expect(await calls.standing(student.id)).to.deep.equal({ points: -20, tags: [] });
      expect(await factsWithSubjects(club.id)).to.deep.equal([]);
    });

    it('accepts awards from -100000 to 100000, and does not limit their sum', async () => {
      await eachCase([-100_000, 100_000], async (points) =>
        expect((await calls.award(student.id, { id: newId(), points })).status).to.equal(201),
      );
      await eachCase([-100_001, 100_001, 0], async (points) =>
        expectError(await calls.award(student.id, { id: newId(), points }), 'invalid_request'),
      );
      await eachCase([1.5, '1', null], async (points) =>
        expectError(await calls.award(student.id, { id: newId(), points }), 'malformed_request'),
      );
      expect((await calls.standing(student.id)).points).to.equal(0);
    });

    it('returns the first answer again for a repeated id, and ignores the other fields', async () => {
      const id = newId();
      const first = await calls.award(student.id, { id, points: 50 });
      await calls.buildLevel('Deckhand', 10);
      clock.advance(1_000);
      const before = await rowCounts();
      await eachCase([50, -7], async (points) => {
        const again = await calls.award(student.id, { id: id.toUpperCase(), points, note: 'again' });
        expect([again.status, again.body]).to.deep.equal([201, first.body]);
      });
      expect(await rowCounts()).to.deep.equal(withAuditEntries(before, 2));
      expect((await calls.standing(student.id)).points).to.equal(50);
    });

    it('accepts the same id for two students as two separate awards', async () => {
      const other = await buildStudent(club.id);
      const id = newId();
      for (const one of [student, other]) await calls.award(one.id, { id, points: 5 });
      expect([(await calls.standing(student.id)).points, (await calls.standing(other.id)).points]).to.deep.equal([
        5, 5,
      ]);
    });

    it('raises student.level_reached for each newly reached level, the lowest level first', async () => {
      const [bosun, deckhand, captain] = [
        await calls.buildLevel('Bosun', 500),
        await calls.buildLevel('Deckhand', 100),
        await calls.buildLevel('Captain', 501),
      ];
      await calls.award(student.id, { id: newId(), points: 99 });
      expect(await factsWithSubjects(club.id)).to.deep.equal([]);
      await calls.award(student.id, { id: newId(), points: 401 });
      expect(await factsWithSubjects(club.id)).to.deep.equal(reached(deckhand, bosun));
      await calls.award(student.id, { id: newId(), points: 1 });
      expect(await factsWithSubjects(club.id)).to.deep.equal(reached(deckhand, bosun, captain));
    });

    it('raises the fact of a level once, even if the points fall and rise again', async () => {
      const level = await calls.buildLevel('Deckhand', 100);
      for (const points of [100, -60, 60, -100, 200]) await calls.award(student.id, { id: newId(), points });
      expect(await factsWithSubjects(club.id)).to.deep.equal(reached(level));
    });

    it('raises the fact of a new or lowered level only with the student’s next award', async () => {
      await calls.award(student.id, { id: newId(), points: 300 });
      const [fresh, lowered] = [await calls.buildLevel('Deckhand', 100), await calls.buildLevel('Bosun', 900)];
      await calls.changeLevel(lowered, { points: 200 });
      expect(await factsWithSubjects(club.id)).to.deep.equal([]);
      expect(await calls.standing(student.id)).to.not.have.property('level');
      await calls.award(student.id, { id: newId(), points: -10 });
      expect(await factsWithSubjects(club.id)).to.deep.equal(reached(fresh, lowered));
    });

    it('adds 30 simultaneous awards exactly, and raises the fact of each level once', async () => {
      const levels = [await calls.buildLevel('Deckhand', 10), await calls.buildLevel('Bosun', 150)];
      await calls.buildLevel('Captain', 301);
      const ids = Array.from({ length: 15 }, newId);
      const answers = await Promise.all([...ids, ...ids].map((id) => calls.award(student.id, { id, points: 20 })));
      expect(answers.map(({ status }) => status)).to.deep.equal(answers.map(() => 201));
      expect((await calls.standing(student.id)).points).to.equal(300);
      expect(await factsWithSubjects(club.id)).to.deep.equal(reached(...levels));
    });
  });

  it('returns 404 for a student who is unknown, removed or of another club, and writes nothing', async () => {
    const foreign = await buildStudent((await buildClub()).id);
    const removed = await buildStudent(club.id);
    await calls.send('DELETE', `/students/${removed.id}`);
    const before = await rowCounts();
    await eachCase([newId(), foreign.id, removed.id], async (id) =>
      expectError(await calls.award(id, { id: newId(), points: 5 }), 'not_found'),
    );
    expect(await rowCounts()).to.deep.equal(before);
  });

  it('returns 400 or 422 for wrong fields and for values out of bounds, and writes nothing', async () => {
    const before = await rowCounts();
    const [id, points] = [newId(), 5];
    await eachCase([{ id }, { points }, { id, points, more: 1 }], async (body) =>
      expectError(await calls.award(student.id, body), 'malformed_request'),
    );
    await eachCase(
      [
        { id: 'one', points },
        { id, points, note: '' },
        { id, points, note: '  ' },
        { id, points, note: 'x'.repeat(501) },
      ],
      async (body) => expectError(await calls.award(student.id, body), 'invalid_request'),
    );
    expect(await rowCounts()).to.deep.equal(before);
  });
});

describe('GET /v1/clubs/{clubId}/students/{studentId}/points', () => {
  it('lists the awards of this student, newest first, in pages', async () => {
    club = await buildClub();
    calls = standingCalls(club);
    const [one, other] = [await buildStudent(club.id), await buildStudent(club.id)];
    await calls.award(other.id, { id: newId(), points: 1 });
    for (const points of [1, 2, 3]) {
      clock.advance(1_000);
      await calls.award(one.id, { id: newId(), points });
    }
    const page = (await calls.send('GET', `/students/${one.id}/points?page=1&page_size=2`)).body;
    expect([page.total, page.data.map((award: { points: number }) => award.points)]).to.deep.equal([3, [3, 2]]);
    const rest = (await calls.send('GET', `/students/${one.id}/points?page=2&page_size=2`)).body;
    expect([rest.total, rest.data.map((award: { points: number }) => award.points)]).to.deep.equal([3, [1]]);
  });

  it('returns 404, like the standing of the student, if the student belongs to another club', async () => {
    calls = standingCalls(await buildClub());
    const foreign = await buildStudent((await buildClub()).id);
    await eachCase(['points', 'standing'], async (path) =>
      expectError(await calls.send('GET', `/students/${foreign.id}/${path}`), 'not_found'),
    );
  });
});

describe('GET …/standing', () => {
  it('shows points and levels to students and administrators, and shows tags only to administrators', async () => {
    club = await buildClub();
    calls = standingCalls(club);
    student = await buildStudent(club.id);
    const levels = {
      low: (await calls.createLevel('Low', 10)).body.data,
      high: (await calls.createLevel('High', 100)).body.data,
      top: (await calls.createLevel('Top', 1_000)).body.data,
    };
    const tag = (await calls.createTag('vip')).body.data;
    await calls.tag(student.id, tag.id);
    const own = async () =>
      (await call('GET', `/v1/clubs/${club.id}/classroom/standing`, { token: student.token })).body.data;

    expect(await own()).to.deep.equal({ points: 0, next_level: levels.low });
    const steps = [
      { points: 150, expected: { points: 150, level: levels.high, next_level: levels.top } },
      { points: -100, expected: { points: 50, level: levels.low, next_level: levels.high } },
      { points: 2_000, expected: { points: 2_050, level: levels.top } },
    ];
    await eachCase(steps, async ({ points, expected }) => {
      await calls.award(student.id, { id: newId(), points });
      expect(await own()).to.deep.equal(expected);
      expect(await calls.standing(student.id)).to.deep.equal({ ...expected, tags: [tag] });
    });
  });
});

describe('DELETE /v1/clubs/{clubId}/students/{studentId}', () => {
  it('removes the student’s tags, awards and levels, and the facts about them', async () => {
    club = await buildClub();
    calls = standingCalls(club);
    student = await buildStudent(club.id);
    const [tag, level] = [await calls.buildTag('vip'), await calls.buildLevel('Deckhand', 5)];
    await calls.tag(student.id, tag);
    const note = `for Stella ${newId()}`;
    await calls.award(student.id, { id: newId(), points: 5, note });
    expect(await columnsHolding(note)).to.deep.equal(['point_awards.note']);

    await calls.send('DELETE', `/students/${student.id}`);
    expect(await columnsHolding(note)).to.deep.equal([]);
    expect((await columnsHolding(student.id)).filter((column) => /tag|level|award/.test(column))).to.deep.equal([]);
    expect([(await calls.deleteTag(tag)).status, (await calls.deleteLevel(level)).status]).to.deep.equal([204, 204]);
    expect((await factsWithSubjects(club.id)).at(-1)?.type).to.equal('student.removed');
  });
});
