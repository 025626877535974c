/** One transactional mail, from the act that asked for it until it is sent or given up. */
import type { TransactionalMailActivities } from '../activities/transactional-mail.ts';
import { inAbout } from '../platform/core/durations.policy.ts';
import { stepWorkflow } from './step-workflow.ts';

export const transactionalMail = stepWorkflow<TransactionalMailActivities, 'sendMail'>(
  'sendMail',
  { startToCloseTimeout: '70s' }, // beyond the SMTP client's 45 s and the lease's 60 s: a retry then finds the lease expired
  { waitingFor: ({ attempt, at }) => `attempt ${attempt} ${inAbout(at - Date.now())}` },
);
