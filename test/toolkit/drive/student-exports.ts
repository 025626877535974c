/** Exports students in tests: requests an export through the API, and runs its steps without a workflow. */
import { tmpdir } from 'node:os';
import type { RecordOf } from '../../../contract/contract.ts';
import { studentExporters } from '../../../domain/contexts.ts';
import { scratchOnDisk } from '../../../domain/exports/students/scratch.ts';
import {
  exportStudent,
  type StudentExportDeps,
  type StudentExportStep,
} from '../../../domain/exports/students/step.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { freeBytes } from '../../../platform/infra/programs/work-directory.ts';
import { testDeps } from '../stack/database.ts';
import { testObjectStore } from '../stack/storage.ts';
import { clock } from './api.ts';

export type ExportedStudentDocument = RecordOf<'StudentExport'>;

export async function studentExportDeps(changes: Partial<StudentExportDeps> = {}): Promise<StudentExportDeps> {
  return {
    ...(await testDeps()),
    storage: await testObjectStore(),
    exporters: studentExporters,
    inScratch: scratchOnDisk(tmpdir(), freeBytes),
    onFault(error) {
      throw error;
    },
    onOutcome() {},
    failpoint: async () => {},
    ...changes,
  };
}

/** Acts as a worker that is not stopping. @param now the API's clock if absent */
export async function stepStudentExport(
  exportId: Id,
  deps?: StudentExportDeps,
  now = clock.now(),
): Promise<StudentExportStep> {
  const watcher = { beat() {}, stop: new AbortController().signal };
  return exportStudent(deps ?? (await studentExportDeps()), exportId, now.getTime(), watcher);
}
