/**
 * The scenario of exports of a club: steps are interrupted, exports are erased, students are removed, and the store executes requests late.
 */
import { crc32 } from 'node:zlib';
import { archiveKeyOf, exportPrefix } from '../../../../domain/exports/clubs/exports.policy.ts';
import { askForExport, eraseExport } from '../../../../domain/exports/clubs/exports.ts';
import { recordTypes } from '../../../../domain/exports/clubs/record-types.ts';
import { removeStudent } from '../../../../domain/students/students.ts';
import type { ClubExportProgress, ClubExportStatus } from '../../../../entities/exports/values.ts';
import { newId, type Id } from '../../../../platform/core/ids.ts';
import type { Decisions } from '../decisions.ts';
import type { Simulation } from '../simulation.ts';
import { mustHold, type Command, type Stage } from '../stage.ts';
import { addClub, addressOf, addStudents, searchForTraces, type Footing } from './ground.ts';
import { simulatedStore } from './store.ts';

interface ExportedRow {
  id: Id;
  clubId: Id;
  status: ClubExportStatus;
  progress: ClubExportProgress;
  looksAt: Date | null;
  bytes: string | null;
}

/** A few types suffice, because the engine does not depend on their number. */
const types = recordTypes.filter(({ name }) => ['Club', 'Student', 'Standing', 'Tag'].includes(name));

export async function clubExports(sim: Simulation, ground: Footing): Promise<Stage> {
  const { vault } = ground;
  const clubId = await addClub(sim, ground);
  const students = await addStudents(sim, ground, clubId, 5);
  const store = simulatedStore(sim);
  const administratorId = newId();
  const removed = new Set<Id>();
  const now = () => new Date(sim.time.now);

  const ask: Command = {
    label: 'ask for an export',
    run: async () => void (await askForExport({ db: sim.db }, { clubId, administratorId }, now())),
  };
  const erase = (decisions: Decisions): Command => {
    const lot = decisions.choose(8);
    return {
      label: 'erase an export',
      async run() {
        const rows = await sim.postgres.ask<{ id: Id }>('SELECT id FROM club_exports ORDER BY id');
        const row = rows[lot % Math.max(1, rows.length)];
        if (row) await eraseExport({ db: sim.db }, { clubId, exportId: row.id }, now());
      },
    };
  };
  const remove = (studentId: Id): Command => ({
    label: `remove ${studentId}`,
    async run() {
      await removeStudent({ db: sim.db, vault }, clubId, studentId, now());
      removed.add(studentId);
    },
  });

  return {
    types: ['clubExport'],
    horizonMs: 10 * 86_400_000, // longer than an archive is kept
    depsFor: (db) => ({
      db,
      vault,
      storage: store.storage,
      mailDomains: {
        resolveText: async () => [],
        platformAddress: 'club@example.com',
        spfInclude: undefined,
        warmUps: { clubs: [], domains: [] },
      },
      failpoint: () => Promise.resolve(),
      exports: { publicUrl: 'https://api.test', classroomUrl: 'https://classroom.test', types, beginStep: twoPages },
    }),
    command(decisions) {
      const which = decisions.choose(8);
      if (which < 4) return ask;
      if (which < 6) return erase(decisions);
      return which === 6
        ? remove(decisions.pick(students))
        : store.turn(decisions.pick(['answers', 'is slow', 'is away']));
    },
    calm: () => [store.turn('answers')],
    async atEnd() {
      const rows = await sim.postgres.ask<ExportedRow>(
        `SELECT id, club_id AS "clubId", status, progress, looks_at AS "looksAt", archive_bytes AS bytes FROM club_exports`,
      );
      for (const row of rows) expectSettled(row);
      for (const id of removed) await expectErased(id);
    },
  };

  function expectSettled(row: ExportedRow): void {
    const { id, status, progress, looksAt, bytes } = row;
    mustHold(status !== 'pending' && status !== 'running', 'all work ends', () => `export ${id} is ${status}`);
    const keys = [...store.objects.keys()].filter((key) => key.startsWith(exportPrefix(row)));
    if (looksAt === null)
      return mustHold(
        keys.length === 0,
        'no object is left behind',
        () => `${keys[0]} is left of ${status} export ${id}`,
      );
    if (status !== 'ready') return;
    const archive = store.objects.get(archiveKeyOf(row, progress.archiveFence ?? 0));
    mustHold(archive?.length === Number(bytes), 'a ready archive exists', () => `export ${id} has no whole archive`);
    for (const { name, crc32: sum, bytes: size } of progress.types) {
      const at = archive?.indexOf(`records/${name}.jsonl`) ?? -1;
      const begin = at + `records/${name}.jsonl`.length;
      const content = archive?.subarray(begin, begin + size) ?? Buffer.alloc(0);
      mustHold(at >= 0 && crc32(content) === sum, 'an archive is consistent', () => `${name} of export ${id} differs`);
    }
  }

  async function expectErased(id: Id): Promise<void> {
    const mark = addressOf(id);
    const named = [...store.objects].filter(([, content]) => content.includes(mark)).map(([key]) => key);
    mustHold(named.length === 0, 'no data of removed students remain', () => `${id} stands in ${named[0]}`);
    await searchForTraces(sim, id);
  }
}

function twoPages(): () => boolean {
  let pages = 0;
  return () => ++pages >= 2;
}
