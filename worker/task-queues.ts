/** How much each queue's worker takes on at a time, in one process. */
import { availableParallelism } from 'node:os';
import { mediaPlaces } from '../domain/media/media.policy.ts';
import type { TaskQueue } from '../platform/engine/workflow-types.ts';
import { smtpConnections } from '../platform/infra/smtp.ts';

export const slots: Record<TaskQueue, { workflowTasks: number; activities: number }> = {
  webhooks: { workflowTasks: 128, activities: 600 }, // an attempt mostly waits for its receiver: sixty that hang for 15 s hold some 200
  mail: { workflowTasks: 10, activities: smtpConnections }, // none waits for a connection while its lease runs
  'bulk-mail': { workflowTasks: 4, activities: smtpConnections }, // a pool of its own: bulk never holds a connection that a code waits for
  campaigns: { workflowTasks: 10, activities: 4 }, // each hands mails over on the connections that campaigns and digests share
  automations: { workflowTasks: 40, activities: 20 }, // a step is a transaction or two; a few hand a mail over, which may take a minute
  sales: { workflowTasks: 10, activities: 10 }, // each step is one transaction; more would only wait for connections
  imports: { workflowTasks: 4, activities: 2 }, // a batch keeps Postgres busy: more at a time would only make others wait
  billing: { workflowTasks: 4, activities: 4 },
  domains: { workflowTasks: 4, activities: 8 }, // a check mostly waits for name servers; those that hang hold nothing else
  agents: { workflowTasks: 16, activities: 200 }, // an answer mostly waits for the model's words: so many are written at a time
  indexing: { workflowTasks: 4, activities: 2 }, // a file keeps a core busy: more at a time would only make answers wait
  media: { workflowTasks: 10, activities: mediaPlaces(availableParallelism()) }, // files keep cores busy: more at a time would only make answers wait
  moves: { workflowTasks: 4, activities: 4 }, // a move waits for the store, which copies the file
  upkeep: { workflowTasks: 4, activities: 2 },
};

/** Waiting runs in memory, some 0.3 MB each; the others are replayed from their histories when they continue. */
export const cachedWorkflows = 400;
