/** The scenario of a club that is erased beside another club, while facts, wakes, uploads, students and bulk jobs arrive. */
import { Readable } from 'node:stream';
import { contextsInLockOrder } from '../../../../domain/contexts.ts';
import { eraseClubRows } from '../../../../domain/erasures/clubs/rows.ts';
import { objectPrefixes } from '../../../../domain/erasures/clubs/objects.ts';
import type { ErasureCounts } from '../../../../entities/erasures/erasure.ts';
import { recordFact } from '../../../../platform/engine/facts.ts';
import { wake } from '../../../../platform/engine/wakes.ts';
import { newId, type Id } from '../../../../platform/core/ids.ts';
import type { Decisions } from '../decisions.ts';
import type { Simulation } from '../simulation.ts';
import { mustHold, type Command, type Stage } from '../stage.ts';
import { addClub, addStudents, type Footing } from './ground.ts';
import { simulatedStore } from './store.ts';

const minuteMs = 60_000;
const arrivalMs = 24 * 60 * minuteMs;
const clubRows = contextsInLockOrder.flatMap((context) => context.clubRows);
/** Uploads that were late by more than this would arrive after the last erasure of objects. */
const latenessMs = [2_000, 60_000, 20 * minuteMs];

export async function clubErasures(sim: Simulation, ground: Footing): Promise<Stage> {
  const { vault } = ground;
  const now = () => new Date(sim.time.now);
  const [clubId, other] = [await addClub(sim, ground), await addClub(sim, ground)];
  const students = await addStudents(sim, ground, clubId, 3);
  const others = await addStudents(sim, ground, other, 2);
  const tags = new Map<Id, Id>();
  for (const id of [clubId, other]) tags.set(id, await addTag(id));
  for (const id of students) await tag(id, clubId);
  for (const id of others) await tag(id, other);
  const store = simulatedStore(sim, latenessMs);
  store.place(`media/${clubId}/first`, Buffer.alloc(4));
  store.place(`media/${other}/first`, Buffer.alloc(4));
  store.place(`public/${clubId}/second`, Buffer.alloc(4));
  const erasureId = newId();
  const erasesAt = new Date(sim.time.now + sim.decisions.pick([0, 2_000, minuteMs]));
  await sim.postgres.ask(
    `INSERT INTO erasures (id, kind, subject_id, club_id, requested_at, erases_at, status, looks_at, reminded_at)
     VALUES ($1, 'club', $2, $2, $3, $4, 'planned', $4, $3)`,
    [erasureId, clubId, now(), erasesAt],
  );
  await sim.db.transaction((tx) => wake(tx, 'clubErasure', [{ subjectId: clubId, clubId }], now()));
  const rowsBefore = await rowsOf(other);

  async function addTag(id: Id): Promise<Id> {
    const tagId = newId();
    await sim.postgres.ask(
      `INSERT INTO tags (id, club_id, name, folded_name, created_at) VALUES ($1, $2, 'Sailors', 'sailors', $3)`,
      [tagId, id, now()],
    );
    return tagId;
  }

  function tag(studentId: Id, id: Id): Promise<unknown> {
    return sim.postgres.ask('INSERT INTO student_tags (student_id, tag_id, tagged_at) VALUES ($1, $2, $3)', [
      studentId,
      tags.get(id),
      now(),
    ]);
  }

  const readErasure = async () => {
    const [row] = await sim.postgres.ask<{ status: string; counts: ErasureCounts; closedAt: Date | null }>(
      `SELECT status, counts, closed_at AS "closedAt" FROM erasures WHERE id = $1`,
      [erasureId],
    );
    return row;
  };

  /** A request that began before the closing can still write until the rows are erased. */
  const canArrive = async () => ['planned', 'closing', 'rows'].includes((await readErasure())?.status ?? '');

  function arrival(decisions: Decisions): Command {
    const what = decisions.pick(['fact', 'student', 'wake', 'upload'] as const);
    return {
      label: `a ${what} arrives`,
      async run() {
        if (!(await canArrive())) return;
        if (what === 'fact') await arriveFact();
        if (what === 'student') await arriveStudent();
        if (what === 'wake') await arriveWake();
        if (what === 'upload') await arriveUpload();
      },
    };
  }

  const arriveFact = () =>
    sim.db.transaction((tx) =>
      recordFact(tx, { clubId, type: 'student.created', studentId: newId(), occurredAt: now() }),
    );

  /** A row that refers to the club is refused when the row of the club is gone. */
  async function arriveStudent(): Promise<void> {
    try {
      await addStudents(sim, ground, clubId, 1);
    } catch (error) {
      if ((error as { code?: string }).code !== '23503') throw error;
    }
  }

  const arriveWake = () => sim.db.transaction((tx) => wake(tx, 'bulkJob', [{ id: newId(), clubId }], now()));

  async function arriveUpload(): Promise<void> {
    const { closedAt } = (await readErasure()) ?? {};
    const until = (closedAt?.getTime() ?? sim.time.now) + 15 * minuteMs;
    await store.upload(until, `media/${clubId}/${newId()}`, Readable.from([Buffer.from('late')]));
  }

  return {
    types: ['clubErasure', 'bulkJob'],
    horizonMs: 3 * arrivalMs,
    leaseMs: 30_000,
    depsFor: (db) => ({
      db,
      vault,
      storage: store.storage,
      failpoint: () => Promise.resolve(),
      terminateRuns: (id) => sim.terminateRuns(id),
    }),
    command(decisions) {
      const which = decisions.choose(8);
      if (which < 5) return arrival(decisions);
      return store.turn((['answers', 'is slow', 'is away'] as const)[which - 5] ?? 'answers');
    },
    calm: () => [store.turn('answers')],
    async atEnd() {
      await expectCompleted();
      await expectNoRows();
      await expectOther();
      expectObjects();
      const runs = sim.runsOf(clubId);
      mustHold(runs.length === 0, 'no run of an erased club waits', () => runs.join(', '));
    },
  };

  async function expectCompleted(): Promise<void> {
    const erasure = await readErasure();
    mustHold(erasure?.status === 'completed', 'each erasure ends', () => `it is ${erasure?.status}`);
    const { tables = {} } = erasure?.counts ?? {};
    const isExact = tables['clubs'] === 1 && tables['tags'] === 1 && tables['student_tags'] === students.length;
    mustHold(isExact, 'the counts of an erasure are exact', () => JSON.stringify(tables));
    const added = (tables['students'] ?? 0) >= students.length;
    mustHold(added, 'the counts of an erasure are exact', () => JSON.stringify(tables));
  }

  async function expectNoRows(): Promise<void> {
    const { erased } = await eraseClubRows({ db: sim.db, clubRows }, { clubId, erasureId: null }, Infinity);
    mustHold(erased === 0, 'nothing of an erased club remains', () => `${erased} rows remained`);
  }

  async function expectOther(): Promise<void> {
    const rows = await rowsOf(other);
    mustHold(rows === rowsBefore, 'no other club is touched', () => `${rowsBefore} became ${rows}`);
  }

  function expectObjects(): void {
    const prefixes = objectPrefixes(clubId).map(({ prefix }) => prefix);
    const remaining = [...store.objects.keys()].filter((key) => prefixes.some((prefix) => key.startsWith(prefix)));
    mustHold(remaining.length === 0, 'nothing of an erased club remains', () => remaining.join(', '));
    mustHold(store.objects.has(`media/${other}/first`), 'no other club is touched', () => 'an object of another club');
  }

  async function rowsOf(id: Id): Promise<string> {
    const rows = await sim.postgres.ask(
      `SELECT 'club' AS of, row::text FROM clubs row WHERE id = $1 UNION ALL SELECT 'student', row::text FROM students row WHERE club_id = $1
        UNION ALL SELECT 'tag', row::text FROM tags row WHERE club_id = $1
        UNION ALL SELECT 'tagged', row::text FROM student_tags row WHERE student_id IN (SELECT id FROM students WHERE club_id = $1)
        ORDER BY 1, 2`,
      [id],
    );
    return JSON.stringify(rows);
  }
}
