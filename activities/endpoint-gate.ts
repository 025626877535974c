/** The activities of `endpoint-gate/<id>`. */
import { tendGate, type GatePlatform } from '../domain/webhooks/endpoints/gate.ts';
import { timeOfStep } from './clock.ts';

export type EndpointGateActivities = ReturnType<typeof endpointGateActivities>;

export function endpointGateActivities(platform: GatePlatform) {
  return {
    /** Takes the gate one step further. @param now the workflow's time in Unix milliseconds */
    tendGate: (endpointId: string, now: number) => tendGate(platform, endpointId, timeOfStep(now)),
  };
}
