/** The client of a simulated Temporal, on whose way calls and signals are lost, doubled or late. */
import { ServiceError } from '@temporalio/client';
import { workflowIdOf, type Run } from '../../../../platform/engine/workflow-types.ts';
import type { WorkflowClient } from '../../../../worker/temporal/workflow-client.ts';
import type { SimulatedProcess } from '../simulated-process.ts';
import type { SimulatedTemporal } from './server.ts';

interface Way {
  temporal: SimulatedTemporal;
  /** Who calls. */
  process: SimulatedProcess;
  /** A step of the schedule. */
  step: (label: string) => Promise<void>;
  say: (line: string) => void;
  /** Whether the schedule has this fault now. */
  has: (fault: 'away' | 'elsewhere' | 'lose' | 'delay' | 'double', oneIn: number) => boolean;
  /** Of a call that fails: whether it arrived. */
  arrives: () => boolean;
  onLost: () => void;
  /** @param isDouble the signal came in time, too */
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
}: Way): WorkflowClient {
  const call = async (label: string, arrive: () => void) => {
    await step(label);
    if (has('away', 15)) {
      const isThere = arrives();
      say(`  Temporal is away, ${isThere ? 'after' : 'before'} it`);
      if (isThere) arrive();
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
