/** What surrounds each activity. */
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import type { Logger } from 'pino';
import type { Database } from '../platform/infra/postgres/database.ts';
import { stepsForClubs } from './activity-clubs.ts';
import { errorsAsCodes, faultsAsAnswers } from './activity-errors.ts';
import { stepsInSpans } from './traces.ts';

/** @returns the outermost first: what is logged of an error names its trace, and a fault is noted outside of the club's share of connections, which its step may have used up */
export function activityInterceptors(db: Database, log: Logger): ActivityInterceptorsFactory[] {
  return [stepsInSpans, errorsAsCodes(log), faultsAsAnswers(db, log), stepsForClubs];
}
