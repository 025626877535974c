/** A reader who follows the cursor misses no event and gets none twice, in whatever order fan-outs commit (EVT-24). */
import { expect } from 'chai';
import * as fc from 'fast-check';
import { fanOut, fanOutFacts } from '../../../../domain/webhooks/events/fan-out.ts';
import { insertEvents } from '../../../../domain/webhooks/events/insert-deliveries.ts';
import { listEvents } from '../../../../domain/webhooks/log/events.ts';
import { newId, type Id } from '../../../../platform/core/ids.ts';
import { sql } from '../../../../platform/infra/postgres/sql.ts';
import { buildClub, buildStudent } from '../../../toolkit/builders/clubs.ts';
import { factAbout } from '../../../toolkit/builders/webhooks.ts';
import { untilWaitingForLocks, withOpenTransaction } from '../../../toolkit/drive/races.ts';
import { testDeps } from '../../../toolkit/stack/database.ts';

/** A club with two students, whose log has begun. */
interface Scene {
  clubId: Id;
  studentIds: readonly Id[];
}

async function buildScene(): Promise<Scene> {
  const { id: clubId } = await buildClub();
  const students = [await buildStudent(clubId), await buildStudent(clubId)];
  await pageOf(clubId);
  return { clubId, studentIds: students.map(({ id }) => id) };
}

const pageOf = async (clubId: Id, cursor?: string, size = 3) =>
  listEvents(await testDeps(), clubId, { page_size: size, ...(cursor !== undefined && { cursor }) }, new Date());

const factOf = ({ clubId, studentIds }: Scene, student: number) => ({
  ...factAbout({ clubId, studentId: studentIds[student] ?? '' }, 'student.updated'),
  id: newId(),
  priority: 1 as const,
});

/** Reads pages until a page is empty and `isOver` is true. @returns the ids in the order of the pages */
async function follow(clubId: Id, isOver: () => boolean): Promise<Id[]> {
  const ids: Id[] = [];
  let cursor: string | undefined;
  for (;;) {
    const wasOver = isOver();
    const page = await pageOf(clubId, cursor);
    ids.push(...page.data.map(({ id }) => id));
    cursor = page.next_cursor;
    if (wasOver && !page.has_more) return ids;
  }
}

describe('the order of the log', function () {
  this.timeout(120_000);

  describe('with commits that end in any order', () => {
    before(async () => {
      const { db } = await testDeps();
      await db.run(sql`CREATE FUNCTION commit_late() RETURNS trigger LANGUAGE plpgsql AS $$
          BEGIN PERFORM pg_sleep(random() * 0.02); RETURN NULL; END $$`);
      await db.run(sql`CREATE CONSTRAINT TRIGGER commit_late AFTER INSERT ON webhook_events DEFERRABLE INITIALLY DEFERRED
          FOR EACH ROW EXECUTE FUNCTION commit_late()`);
    });
    after(async () => (await testDeps()).db.run(sql`DROP FUNCTION commit_late CASCADE`));

    it('lets two readers who follow the cursor during the fan-outs see each event exactly once', async () => {
      const { db } = await testDeps();
      const scenes = [await buildScene(), await buildScene()];
      // Each inner list is the batch of one relay: the club and the student of each fact.
      const batches = fc.array(fc.array(fc.tuple(fc.nat(1), fc.nat(1)), { minLength: 1, maxLength: 4 }), {
        minLength: 3,
        maxLength: 8,
      });
      await fc.assert(
        fc.asyncProperty(batches, async (drawn) => {
          const facts = drawn.map((batch) =>
            batch.flatMap(([club, student]) => {
              const scene = scenes[club];
              return scene ? [factOf(scene, student)] : [];
            }),
          );
          let isOver = false;
          const readers = scenes.map(({ clubId }) => follow(clubId, () => isOver));
          // Two relays may have leased the same facts, and a batch that waits too long fails.
          const relays = [...facts, ...facts.slice(0, 1)].map(async (batch) => {
            const results = await fanOutFacts(db, batch, new Date()).catch(() => []);
            for (const [index, fact] of batch.entries())
              if (results[index]?.kind !== 'consumed') await fanOut(db, fact, new Date());
          });
          await Promise.all(relays);
          isOver = true;
          for (const [index, reader] of readers.entries()) {
            const ids = await reader;
            expect(new Set(ids).size, 'an event was listed twice').to.equal(ids.length);
            const expected = facts.flat().filter(({ clubId }) => clubId === scenes[index]?.clubId);
            expect(ids).to.include.members(expected.map(({ id }) => id));
          }
        }),
        { numRuns: 15 },
      );
    });
  });

  it('makes a fan-out wait for the commit of an earlier position of the club, but not of other clubs', async () => {
    const { db } = await testDeps();
    const [scene, other] = [await buildScene(), await buildScene()];
    const [first, second, foreign] = [factOf(scene, 0), factOf(scene, 1), factOf(other, 0)];
    let waiting: Promise<unknown> | undefined;
    await withOpenTransaction(
      (tx) => insertEvents(tx, [{ fact: first, body: JSON.stringify({ id: first.id }), deliveries: [] }], new Date()),
      async () => {
        waiting = fanOut(db, second, new Date());
        await untilWaitingForLocks(1);
        await fanOut(db, foreign, new Date());
        expect((await pageOf(scene.clubId)).data).to.deep.equal([]);
        expect((await pageOf(other.clubId)).data.map(({ id }) => id)).to.deep.equal([foreign.id]);
      },
    );
    await waiting;
    expect((await pageOf(scene.clubId)).data.map(({ id }) => id)).to.deep.equal([first.id, second.id]);
  });
});
