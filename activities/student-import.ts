/** The activity of `student-import/<id>`. */
import { stepImport, type ImportDeps } from '../domain/access/imports/step.ts';
import { timeOfStep } from './clock.ts';
import { heartbeating } from './heartbeat.ts';

export type StudentImportActivities = ReturnType<typeof studentImportActivities>;

export function studentImportActivities(deps: ImportDeps) {
  return {
    /** Takes the import one step further. @param now the workflow's time in Unix milliseconds */
    importRows: (importId: string, now: number) => heartbeating(() => stepImport(deps, importId, timeOfStep(now))),
  };
}
