/** Which activities a worker offers on a task queue: those of the workflow types that run there. */
import { workflowTypeNames, workflowTypes, type TaskQueue } from '../platform/engine/workflow-types.ts';
import type * as workflows from '../workflows/index.ts';
import { scheduledTypes, schedules } from './schedules.ts';

/**
 * The activities of every workflow that workflows/index.ts exports. A type of the table or of a schedule that it does not
 * export, and one that it exports without activities here, fail to compile.
 */
export type Activities = Record<keyof typeof workflows, object>;

/** @returns the activities that the queue's worker registers */
export function activitiesOn(queue: TaskQueue, activities: Activities): object {
  const ofRows = workflowTypeNames
    .filter((type) => workflowTypes[type].taskQueue === queue)
    .map((type) => activities[type]);
  const ofSchedules = scheduledTypes
    .filter((type) => schedules[type].action.taskQueue === queue)
    .map((type) => activities[type]);
  return Object.assign({}, ...ofRows, ...ofSchedules) as object;
}
