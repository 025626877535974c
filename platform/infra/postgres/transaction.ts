/** The way of writing transactions before `database.ts`, for callers that are not converted yet. */
import type { Database, Transaction } from './database.ts';

export { Database, LookedTooEarly, Transaction, type Queries } from './database.ts';
export { sqlStateOf, violates } from './errors.ts';

export function inTransaction<T>(database: Database, work: (tx: Transaction) => Promise<T>): Promise<T> {
  return database.transaction(work);
}

export function ringAfterCommit(tx: Transaction): void {
  tx.notifyRelay();
}
