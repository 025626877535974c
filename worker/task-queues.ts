/** How much each queue's worker takes on at a time, in one process. */
import type { TaskQueue } from '../domain/facts/workflow-names.policy.ts';

export const slots: Record<TaskQueue, { workflowTasks: number; activities: number }> = {
  webhooks: { workflowTasks: 64, activities: 200 }, // an attempt mostly waits for its receiver, so many fit
  mail: { workflowTasks: 10, activities: 8 }, // twice the SMTP connections
  upkeep: { workflowTasks: 4, activities: 2 },
};
