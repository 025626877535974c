/** The scenario of imports of students: files arrive late or never, batches are interrupted, and students are removed in between. */
import { Readable } from 'node:stream';
import { cancelImport } from '../../../../domain/access/imports/imports.ts';
import { forgetAddressesLate } from '../../../../domain/access/imports/removals.ts';
import { beginImport } from '../../../../domain/access/imports/upload.ts';
import { removeStudent } from '../../../../domain/students/students.ts';
import { newId, type Id } from '../../../../platform/core/ids.ts';
import type { ObjectStore } from '../../../../platform/infra/store/object-store.ts';
import type { Simulation } from '../simulation.ts';
import { mustHold, type Command, type Stage } from '../stage.ts';
import { addClub, addStudents, searchForTraces, type Footing } from './ground.ts';
import { simulatedStore } from './store.ts';

/** A person in a file. `studentId` is set if the person is a student from the beginning. */
interface Person {
  email: string;
  name: string;
  studentId?: Id;
}

interface ImportUpload {
  people: readonly Person[];
  /** Undefined until the schedule step of the commit is known. */
  committedStep?: number;
}

/**
 * The time limit for the body of an upload, and the delays of the store. After both, an upload does not count as abandoned yet.
 */
const bodyMs = 300_000;
const latenessMs = [2_000, 20_000, 60_000] as const;
/**
 * The content of a column that the import ignores. The column is so long that a piece of the file, and therefore a batch, has only two
 * rows.
 */
const padding = 'x'.repeat(50_000);

