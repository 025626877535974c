/** The scenario of exports of students: workers die during the steps, the store is away, and students are removed meanwhile. */
import { studentExporters } from '../../../../domain/contexts.ts';
import { requestExport } from '../../../../domain/exports/students/exports.ts';
import { retainExports } from '../../../../domain/exports/students/removal.ts';
import type { InScratch } from '../../../../domain/exports/students/scratch.ts';
import { eraseLeftovers } from '../../../../domain/media/erasure/leftovers.ts';
import { removeStudent } from '../../../../domain/students/students.ts';
import type { Id } from '../../../../platform/core/ids.ts';
import type { Simulation } from '../simulation.ts';
import { mustHold, type Command, type Stage } from '../stage.ts';
import { addClub, addStudents, type Footing } from './ground.ts';
import { simulatedStore } from './store.ts';

const day = 86_400_000;

export async function studentExports(sim: Simulation, ground: Footing): Promise<Stage> {
  const { vault } = ground;
  const now = () => new Date(sim.time.now);
  const store = simulatedStore(sim);
  const clubId = await addClub(sim, ground);
  const students = await addStudents(sim, ground, clubId, 4);
  const removed = new Set<Id>();

  const request = (studentId: Id): Command => ({
    label: `export ${studentId}`,
    async run() {
      await requestExport({ db: sim.db }, { clubId, studentId }, { kind: 'student', id: studentId }, now());
    },
  });

  const remove = (studentId: Id): Command => ({
    label: `remove ${studentId}`,
    async run() {
      await removeStudent({ db: sim.db, vault }, clubId, studentId, now());
      removed.add(studentId);
    },
  });

  const upkeep: Command = {
    label: 'upkeep',
    async run() {
      await retainExports(sim.db, now());
      await eraseLeftovers({ db: sim.db, storage: store.storage }, now());
    },
  };

  return {
    types: ['studentExport'],
    horizonMs: 4 * 3_600_000,
    depsFor: (db) => ({
      studentExports: {
        db,
        storage: store.storage,
        exporters: studentExporters,
        inScratch: scratchInMemory,
        onFault() {},
        onOutcome() {},
        failpoint: () => Promise.resolve(),
      },
    }),
    command(decisions) {
      const which = decisions.choose(12);
      if (which < 6) return request(decisions.pick(students));
      if (which < 8) return remove(decisions.pick(students));
      if (which === 8) return upkeep;
      return store.turn((['answers', 'is slow', 'is away'] as const)[which - 9] ?? 'answers');
    },
    calm: () => [store.turn('answers'), upkeep],
    async atEnd() {
      const open = await sim.postgres.ask<{ id: Id }>('SELECT id FROM student_exports WHERE looks_at IS NOT NULL');
      mustHold(open.length === 0, 'all work ends', () => `export ${open[0]?.id} has not ended`);
      const later = new Date(sim.time.now + day);
      while ((await eraseLeftovers({ db: sim.db, storage: store.storage }, later)).more);
      await eraseLeftovers({ db: sim.db, storage: store.storage }, new Date(later.getTime() + day));
      const ready = await sim.postgres.ask<{ key: string }>(
        `SELECT 'exports/' || club_id || '/' || student_id || '/' || id || '-' || file_fence || '.zip' AS key
           FROM student_exports WHERE status = 'ready'`,
      );
      const expected = ready.map(({ key }) => key).toSorted();
      const objects = [...store.objects.keys()].toSorted();
      mustHold(
        JSON.stringify(objects) === JSON.stringify(expected),
        'every ready export has its file, and nothing else remains',
        () => `objects ${objects.join(', ')}; ready ${expected.join(', ')}`,
      );
      for (const id of removed)
        mustHold(
          !objects.some((key) => key.includes(id)),
          'no data of removed students remain',
          () => `a file of ${id} remains`,
        );
    },
  };
}

/** The scratch of a process in the simulation, which has no disk. */
const scratchInMemory: InScratch = async (work) => {
  const pieces: Buffer[] = [];
  return work({
    async write(source) {
      for await (const piece of source) pieces.push(piece);
    },
    async *read() {
      yield* pieces;
    },
  });
};
