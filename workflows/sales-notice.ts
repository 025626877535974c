/** One notice of a sales platform, from its arrival until it is processed, ignored or failed. */
import type { SalesActivities } from '../activities/sales.ts';
import { inAbout } from '../platform/core/durations.policy.ts';
import { stepWorkflow } from './step-workflow.ts';

export const salesNotice = stepWorkflow<SalesActivities, 'processNotice'>(
  'processNotice',
  { startToCloseTimeout: '15s' }, // beyond the lease's 10 s: a retry then finds the lease expired
  { waitingFor: ({ attempt, at }) => `attempt ${attempt} ${inAbout(at - Date.now())}` },
);
