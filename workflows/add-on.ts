/** One add-on, from its purchase until it is known whether it is paid. */
import type { AddOnActivities } from '../activities/add-on.ts';
import { inAbout } from '../platform/core/durations.policy.ts';
import { stepWorkflow } from './step-workflow.ts';

export const addOn = stepWorkflow<AddOnActivities, 'settle'>(
  'settle',
  { startToCloseTimeout: '70s' }, // beyond the lease's 60 s: a retry then finds the lease expired
  { waitingFor: ({ attempt, at }) => `attempt ${attempt} ${inAbout(at - Date.now())}` },
);
