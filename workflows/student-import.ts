/** One import of students, from the upload of its file to the file's removal: a batch of rows after another. */
import {
  condition,
  continueAsNew,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { StudentImportActivities } from '../activities/student-import.ts';
import { lookAgain } from './loop.ts';

const { importRows } = proxyActivities<StudentImportActivities>({
  startToCloseTimeout: '1m', // a batch takes a second or two; one that takes longer is repeated, which does no harm
  heartbeatTimeout: '10s', // the step beats every 2.5 s: the death of its worker is noticed so soon, not after the minute
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1m' }, // for ever: a bad row is a result, only our own faults throw
});

/** Steps a run: with 500 rows each, most files are done in one run, and no history grows long. */
const mostSteps = 500;

/** Never wait for less: a row that is due by another clock's reading must not make the loop spin. */
const shortestWaitMs = 1_000;

/** The loop of `loop.ts`, without its second of rest: after a batch the next one is due at once. */
export async function studentImport(importId: string): Promise<string> {
  let dirty = false;
  setHandler(lookAgain, () => {
    dirty = true;
  });
  for (let steps = 1; ; steps++) {
    dirty = false; // before the step, never after: a signal that arrives during it must not be lost
    const next = await importRows(importId, Date.now());
    if (next.done && !dirty) return next.outcome;
    if (!next.done) {
      const progress = `${next.status}: ${next.rowsDone} of about ${next.rowsTotal ?? '?'} rows`;
      setCurrentDetails(progress);
      if (next.at !== undefined) {
        const wait = Math.max(shortestWaitMs, next.at - Date.now());
        await condition(() => dirty, wait, { summary: 'the end of the upload' });
      }
    }
    if (steps === mostSteps || workflowInfo().continueAsNewSuggested)
      await continueAsNew<typeof studentImport>(importId);
  }
}
