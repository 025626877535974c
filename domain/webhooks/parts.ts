/** The answers of the context `webhooks` to the questions that concern every context (domain/questions.ts). */
import type { ContextQuestions } from '../questions.ts';
import { startMissingLogs } from './endpoints/event-log.ts';
import { removeDeadListeners } from './listeners/listeners.ts';
import { retainWebhooks } from './retention.ts';
import { purgeStudentFromWebhooks } from './student-removal.ts';
import { exportWebhooks } from './student-export.ts';

export const webhooksParts = {
  closeClub: null,
  eraseStudent: (tx, { studentId }, now) => purgeStudentFromWebhooks(tx, studentId, now),
  exportStudent: exportWebhooks,
  changeEmail: null,
  clubRows: [],
  retention: [
    { run: ({ db }, now) => retainWebhooks(db, now) },
    { run: ({ db }, now) => removeDeadListeners(db, now) },
    {
      async run({ db }, now) {
        const { started, more } = await startMissingLogs(db, now);
        return { rows: { eventLogsStarted: started }, more };
      },
    },
  ],
} satisfies ContextQuestions;
