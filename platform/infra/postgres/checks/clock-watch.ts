/** Compares the clock of this process with the clock of Postgres, which all processes share (DEC-99). */
import pg from 'pg';
import type { Logger } from 'pino';
import { Gauge } from 'prom-client';
import type { DatabaseSettings } from '../../../../entities/data-source.ts';
import { StartProblem } from '../../../core/start-problem.ts';
import type { Queries } from '../database.ts';
import { raw } from '../sql.ts';

/** Receivers refuse a timestamp only at a difference of 5 minutes. The low limit also keeps the order of records correct. */
const toleratedMs = 60_000;
const askEveryMs = 30_000;

export const clockOffset = new Gauge({
  name: 'clock_offset_seconds',
  help: 'Seconds by which the clock of this process is ahead of Postgres’s (negative: behind), without the part that the duration of the query can explain.',
});

export interface ClockWatch {
  /** Whether the difference was at most 60 s at the last comparison. True before the first comparison. */
  isRight(): boolean;
  /** Asks Postgres now. */
  ask(): Promise<void>;
  stop(): void;
}

/** In Unix milliseconds. */
interface TimeOfPostgres {
  ms: number;
}
const timeQuestion = 'SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS ms';

/**
 * @param ask returns Postgres's time
 * @param clock in Unix milliseconds
 * @returns milliseconds by which this process is ahead, negative if behind; 0 if Postgres's time is between the request and the answer.
 * Postgres's time is rounded to milliseconds, because otherwise it could be later than an answer in the same millisecond.
 */
export async function clockOffsetMs(
  ask: () => Promise<TimeOfPostgres | undefined>,
  clock: () => number = () => Date.now(),
): Promise<number> {
  const before = clock();
  const answer = await ask();
  const after = clock();
  if (answer === undefined) return 0;
  const ms = Math.floor(answer.ms);
  return Math.max(0, before - ms) + Math.min(0, after - ms);
}

const isTolerated = (offsetMs: number): boolean => Math.abs(offsetMs) <= toleratedMs;

/** Returns a sentence for operators. */
function describeOffset(offsetMs: number): string {
  const seconds = Math.ceil(Math.abs(offsetMs) / 1_000);
  return `The clock of this process is ${seconds} s ${offsetMs > 0 ? 'ahead of' : 'behind'} Postgres's; at most 60 s are tolerated. Set both clocks, for example by NTP.`;
}

/**
 * Does not report an unreachable Postgres, because `openDatabase` does.
 * @throws StartProblem if the clocks are more than 60 s apart (DEC-99)
 */
export async function checkClock({ url, connectWithinMs }: DatabaseSettings): Promise<void> {
  const client = new pg.Client({ connectionString: url.reveal(), connectionTimeoutMillis: connectWithinMs });
  client.on('error', () => {}); // A connection that breaks also rejects the query.
  try {
    await client.connect();
    const offsetMs = await clockOffsetMs(async () => (await client.query<TimeOfPostgres>(timeQuestion)).rows[0]);
    if (!isTolerated(offsetMs)) throw new StartProblem(describeOffset(offsetMs));
  } catch (error) {
    if (error instanceof StartProblem) throw error;
  } finally {
    await client.end().catch(() => {});
  }
}

/**
 * Compares the clocks every 30 s. Logs an error when the clock becomes wrong, and a line when it is right again.
 * @param clock in Unix milliseconds
 */
export function watchClock(db: Pick<Queries, 'one'>, log: Logger, clock: () => number = () => Date.now()): ClockWatch {
  let isRight = true;
  const ask = async () => {
    // While Postgres is unreachable, other signals show the problem.
    const offsetMs = await clockOffsetMs(() => db.one<TimeOfPostgres>(raw(timeQuestion)), clock).catch(() => undefined);
    if (offsetMs === undefined) return;
    clockOffset.set(offsetMs / 1_000);
    const wasRight = isRight;
    isRight = isTolerated(offsetMs);
    if (!isRight) log.error({ offset_seconds: offsetMs / 1_000 }, describeOffset(offsetMs));
    else if (!wasRight) log.info({ offset_seconds: offsetMs / 1_000 }, 'the clock is right again');
  };
  const asking = setInterval(() => void ask(), askEveryMs);
  asking.unref();
  void ask();
  return { isRight: () => isRight, ask, stop: () => clearInterval(asking) };
}
