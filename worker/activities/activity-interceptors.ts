/** What surrounds each activity. */
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import type { Logger } from 'pino';
import type { Database } from '../../platform/infra/postgres/database.ts';
import { stepsForClubs } from './activity-clubs.ts';
import { errorsAsCodes, faultsAsAnswers } from './activity-errors.ts';
import { createSharedSlots, stepsWithinShares, type SharedSlots } from './club-shares.ts';
import { stepsInSpans } from './activity-traces.ts';

/**
 * @param shared of this process; others in tests
 * @returns the outermost first. The span comes first, so that log lines of errors name its trace. Faults are noted outside the club's
 *   share of connections, which the step may have used up
 */
export function activityInterceptors(
  db: Database,
  log: Logger,
  shared: SharedSlots = createSharedSlots(),
): ActivityInterceptorsFactory[] {
  return [stepsInSpans, errorsAsCodes(log), faultsAsAnswers(db, log), stepsForClubs, stepsWithinShares(db, shared)];
}
