/** Transactions: the unit in which state, facts and wakes are written together. */
import { setTimeout as pause } from 'node:timers/promises';
import { DatabaseError } from 'pg';
import { QueryFailedError, type DataSource, type EntityManager } from 'typeorm';

/** A transaction in progress; every write of the domain happens in one. */
export type Transaction = EntityManager;

/** Postgres, and the bell that tells the relay to look: what the domain needs of the process that it runs in. */
export interface Database {
  source: DataSource;
  bell: Bell;
}

export interface Bell {
  /** Tells every relay that facts or wakes were committed. Losing a ring costs a relay's poll interval, nothing else. */
  ring(): void;
}

/** Postgres found two transactions in each other's way and ended ours: nothing was written, doing it again is right. */
const passingConflicts = new Set(['40001', '40P01']);
const mostTries = 3;

/** What the work had looked at without a lock is otherwise under the lock: nothing is to be written, doing it again is right. */
export class LookedTooEarly extends Error {
  override name = 'LookedTooEarly';
  code = 'looked_too_early';
}

/** Bounds of the pause before a repetition, in milliseconds: as long as a transaction takes, give or take. */
const repetitionPause = { leastMs: 5, mostMs: 50 } as const;

/**
 * @param random from 0 to 1: two who were in each other's way must not come back together
 * @returns milliseconds before a transaction is tried again
 */
export function pauseBeforeRepetition(random: number): number {
  const { leastMs, mostMs } = repetitionPause;
  return leastMs + random * (mostMs - leastMs);
}

/**
 * Runs `work` in one transaction, again (up to three times, after a short pause) if Postgres ended it for a passing conflict
 * or it has looked too early, and rings the bell after the commit if the work left something for the relay. After, never
 * inside: a NOTIFY inside makes commits queue behind one another (ENG-14).
 */
export async function inTransaction<T>(database: Database, work: (tx: Transaction) => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      let ring = false;
      const result = await database.source.transaction(async (tx) => {
        const value = await work(tx);
        ring = waiting.has(tx);
        return value;
      });
      if (ring) database.bell.ring();
      return result;
    } catch (error) {
      if (tries === mostTries || !isPassing(error)) throw error;
      await pause(pauseBeforeRepetition(Math.random()));
    }
  }
}

function isPassing(error: unknown): boolean {
  return error instanceof LookedTooEarly || passingConflicts.has(sqlStateOf(error) ?? '');
}

const waiting = new WeakSet<Transaction>();

/** Notes that this transaction leaves something for the relay. */
export function ringAfterCommit(tx: Transaction): void {
  waiting.add(tx);
}

/** @returns the five-character SQLSTATE of a failed statement, or undefined for any other error */
export function sqlStateOf(error: unknown): string | undefined {
  return refusalOf(error)?.code;
}

/** @returns whether the statement failed because of this unique constraint or index */
export function violates(error: unknown, constraint: string): boolean {
  const refusal = refusalOf(error);
  return refusal?.code === '23505' && refusal.constraint === constraint;
}

/** What Postgres answered, whether TypeORM has wrapped it or the driver itself threw it. */
function refusalOf(error: unknown): DatabaseError | undefined {
  const cause = error instanceof QueryFailedError ? error.driverError : error;
  return cause instanceof DatabaseError ? cause : undefined;
}
