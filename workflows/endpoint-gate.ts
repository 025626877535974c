/** The gate of one endpoint, only while it is throttled, paused or has parked deliveries. */
import type { EndpointGateActivities } from '../activities/endpoint-gate.ts';
import { inAbout } from '../platform/core/durations.policy.ts';
import { stepWorkflow } from './step-workflow.ts';

const waits = {
  paused: () => 'the endpoint to be enabled again',
  holding: (in_: string) => `the end of the circuit breaker's wait ${in_}`,
  probing: () => 'the attempt that was let through',
  idle: () => 'a delivery to try: throttled, and none is due',
  releasing: () => 'the next page to release',
  recovering: () => 'recovered deliveries, a few at a time',
  canceling: () => 'the rest of the queue to be canceled',
} as const;

export const endpointGate = stepWorkflow<EndpointGateActivities, 'tendGate'>(
  'tendGate',
  { startToCloseTimeout: '30s' }, // one transaction of a few statements; Postgres itself ends a statement after 30 s
  {
    waitingFor: ({ doing, at, parked, givenUpAt }) =>
      [
        waits[doing](inAbout(at - Date.now())),
        `${parked} parked`,
        ...(givenUpAt === undefined ? [] : [`given up as failing ${inAbout(givenUpAt - Date.now())}`]),
      ].join('; '),
  },
);
