/** Compares points and levels with a model of EVT-19, through the domain's own functions. */
import { expect } from 'chai';
import * as fc from 'fast-check';
import { DomainError } from '../../../../platform/core/errors.ts';
import { newId, type Id } from '../../../../platform/core/ids.ts';
import { createLevel, deleteLevel, updateLevel } from '../../../../domain/learning/engagement/levels.ts';
import { awardPoints } from '../../../../domain/learning/engagement/points.ts';
import { ownStandingOf } from '../../../../domain/learning/engagement/standing.ts';
import { buildClub, buildStudent } from '../../../toolkit/builders/clubs.ts';
import { testDeps } from '../../../toolkit/stack/database.ts';

interface Model {
  points: number;
  causes: Set<string>;
  levels: Map<Id, number>;
  reached: Set<Id>;
  announcedLevels: Id[];
}

const lessons = Array.from({ length: 4 }, newId);
const cause = fc.record({
  kind: fc.constantFrom('lesson' as const, 'manual' as const),
  id: fc.constantFrom(...lessons),
});
/** Close together, so that some of them are equal. */
const threshold = fc.integer({ min: 0, max: 6 }).map((n) => n * 10);
const award = fc.record({
  act: fc.constant('award' as const),
  cause: fc.oneof({ weight: 1, arbitrary: cause }, { weight: 2, arbitrary: fc.constant(undefined) }),
  points: fc.integer({ min: -40, max: 40 }),
});
const level = fc.record({ act: fc.constantFrom('create', 'move', 'delete'), nth: fc.nat(5), points: threshold });
const steps = fc.array(fc.oneof({ weight: 3, arbitrary: award }, { weight: 2, arbitrary: level }), { maxLength: 24 });

function awardInModel(model: Model, key: string, points: number): void {
  if (points === 0 || model.causes.has(key)) return;
  model.causes.add(key);
  model.points += points;
  const passed = [...model.levels]
    .filter(([id, from]) => from <= model.points && !model.reached.has(id))
    .toSorted(([, a], [, b]) => a - b);
  for (const [id] of passed) {
    model.reached.add(id);
    model.announcedLevels.push(id);
  }
}

async function codeOf(work: Promise<unknown>): Promise<string | undefined> {
  return work.then(
    () => undefined,
    (error: unknown) => {
      if (error instanceof DomainError) return error.code;
      throw error;
    },
  );
}

async function levelStep(clubId: Id, model: Model, { act, nth, points }: { act: string; nth: number; points: number }) {
  const { db } = await testDeps();
  const isTaken = (but?: Id) => [...model.levels].some(([id, from]) => from === points && id !== but);
  if (act === 'create') {
    const refused = isTaken() ? 'points_taken' : undefined;
    const creation = createLevel({ db }, clubId, { name: 'Level', points }, new Date());
    expect(await codeOf(creation)).to.equal(refused);
    if (refused === undefined) model.levels.set((await creation).id, points);
    return;
  }
  const [id] = [...model.levels.keys()].slice(nth % Math.max(1, model.levels.size));
  if (id === undefined) return;
  if (act === 'move') {
    const refused = isTaken(id) ? 'points_taken' : undefined;
    expect(await codeOf(updateLevel({ db }, clubId, id, { points }))).to.equal(refused);
    if (refused === undefined) model.levels.set(id, points);
    return;
  }
  const refused = model.reached.has(id) ? 'in_use' : undefined;
  expect(await codeOf(deleteLevel({ db }, clubId, id, new Date()))).to.equal(refused);
  if (refused === undefined) model.levels.delete(id);
}

describe('points and levels', () => {
  it('match the model in points, level and facts after any changes', async () => {
    const { db } = await testDeps();
    const { id: clubId } = await buildClub();
    await fc.assert(
      fc.asyncProperty(steps, async (actions) => {
        await db.source.query(`UPDATE levels SET removed_at = now() WHERE club_id = $1`, [clubId]);
        const { id: studentId } = await buildStudent(clubId);
        const model: Model = {
          points: 0,
          causes: new Set(),
          levels: new Map(),
          reached: new Set(),
          announcedLevels: [],
        };
        for (const step of actions) {
          if (step.act !== 'award') {
            await levelStep(clubId, model, step);
            continue;
          }
          const awardCause = step.cause ?? { kind: 'manual' as const, id: newId() };
          const { points } = step;
          await db.transaction((tx) => awardPoints(tx, { clubId, studentId, points, cause: awardCause }, new Date()));
          awardInModel(model, `${awardCause.kind} ${awardCause.id}`, points);
        }
        const recordedLevels = await db.source.query<{ id: Id; type: string }[]>(
          `SELECT subject_id AS id, type FROM facts WHERE student_id = $1 ORDER BY seq`,
          [studentId],
        );
        expect(recordedLevels).to.deep.equal(
          model.announcedLevels.map((id) => ({ id, type: 'student.level_reached' })),
        );
        const standing = await ownStandingOf(db, clubId, studentId);
        const byPoints = [...model.levels].toSorted(([, a], [, b]) => a - b);
        expect({ points: standing.points, level: standing.level?.id, next: standing.next?.id }).to.deep.equal({
          points: model.points,
          level: byPoints.findLast(([id, from]) => model.reached.has(id) && from <= model.points)?.[0],
          next: byPoints.find(([, from]) => from > model.points)?.[0],
        });
      }),
      { numRuns: 60 },
    );
  }).timeout(120_000);

  it('store nothing of an award if its transaction fails', async () => {
    const { db } = await testDeps();
    const { id: clubId } = await buildClub();
    const { id: studentId } = await buildStudent(clubId);
    await createLevel({ db }, clubId, { name: 'Deckhand', points: 1 }, new Date());
    const firstAward = { clubId, studentId, points: 5, cause: { kind: 'lesson', id: newId() } } as const;
    const crash = db.transaction(async (tx) => {
      await awardPoints(tx, firstAward, new Date());
      throw new Error('the process ends here');
    });
    expect(await crash.catch((error: Error) => error.message)).to.equal('the process ends here');
    expect((await ownStandingOf(db, clubId, studentId)).points).to.equal(0);
    await db.transaction((tx) => awardPoints(tx, firstAward, new Date()));
    expect((await ownStandingOf(db, clubId, studentId)).level?.name).to.equal('Deckhand');
  });
});
