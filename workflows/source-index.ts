/** A lesson or a file on its way into the index of agents: until its passages stand, it cannot be indexed, or it is gone. */
import { continueAsNew, proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { SourceIndexActivities } from '../activities/source-index.ts';
import { inAbout } from '../platform/core/durations.policy.ts';
import { lookAgainUntilDone } from './loop.ts';

const { indexSource } = proxyActivities<SourceIndexActivities>({
  startToCloseTimeout: '10m', // two minutes to read, and whatever the store and Postgres need for a large file
  heartbeatTimeout: '10s', // it says that it lives every 2.5 s: of a worker that died is heard so soon, when its lease is over too
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1m' }, // for ever: a fault is noted in the row and counted there; only Postgres away throws
});

export async function sourceIndex(sourceId: string): Promise<'ready' | 'failed' | 'gone'> {
  const step = async (now: number) => {
    setCurrentDetails('Indexing: the pending activity says how far it is');
    const next = await indexSource(sourceId, now);
    if (next.done) setCurrentDetails(ended(next));
    return next;
  };
  return lookAgainUntilDone(step, {
    waitingFor: ({ attempt, at }) => `attempt ${attempt} ${inAbout(at - Date.now())}`,
    startAfresh: () => continueAsNew<typeof sourceIndex>(sourceId),
  });
}

function ended({
  outcome,
  error,
  pages,
  passages,
}: {
  outcome: string;
  error?: string;
  pages?: number;
  passages?: number;
}): string {
  if (error !== undefined) return `${outcome}: ${error}`;
  if (passages === undefined) return outcome;
  return `${outcome}: ${pages === undefined ? '' : `${pages} pages, `}${passages} passages`;
}
