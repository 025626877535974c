/** The answers of the context `webhooks` to the questions that concern every context (domain/questions.ts). */
import type { ContextQuestions } from '../questions.ts';
import { startMissingLogs } from './endpoints/event-log.ts';
import { endListenersOf, removeDeadListeners } from './listeners/listeners.ts';
import { retainWebhooks } from './retention.ts';
import { purgeStudentFromWebhooks } from './student-removal.ts';

export const webhooksParts = {
  closeClub: null,
  eraseStudent: (tx, { studentId }, now) => purgeStudentFromWebhooks(tx, studentId, now),
  exportStudent: null,
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
  endMembership: (tx, member) => endListenersOf(tx, member),
} satisfies ContextQuestions;
