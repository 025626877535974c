/** Counts the Postgres connections that a step uses toward the share of its club (ENG-17). */
import type { Context } from '@temporalio/activity';
import type { ActivityInterceptors } from '@temporalio/worker';
import { forClub } from '../../platform/infra/postgres/shared-pool.ts';

/** The fairness key of a run is its club (ENG-9). Runs that a schedule starts have no club. */
export function stepsForClubs({ info }: { info: Pick<Context['info'], 'priority'> }): ActivityInterceptors {
  const clubId = info.priority?.fairnessKey;
  return {
    inbound: { execute: (input, next) => (clubId === undefined ? next(input) : forClub(clubId, () => next(input))) },
  };
}
