/** Lists the interceptors that run around each activity. */
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import type { Logger } from 'pino';
import type { Database } from '../../platform/infra/postgres/database.ts';
import { stepsForClubs } from './activity-clubs.ts';
import { errorsAsCodes, faultsAsAnswers } from './activity-errors.ts';
import { createSharedSlots, stepsWithinShares, type SharedSlots } from './club-shares.ts';
import { stepsInSpans } from './activity-traces.ts';

/**
 * @returns the interceptors, the outermost first. The interceptor of spans is the outermost, so that the log lines of errors name the
 * trace. The interceptor that records faults runs outside the club's share of connections, because the failed step may use the whole share.
 */
export function activityInterceptors(
  db: Database,
  log: Logger,
  shared: SharedSlots = createSharedSlots(),
): ActivityInterceptorsFactory[] {
  return [stepsInSpans, errorsAsCodes(log), faultsAsAnswers(db, log), stepsForClubs, stepsWithinShares(db, shared)];
}
