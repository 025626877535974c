/**
 * The scenario of removed students with files: the store is slow or away, while runs write markers, erase exports, and wait until the
 * files are gone.
 */
import { eraseDue } from '../../../../domain/media/erasure/erasure.ts';
import { removeStudent } from '../../../../domain/students/students.ts';
import { newId, type Id } from '../../../../platform/core/ids.ts';
import type { Simulation } from '../simulation.ts';
import { beginning, mustHold, type Command, type Stage } from '../stage.ts';
import { addClub, addStudents, type Footing } from './ground.ts';
import { simulatedStore } from './store.ts';

const dayMs = 86_400_000;

interface Followed {
  subjectId: Id;
  status: string;
  files: string | null;
}

export async function personErasures(sim: Simulation, ground: Footing): Promise<Stage> {
  const { vault } = ground;
  const now = () => new Date(sim.time.now);
  const clubId = await addClub(sim, ground);
  const students = await addStudents(sim, ground, clubId, 4);
  const store = simulatedStore(sim);
  const deps = { db: sim.db, storage: store.storage };
  const exportsOf = (studentId: Id) => `exports/${clubId}/${studentId}/`;
  for (const studentId of students.slice(1)) {
    await addPicture(studentId);
    store.place(`${exportsOf(studentId)}${newId()}.zip`, Buffer.alloc(10));
  }

  async function addPicture(studentId: Id): Promise<void> {
    const id = newId();
    const key = `media/${clubId}/${id}`;
    store.place(key, Buffer.alloc(100));
    await sim.postgres.ask(
      `INSERT INTO media (id, club_id, purpose, owner_id, kind, title, provider, status, file_name, mime, size_bytes, object_key, processed_at, created_at, updated_at)
       VALUES ($1, $2, 'post', $3, 'image', 'Me', 'objstore', 'ready', 'me.png', 'image/png', 100, $4, $5, $5, $5)`,
      [id, clubId, studentId, key, now()],
    );
  }

  const upkeep: Command = { label: 'upkeep erases files', run: async () => void (await eraseDue(deps, now())) };

  const remove = (studentId: Id): Command => ({
    label: `remove ${studentId}`,
    run: () => removeStudent({ db: sim.db, vault }, clubId, studentId, now()),
  });

  const readErasures = () =>
    sim.postgres.ask<Followed>(
      `SELECT subject_id AS "subjectId", status, counts->'buckets'->>'private' AS files FROM erasures`,
    );

  return {
    types: ['personErasure'],
    horizonMs: 4 * dayMs,
    depsFor: (db) => ({ db, storage: store.storage }),
    command(decisions) {
      const which = decisions.choose(12);
      if (which < 5) return upkeep;
      if (which < 9) return remove(decisions.pick(students));
      return store.turn((['answers', 'is slow', 'is away'] as const)[which - 9] ?? 'answers');
    },
    calm: () => [store.turn('answers'), upkeep, upkeep],
    async atRest() {
      for (const { subjectId, status } of await readErasures())
        if (status === 'completed') await expectNothingLeft(subjectId);
    },
    async atEnd() {
      for (const { subjectId, status, files } of await readErasures()) {
        mustHold(files !== null, 'files are counted', () => `the erasure of ${subjectId} has no count`);
        // A removal that ends after the last upkeep leaves its files to an upkeep that this schedule does not have.
        const rows = await sim.postgres.ask('SELECT FROM media WHERE owner_id = $1 AND object_key IS NOT NULL', [
          subjectId,
        ]);
        const isWaiting = status === 'objects' && rows.length > 0;
        mustHold(
          status === 'completed' || isWaiting,
          'all work ends',
          () => `the erasure of ${subjectId} is ${status}`,
        );
        if (!isWaiting) await expectNothingLeft(subjectId);
      }
      for (const object of store.objects.keys())
        if (object.startsWith('erasures/')) await expectRemoved(object.slice(-newId().length));
    },
  };

  async function expectNothingLeft(studentId: Id): Promise<void> {
    const marker = `erasures/${new Date(beginning).toISOString().slice(0, 8)}`;
    mustHold(
      [...store.objects.keys()].some((key) => key.startsWith(marker) && key.endsWith(`student-${clubId}-${studentId}`)),
      'each completed erasure has a marker',
      () => `no marker names ${studentId}`,
    );
    const rows = await sim.postgres.ask<{ key: string }>('SELECT object_key AS key FROM media WHERE owner_id = $1', [
      studentId,
    ]);
    const files = [...store.objects.keys()].filter(
      (object) => object.startsWith(exportsOf(studentId)) || rows.some(({ key }) => object === key),
    );
    mustHold(files.length === 0, 'no file of an erased person remains', () => files.join(', '));
  }

  async function expectRemoved(studentId: Id): Promise<void> {
    const rows = await sim.postgres.ask('SELECT FROM students WHERE id = $1 AND removed_at IS NULL', [studentId]);
    mustHold(rows.length === 0, 'a marker names a removed student', () => `${studentId} is a student`);
  }
}
