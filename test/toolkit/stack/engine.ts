/** Runs the whole delivery engine for tests: worker processes, their Temporal, and receivers. */
import type { Client, WorkflowHandle } from '@temporalio/client';
import { workflowIdOf } from '../../../platform/engine/workflow-types.ts';
import { useDeliveries, type Delivering } from './receivers.ts';
import { useTemporal, useWorker, useWorkerProcesses } from './worker.ts';

interface Engine {
  /** Starts a worker process and waits until it is ready; see {@link useWorkerProcesses}. */
  startWorker: ReturnType<typeof useWorkerProcesses>;
  /** Starts the worker in this process, for tests that kill no process; see {@link useWorker}. */
  startWorkerHere: ReturnType<typeof useWorker>;
  temporal(): Client;
  /** A receiver that is stopped after the tests. It answers with 200 by default. */
  receiver: Delivering['receiver'];
  runOf(deliveryId: string): WorkflowHandle;
}

/** Call this function in a `describe`, and use the returned functions inside the tests. */
export function useEngine(): Engine {
  const startWorker = useWorkerProcesses('webhooks');
  const temporal = useTemporal();
  const delivering = useDeliveries(); // The receivers stop before the worker, because the worker waits until attempts in flight have ended.
  const startWorkerHere = useWorker();
  return {
    startWorker,
    startWorkerHere,
    temporal,
    receiver: (respond, options) => delivering().receiver(respond, options),
    runOf: (deliveryId) => temporal().workflow.getHandle(workflowIdOf('webhookDelivery', deliveryId)),
  };
}
