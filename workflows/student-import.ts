/** One import of students, from the upload of its file to the file's removal: one batch of rows after another. */
import type { StudentImportActivities } from '../activities/student-import.ts';
import { stepWorkflow } from './step-workflow.ts';

export const studentImport = stepWorkflow<StudentImportActivities, 'importRows'>(
  'importRows',
  {
    startToCloseTimeout: '1m', // a batch takes a second or two; repeating one that takes longer does no harm
    heartbeatTimeout: '10s', // the step beats every 2.5 s: the death of its worker is noticed so soon, not after the minute
  },
  {
    waitingFor: ({ at, status, rowsDone, rowsTotal }) =>
      at === undefined ? `${status}: ${rowsDone} of about ${rowsTotal ?? '?'} rows` : 'the end of the upload',
  },
);
