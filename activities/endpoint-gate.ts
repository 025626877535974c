/** The activities of `endpoint-gate/<id>`. */
import { tendGate, type GateDeps } from '../domain/webhooks/endpoints/gate.ts';
import { timeOfStep } from './clock.ts';

export type EndpointGateActivities = ReturnType<typeof endpointGateActivities>;

export function endpointGateActivities(deps: GateDeps) {
  return {
    /** Takes the gate one step further. @param now the workflow's time in Unix milliseconds */
    tendGate: (endpointId: string, now: number) => tendGate(deps, endpointId, timeOfStep(now)),
  };
}
