/**
 * Limits a club's share of the slots of a queue with long steps (ENG-20). If a club already uses its whole share, a new step of the club
 * ends immediately and does no work. The slot is then free again, and the row of the step becomes due later.
 */
import type { Context } from '@temporalio/activity';
import type { ActivityInterceptors } from '@temporalio/worker';
import { timeOfStep } from '../../activities/step.ts';
import type { Id } from '../../platform/core/ids.ts';
import { createClubPermits, type ClubPermits } from '../../platform/engine/club-permits.ts';
import { putOffRow, type PutOffStep } from '../../platform/engine/put-off.ts';
import { workflowTypeNames, type TaskQueue } from '../../platform/engine/workflow-types.ts';
import type { Database } from '../../platform/infra/postgres/database.ts';
import { slots } from '../temporal/task-queues.ts';

export type SharedSlots = Partial<Record<TaskQueue, ClubPermits>>;

/**
 * Queues whose steps keep a core or a slot busy for seconds to hours. The other queues need no share: a club has only one import at a time,
 * and all other steps are short, or mostly wait on a queue with many slots.
 */
const sharedQueues = ['indexing', 'media', 'moves'] as const satisfies TaskQueue[];

/** @returns the permits for the slots of {@link sharedQueues}, by queue */
export function createSharedSlots(): SharedSlots {
  return Object.fromEntries(sharedQueues.map((queue) => [queue, createClubPermits(slots[queue].activities)]));
}

type StepContext = { info: Pick<Context['info'], 'priority' | 'taskQueue' | 'workflowType'> };

/** Runs a step only if its club still has a free slot in its share. The fairness key of a run is its club (ENG-9). */
export function stepsWithinShares(db: Database, shared: SharedSlots): (context: StepContext) => ActivityInterceptors {
  return ({ info }) => ({
    inbound: {
      async execute(input, next) {
        const permits = Object.entries(shared).find(([queue]) => queue === info.taskQueue)?.[1];
        const clubId = info.priority?.fairnessKey;
        const type = workflowTypeNames.find((known) => known === info.workflowType);
        if (!permits || clubId === undefined || type === undefined) return next(input);
        const release = permits.tryAcquire(clubId);
        if (!release) {
          const [subjectId, now] = input.args as [Id, number];
          const at = permits.retryAt(clubId, timeOfStep(now));
          await putOffRow(db, type, subjectId, new Date(at));
          return { done: false, at, putOff: 'share' } satisfies PutOffStep;
        }
        try {
          return await next(input);
        } finally {
          release();
        }
      },
    },
  });
}