export async function imports(sim: Simulation, ground: Footing): Promise<Stage> {
  const { vault } = ground;
  const clubId = await addClub(sim, ground);
  await sim.postgres.ask(`INSERT INTO club_plans (club_id, plan, status) VALUES ($1, 'professional', 'active')`, [
    clubId,
  ]);
  const students = await addStudents(sim, ground, clubId, 3);
  const known = await sim.postgres.ask<Required<Person>>(
    'SELECT id AS "studentId", email, name FROM students ORDER BY id',
  );
  const strangers = [0, 1, 2, 3].map((number) => ({
    email: `newcomer-${number}@example.com`,
    name: `Newcomer ${number}`,
  }));
  const people: readonly Person[] = [...known, ...strangers];
  const store = simulatedStore(sim, latenessMs);
  const uploads = new Map<string, ImportUpload>();
  /** The schedule step at which each removal was answered. */
  const removed = new Map<Id, number>();
  const now = () => new Date(sim.time.now);

  function begin(chosen: readonly Person[]): Command {
    const file = `email,name,note\n${chosen.map(({ email, name }) => `${email},${name},${padding}\n`).join('')}`;
    return {
      label: `import of ${chosen.length} rows`,
      async run() {
        const upload: ImportUpload = { people: chosen };
        uploads.set(newId(), upload);
        const ends = sim.time.now + bodyMs;
        const storage: ObjectStore = {
          ...store.storage,
          put(key, _type, body) {
            upload.committedStep = sim.steps;
            uploads.set(key, upload);
            return store.putUntil(ends, key, body);
          },
        };
        const words = { deliveryIds: [], invite: false, fileName: `${chosen[0]?.name}.csv` };
        await beginImport({ db: sim.db, storage }, clubId, words, Readable.from([Buffer.from(file)]), now());
      },
    };
  }

  const cancel = (lot: number): Command => ({
    label: 'cancel an import',
    async run() {
      const rows = await sim.postgres.ask<{ id: Id }>('SELECT id FROM student_imports ORDER BY id');
      const row = rows[lot % Math.max(1, rows.length)];
      if (row) await cancelImport({ db: sim.db }, clubId, row.id, now());
    },
  });

  const remove = (studentId: Id): Command => ({
    label: `remove ${studentId}`,
    async run() {
      const at = sim.steps;
      await removeStudent({ db: sim.db, vault }, clubId, studentId, now());
      removed.set(studentId, at);
    },
  });

  return {
    types: ['studentImport'],
    horizonMs: 4 * 3_600_000,
    depsFor: (db) => ({ db, vault, storage: store.storage, failpoint: () => Promise.resolve() }),
    command(decisions) {
      const which = decisions.choose(12);
      if (which < 5) return begin(Array.from({ length: 1 + decisions.choose(6) }, () => decisions.pick(people)));
      if (which === 5) return cancel(decisions.choose(8));
      if (which < 9) return remove(decisions.pick(students));
      return store.turn((['answers', 'is slow', 'is away'] as const)[which - 9] ?? 'answers');
    },
    calm: () => [store.turn('answers')],
    async atEnd() {
      await expectEnded();
      await expectReports();
      await expectCounts();
      mustHold(
        store.objects.size === 0,
        'every object has a row',
        () => `remaining objects: ${[...store.objects.keys()].join(', ')}`,
      );
      await forgetAddressesLate(sim.db);
      const noted = await sim.postgres.ask('SELECT FROM student_import_addresses');
      mustHold(noted.length === 0, 'no data of removed students remain', () => 'their addresses are still noted');
      for (const [id, at] of removed) if (!mayComeAgain(id, at)) await searchForTraces(sim, id);
    },
  };

  /** Whether a file that arrives after the removal may create the person again. */
  function mayComeAgain(id: Id, at: number): boolean {
    return [...uploads.values()].some(
      ({ people: named, committedStep }) =>
        named.some(({ studentId }) => studentId === id) && (committedStep === undefined || committedStep >= at),
    );
  }

  async function expectEnded(): Promise<void> {
    const open = await sim.postgres.ask<{ id: Id; status: string }>(
      `SELECT id, status FROM student_imports WHERE looks_at IS NOT NULL OR completed_at IS NULL`,
    );
    mustHold(open.length === 0, 'all work ends', () => `import ${open[0]?.id} is ${open[0]?.status}`);
  }

  async function expectReports(): Promise<void> {
    const rows = await sim.postgres.ask<{
      id: Id;
      status: string;
      counted: number;
      reported: number;
      wrong: boolean;
    }>(`SELECT id, status, created_count + existing_count + failed_count AS counted,
               (SELECT count(*)::int FROM student_import_rows WHERE import_id = import.id) AS reported,
               (created_count, existing_count, failed_count) <>
                 (SELECT count(*) FILTER (WHERE outcome = 'created'), count(*) FILTER (WHERE outcome = 'existing'), count(*) FILTER (WHERE outcome = 'failed')
                    FROM student_import_rows WHERE import_id = import.id) AS wrong
          FROM student_imports import`);
    for (const { id, status, counted, reported, wrong } of rows) {
      const upload = uploads.get(`student-imports/${clubId}/${id}.csv`);
      mustHold(
        !wrong && counted === reported,
        'sums are equal',
        () => `import ${id}: ${counted} counted, ${reported} rows`,
      );
      mustHold(
        status !== 'completed' || reported === upload?.people.length,
        'each row is done once',
        () => `import ${id}: ${reported} of ${upload?.people.length} rows`,
      );
    }
  }

  async function expectCounts(): Promise<void> {
    const wrong = await sim.postgres.ask(
      `SELECT FROM (SELECT (SELECT coalesce(sum(students), 0) FROM club_student_counts) + (SELECT coalesce(sum(students), 0) FROM club_student_changes) AS counted,
                           (SELECT count(*) FROM students WHERE removed_at IS NULL) AS there) AS sides
        WHERE counted <> there`,
    );
    mustHold(wrong.length === 0, 'sums are equal', () => 'the count of students is not theirs');
    const facts = await sim.postgres.ask<{ email: string }>(
      `SELECT student.email FROM student_import_rows report JOIN students student ON student.id = report.student_id
        WHERE report.outcome = 'created' GROUP BY student.id HAVING count(*) > 1`,
    );
    mustHold(facts.length === 0, 'no effect happens twice', () => `${facts[0]?.email} was created twice`);
  }
}
