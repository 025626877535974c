/** The client of a simulated Temporal, which loses, doubles or delays calls and signals. */
import { ServiceError } from '@temporalio/client';
import { workflowIdOf, type Run } from '../../../../platform/engine/workflow-types.ts';
import type { WorkflowClient } from '../../../../worker/temporal/workflow-client.ts';
import type { SimulatedProcess } from '../simulated-process.ts';
import type { SimulatedTemporal } from './server.ts';

interface ClientSettings {
  temporal: SimulatedTemporal;
  /** The calling process. */
  process: SimulatedProcess;
  step: (label: string) => Promise<void>;
  say: (line: string) => void;
  /** Whether the schedule has this fault now. */
  has: (fault: 'away' | 'elsewhere' | 'lose' | 'delay' | 'double', oneIn: number) => boolean;
  /** Whether Temporal still receives a call that fails for the caller. */
  arrives: () => boolean;
  onLost: () => void;
  /** @param isDouble whether the signal has already arrived once in time */
  signalLater: (run: Run, isDouble: boolean) => void;
}

export function simulatedClient({
  temporal,
  process,
  step,
  say,
  has,
  arrives,
  onLost,
  signalLater,
}: ClientSettings): WorkflowClient {
  const call = async (label: string, arrive: () => void) => {
    await step(label);
    if (has('away', 15)) {
      const hasArrived = arrives();
      say(`  Temporal is away, ${hasArrived ? 'after' : 'before'} it`);
      if (hasArrived) arrive();
      throw engineAway();
    }
    arrive();
    await step(`${label} is answered`);
  };
  const signal = (run: Run) => {
    if (has('lose', 12)) {
      say('  and is lost');
      return onLost();
    }
    if (has('delay', 8)) {
      say('  and comes later');
      return signalLater(run, false);
    }
    temporal.signalWithStart(run);
    if (has('double', 8)) signalLater(run, true);
  };
  const idOf = (run: Run) => workflowIdOf(run.workflowType, run.subjectId);
  return {
    async start(run, extra) {
      const isEager = !has('elsewhere', 2);
      let isNew = false;
      await call(`start ${idOf(run)}`, () => {
        isNew = temporal.start(run, extra, isEager ? process : undefined);
      });
      if (!isNew) return 'before';
      return isEager ? 'here' : 'elsewhere';
    },
    signalWithStart: (run) => call(`signal ${idOf(run)}`, () => signal(run)),
    startOrSignal: (run) =>
      call(`start or signal ${idOf(run)}`, () => {
        if (!temporal.start(run)) signal(run);
      }),
  };
}

function engineAway(): Error {
  const cause = Object.assign(new Error('14 UNAVAILABLE'), { code: 14, details: 'UNAVAILABLE', metadata: {} });
  return new ServiceError('Failed to reach the server', { cause });
}
