/** The answers of the context `webhooks` to the questions that concern every context (domain/questions.ts). */
import { Student } from '../../entities/identity/student.ts';
import { WebhookAttempt } from '../../entities/webhooks/webhook-attempt.ts';
import { WebhookBody } from '../../entities/webhooks/webhook-body.ts';
import { WebhookDelivery } from '../../entities/webhooks/webhook-delivery.ts';
import { WebhookEndpoint } from '../../entities/webhooks/webhook-endpoint.ts';
import { WebhookEvent } from '../../entities/webhooks/webhook-event.ts';
import { WebhookListener } from '../../entities/webhooks/webhook-listener.ts';
import { WebhookTally } from '../../entities/webhooks/webhook-tally.ts';
import { WebhookTallyChange } from '../../entities/webhooks/webhook-tally-change.ts';
import type { ContextQuestions } from '../questions.ts';
import { closeWebhooks } from './closing.ts';
import { startMissingLogs } from './endpoints/event-log.ts';
import { endListenersOf, removeDeadListeners } from './listeners/listeners.ts';
import { retainWebhooks } from './retention.ts';
import { countOpenReceivers } from './removal-receivers.ts';
import { purgeStudentFromWebhooks } from './student-removal.ts';
import { exportWebhooks } from './student-export.ts';

export const webhooksParts = {
  closeClub: closeWebhooks,
  eraseStudent: (tx, { studentId }, now) => purgeStudentFromWebhooks(tx, studentId, now),
  exportStudent: exportWebhooks,
  remainsOfPerson: countOpenReceivers,
  changeEmail: null,
  clubRows: [
    { of: WebhookAttempt, by: { parent: WebhookDelivery, column: 'deliveryId' } },
    { of: WebhookBody, by: { parent: WebhookEvent, column: 'eventId' } },
    { of: WebhookDelivery, by: { parent: WebhookEndpoint, column: 'endpointId' }, refersTo: [WebhookEvent] },
    { of: WebhookEndpoint, by: 'club' },
    { of: WebhookEvent, by: { parent: Student, column: 'studentId' }, mayArrive: true },
    { of: WebhookEvent, by: { empty: 'studentId' } },
    { of: WebhookListener, by: 'club' },
    { of: WebhookTally, by: { parent: WebhookEndpoint, column: 'endpointId' } },
    { of: WebhookTallyChange, by: { parent: WebhookEndpoint, column: 'endpointId' }, refersTo: [WebhookTally] },
  ],
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
