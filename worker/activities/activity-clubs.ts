/** Counts the Postgres connections that a step uses toward the share of its club (ENG-17). */
import type { Context } from '@temporalio/activity';
import type { ActivityInterceptors } from '@temporalio/worker';
import { forClub } from '../../platform/infra/postgres/shared-pool.ts';

/** The club is the fairness key of the run (ENG-9). Runs of schedules have no club. */
export function stepsForClubs({ info }: { info: Pick<Context['info'], 'priority'> }): ActivityInterceptors {
  const clubId = info.priority?.fairnessKey;
  return {
    inbound: { execute: (input, next) => (clubId === undefined ? next(input) : forClub(clubId, () => next(input))) },
  };
}
