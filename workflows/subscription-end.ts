/** The end of a canceled subscription's access, as recorded: an administrator may change it meanwhile. `open`: it has no end any more. */
import type { SalesActivities } from '../activities/sales.ts';
import { inAbout } from '../platform/core/durations.policy.ts';
import { stepWorkflow } from './step-workflow.ts';

export const subscriptionEnd = stepWorkflow<SalesActivities, 'lookAtSubscriptionEnd'>(
  'lookAtSubscriptionEnd',
  { startToCloseTimeout: '30s' }, // two short statements; Postgres itself ends a statement after 30 s
  { waitingFor: ({ at }) => `the end of the access ${inAbout(at - Date.now())}` },
);
