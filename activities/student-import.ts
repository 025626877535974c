/** The activity of `student-import/<id>`. */
import { stepImport, type ImportPlatform } from '../domain/access/imports/step.ts';
import { timeOfStep } from './clock.ts';
import { heartbeating } from './heartbeat.ts';

export type StudentImportActivities = ReturnType<typeof studentImportActivities>;

export function studentImportActivities(platform: ImportPlatform) {
  return {
    /** Takes the import one step further. @param now the workflow's time in Unix milliseconds */
    importRows: (importId: string, now: number) => heartbeating(() => stepImport(platform, importId, timeOfStep(now))),
  };
}
