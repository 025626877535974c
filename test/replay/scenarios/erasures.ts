/** Erasures of students: an erasure without files and receivers, and an erasure that waits until a file is erased. */
import type { WorkflowHandle } from '@temporalio/client';
import { eraseDue } from '../../../domain/media/erasure/erasure.ts';
import { removeStudent } from '../../../domain/students/students.ts';
import { Fact } from '../../../entities/facts/fact.ts';
import { buildClub, buildStudent } from '../../toolkit/builders/clubs.ts';
import { buildMedia } from '../../toolkit/builders/media.ts';
import { until } from '../../toolkit/drive/until.ts';
import { testDeps } from '../../toolkit/stack/database.ts';
import { testObjectStore } from '../../toolkit/stack/storage.ts';
import type { Recorder, Scenarios } from '../recorder.ts';

async function removed({ skipped }: Recorder, { file }: { file: boolean }): Promise<WorkflowHandle> {
  const deps = await testDeps();
  const { id: clubId } = await buildClub();
  const { id: studentId } = await buildStudent(clubId);
  if (file) await buildMedia(clubId, { studentId, bytes: 'a picture', mime: 'image/png' });
  const now = await skipped.now();
  await removeStudent(deps, clubId, studentId, now);
  await deps.db.manager.delete(Fact, { clubId, studentId }); // the club has no endpoint
  const handle = await skipped.start('personErasure', 'upkeep', studentId);
  if (!file) return handle;
  await until('its first look', { timeoutMs: 10_000 }, async () => {
    const rows = await deps.db.source.query<unknown[]>(
      `SELECT 1 FROM erasures WHERE subject_id = $1 AND counts ? 'buckets'`,
      [studentId],
    );
    return rows.length > 0;
  });
  await eraseDue({ db: deps.db, storage: await testObjectStore() }, now);
  return handle;
}

export const erasureScenarios: Scenarios = {
  personErasure: {
    'nothing-remained': (recorder) => removed(recorder, { file: false }),
    'waited-for-a-file': (recorder) => removed(recorder, { file: true }),
  },
};
