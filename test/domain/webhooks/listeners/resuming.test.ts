/** A listener that is cut at any moment and resumes gets each event exactly once, in whatever order fan-outs commit (LSN-3). */
import { expect } from 'chai';
import * as fc from 'fast-check';
import { fanOut, fanOutFacts } from '../../../../domain/webhooks/events/fan-out.ts';
import { createListeners } from '../../../../domain/webhooks/listeners/listeners.ts';
import { createLogWatch } from '../../../../domain/webhooks/listeners/log-watch.ts';
import { openEventStream, type EventStreamDeps } from '../../../../domain/webhooks/listeners/stream.ts';
import { newId, type Id } from '../../../../platform/core/ids.ts';
import { sql } from '../../../../platform/infra/postgres/sql.ts';
import { buildClub, buildStudent } from '../../../toolkit/builders/clubs.ts';
import { factAbout } from '../../../toolkit/builders/webhooks.ts';
import { testDeps } from '../../../toolkit/stack/database.ts';

interface Scene {
  clubId: Id;
  studentIds: readonly Id[];
  caller: { kind: 'administrator'; id: Id };
}

async function buildScene(): Promise<Scene> {
  const { id: clubId, owner } = await buildClub();
  const students = [await buildStudent(clubId), await buildStudent(clubId)];
  return { clubId, studentIds: students.map(({ id }) => id), caller: { kind: 'administrator', id: owner.id } };
}

const factOf = ({ clubId, studentIds }: Scene, student: number) => ({
  ...factAbout({ clubId, studentId: studentIds[student] ?? '' }, 'student.updated'),
  id: newId(),
  priority: 1 as const,
});

describe('a listener that is cut and resumes', function () {
  this.timeout(120_000);
  let deps: EventStreamDeps;
  before(async () => {
    const { db, vault } = await testDeps();
    await db.run(sql`CREATE FUNCTION commit_late() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN PERFORM pg_sleep(random() * 0.02); RETURN NULL; END $$`);
    await db.run(sql`CREATE CONSTRAINT TRIGGER commit_late AFTER INSERT ON webhook_events DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION commit_late()`);
    const onFailure = (error: unknown) => {
      throw error;
    };
    const clock = () => new Date();
    const listeners = createListeners({ db, clock, onFailure });
    deps = { db, vault, clock, silenceMs: 20, listeners, logWatch: createLogWatch({ db, onFailure }) };
  });
  after(async () => {
    await deps.logWatch.stop();
    await deps.listeners.stop();
    await deps.db.run(sql`DROP FUNCTION commit_late CASCADE`);
  });

  /**
   * Listens with cuts after the given numbers of blocks. After the last cut it listens until all these events were heard, and then for two
   * more blocks.
   * @returns the ids of the events
   */
  async function hear(
    { clubId, caller }: Scene,
    { cuts, lastEventId, expected }: { cuts: readonly number[]; lastEventId: string; expected: Promise<readonly Id[]> },
  ): Promise<Id[]> {
    const heard: Id[] = [];
    let awaitedIds: readonly Id[] | undefined;
    void expected.then((ids) => (awaitedIds = ids));
    let resumesAt = lastEventId;
    for (const cut of [...cuts, Infinity]) {
      const request = { clubId, caller, types: undefined, lastEventId: resumesAt };
      const open = await openEventStream(deps, request, new Date());
      const closing = new AbortController();
      let blocks = 0;
      let spare = 2;
      for await (const block of open(closing.signal)) {
        resumesAt = block.id;
        if ('event' in block && block.event !== 'started') heard.push((block.data as { id: Id }).id);
        blocks += 1;
        const isDone = awaitedIds?.every((id) => heard.includes(id)) === true;
        if (isDone) spare -= 1;
        if (blocks >= cut || spare < 0) break;
      }
    }
    return heard;
  }

  it('gets each event exactly once, in the order of the log', async () => {
    const scenes = [await buildScene(), await buildScene()];
    // Each inner list is the batch of one relay: the club and the student of each fact.
    const batches = fc.array(fc.array(fc.tuple(fc.nat(1), fc.nat(1)), { minLength: 1, maxLength: 4 }), {
      minLength: 3,
      maxLength: 8,
    });
    const cutLists = fc.array(fc.array(fc.integer({ min: 1, max: 5 }), { maxLength: 5 }), {
      minLength: 2,
      maxLength: 2,
    });
    await fc.assert(
      fc.asyncProperty(batches, cutLists, async (drawn, cuts) => {
        const facts = drawn.map((batch) =>
          batch.flatMap(([club, student]) => {
            const scene = scenes[club];
            return scene ? [factOf(scene, student)] : [];
          }),
        );
        const written = Promise.withResolvers<void>();
        const hearing = scenes.map(async (scene, index) => {
          const request = { clubId: scene.clubId, caller: scene.caller, types: undefined, lastEventId: undefined };
          const stream = (await openEventStream(deps, request, new Date()))(new AbortController().signal);
          const started = await stream.next();
          await stream.return(undefined);
          const ids = facts.flat().flatMap(({ id, clubId }) => (clubId === scene.clubId ? [id] : []));
          const expected = written.promise.then(() => ids);
          return {
            ids,
            heard: () => hear(scene, { cuts: cuts[index] ?? [], lastEventId: started.value?.id ?? '', expected }),
          };
        });
        const listeners = await Promise.all(hearing);
        const heard = listeners.map((listener) => listener.heard());
        // Two relays may have leased the same facts, and a batch that waits too long fails.
        await Promise.all(
          [...facts, ...facts.slice(0, 1)].map(async (batch) => {
            const results = await fanOutFacts(deps.db, batch, new Date()).catch(() => []);
            for (const [index, fact] of batch.entries())
              if (results[index]?.kind !== 'consumed') await fanOut(deps.db, fact, new Date());
          }),
        );
        written.resolve();
        for (const [index, { ids }] of listeners.entries()) {
          const logged = await deps.db.rows<{ id: Id }>(
            sql`SELECT event_id AS id FROM webhook_bodies WHERE event_id = ANY (${ids}) ORDER BY position`,
          );
          expect(await heard[index]).to.deep.equal(logged.map(({ id }) => id));
          expect(logged).to.have.length(ids.length);
        }
      }),
      { numRuns: 15 },
    );
    for (const { clubId } of scenes) {
      const rows = await deps.db.rows(sql`SELECT FROM webhook_listeners WHERE club_id = ${clubId}`);
      expect(rows).to.deep.equal([]);
    }
  });
});
