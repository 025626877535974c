/** Selects the activities that a worker registers on a task queue: the activities of the workflow types that use this queue. */
import { activities, type ActivityDeps } from '../../activities/index.ts';
import { workflowTypeNames, workflowTypes, type TaskQueue } from '../../platform/engine/workflow-types.ts';
import type * as workflows from '../../workflows/index.ts';
import { scheduledTypes, schedules } from '../temporal/schedules.ts';

export function activitiesOn(queue: TaskQueue, deps: ActivityDeps): object {
  // This declaration compiles only if workflows/index.ts exports every workflow type of the table and of the schedules.
  const types: readonly (keyof typeof workflows)[] = [
    ...workflowTypeNames.filter((type) =>
      [workflowTypes[type].taskQueue, workflowTypes[type].bulkTaskQueue].includes(queue),
    ),
    ...scheduledTypes.filter((type) => schedules[type].action.taskQueue === queue),
  ];
  return Object.assign({}, ...types.map((type) => activities[type](deps))) as object;
}
