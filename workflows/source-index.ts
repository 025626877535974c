/** A lesson or a file on its way into the index of agents: until its passages stand, it cannot be indexed, or it is gone. */
import type { SourceIndexActivities } from '../activities/source-index.ts';
import { inAbout } from '../platform/core/durations.policy.ts';
import { stepWorkflow } from './step-workflow.ts';

export const sourceIndex = stepWorkflow<SourceIndexActivities, 'indexSource'>(
  'indexSource',
  {
    startToCloseTimeout: '10m', // two minutes to read, and the time of store and Postgres for a large file
    heartbeatTimeout: '10s', // it beats every 2.5 s: a dead worker is noticed so soon, when its lease is over too
  },
  {
    during: 'Indexing: the pending activity says how far it is',
    waitingFor: ({ attempt, at }) => `attempt ${attempt} ${inAbout(at - Date.now())}`,
    ended({ outcome, error, pages, passages }) {
      if (error !== undefined) return `${outcome}: ${error}`;
      if (passages === undefined) return outcome;
      return `${outcome}: ${pages === undefined ? '' : `${pages} pages, `}${passages} passages`;
    },
  },
);
