/** The activity of `retention`. */
import type { Database } from '../domain/core/database.ts';
import { retain } from '../domain/webhooks/retention.ts';

export type RetentionActivities = ReturnType<typeof retentionActivities>;

export function retentionActivities(database: Database) {
  return {
    /** @param now the workflow's time in Unix milliseconds @returns what one batch of each kind came to */
    retain: (now: number) => retain(database, new Date(now)),
  };
}
