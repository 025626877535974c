/**
 * Leases of rows: only one worker at a time acts on a row (ENG-2). It claims the row, acts without a database connection, and records the
 * result only if its claim still holds. Leases use the clock of the database (ENG-7).
 */
import type { FindOptionsWhere, QueryDeepPartialEntity } from 'typeorm';
import type { Id } from '../core/ids.ts';
import type { Queries } from '../infra/postgres/database.ts';
import { all, columnOf, list, raw, sql, tableOf, type Entity, type Sql } from '../infra/postgres/sql.ts';

interface LeasedRow {
  id: Id;
  fence: number;
  leaseUntil: Date | null;
}

export type Claim = Pick<LeasedRow, 'id' | 'fence'>;

/** Another worker has claimed the row since, or the row is no longer open. The result must not be recorded. */
export class LeaseLost extends Error {
  override name = 'LeaseLost';
}

interface LeaseRule<E> {
  /** The columns of a row that is still open. */
  open: Partial<E>;
  /** The row may be claimed from this time on. */
  due: keyof E & string;
  /** The lease lasts longer than the action may take. */
  seconds: number;
  /** The column that counts claims. */
  counts?: keyof E & string;
  sets?: Partial<E>;
  /** The column for the time of the claim. */
  stamps?: keyof E & string;
}

export interface Lease<E> {
  /**
   * Claims the row.
   * @param now Unix milliseconds
   * @param select a query over the row `claimed`
   * @returns undefined if the row is not open, not due, or claimed by another worker
   */
  claim<Row>(db: Queries, id: Id, now: number, select: Sql): Promise<Row | undefined>;
  /** @throws LeaseLost without writing anything */
  record(db: Queries, claim: Claim, outcome: QueryDeepPartialEntity<E>): Promise<void>;
}

export function defineLease<E extends LeasedRow>(entity: new () => E, rule: LeaseRule<E>): Lease<E> {
  return {
    claim<Row>(db: Queries, id: Id, now: number, select: Sql): Promise<Row | undefined> {
      const at = new Date(now);
      const changes = [
        sql`fence = fence + 1`,
        sql`lease_until = clock_timestamp() + make_interval(secs => ${rule.seconds})`,
        ...(rule.counts === undefined ? [] : [sql`${columnOf(rule.counts)} = ${columnOf(rule.counts)} + 1`]),
        ...(rule.stamps === undefined ? [] : [sql`${columnOf(rule.stamps)} = ${at}`]),
        ...Object.entries(rule.sets ?? {}).map(([property, value]) => sql`${columnOf(property)} = ${value}`),
      ];
      const open = Object.entries(rule.open).map(([property, value]) => sql`${columnOf(property)} = ${value}`);
      const condition = all([
        sql`id = ${id}`,
        ...open,
        sql`${columnOf(rule.due)} <= ${at}`,
        sql`(lease_until IS NULL OR lease_until < clock_timestamp())`,
      ]);
      return db.one<Row>(sql`
        WITH claimed AS (UPDATE ${raw(tableOf(entity))} SET ${list(changes)} WHERE ${condition} RETURNING *)
        ${select}`);
    },
    async record(db, { id, fence }, outcome) {
      const criteria = { ...rule.open, id, fence } as FindOptionsWhere<E>;
      const { affected } = await db.manager.update(entity, criteria, { ...outcome, leaseUntil: null });
      if (affected === 0) throw new LeaseLost();
    },
  };
}

/** Claims the row, acts, and returns the row's state from Postgres, even if another worker wrote this state. */
export async function runStep<C, Step>(step: {
  claim: () => Promise<C | undefined>;
  act: (claimed: C) => Promise<void>;
  state: () => Promise<Step>;
}): Promise<Step> {
  const claimed = await step.claim();
  try {
    if (claimed !== undefined) await step.act(claimed);
  } catch (error) {
    if (!(error instanceof LeaseLost)) throw error;
  }
  return step.state();
}

/**
 * Another worker does the work now, so nothing is recorded.
 * @throws any other error
 */
export function ignoreLostLease(error: unknown): void {
  if (!(error instanceof LeaseLost)) throw error;
}

export interface HeldLease {
  /** Aborts when the lease is lost (`LeaseLost`), or when the process must stop. */
  signal: AbortSignal;
  /** Stops the renewal. */
  release(): void;
}

interface Holding {
  seconds: number;
  everyMs: number;
  still?: Sql;
  /** Called at each renewal, even while Postgres is unavailable. */
  onRenewal: () => void;
  stop: AbortSignal;
}

/** Renews the lease until its release. A short lease that is renewed frees the row of a dead worker soon. */
export function holdLease(
  db: Queries,
  entity: Entity,
  { id, fence }: Claim,
  { seconds, everyMs, still, onRenewal, stop }: Holding,
): HeldLease {
  const leaseLoss = new AbortController();
  let isRenewing = false;
  const renew = async () => {
    onRenewal();
    if (isRenewing) return;
    isRenewing = true;
    try {
      // After the result is recorded, `lease_until` is null, and the lease must not be renewed.
      const mine = all([sql`id = ${id}`, sql`fence = ${fence}`, sql`lease_until IS NOT NULL`, still]);
      const until = sql`clock_timestamp() + make_interval(secs => ${seconds})`;
      const renewed = await db.run(sql`UPDATE ${raw(tableOf(entity))} SET lease_until = ${until} WHERE ${mine}`);
      if (renewed === 0) leaseLoss.abort(new LeaseLost());
    } catch {
      // Postgres is unavailable, but the work continues. At the end, the fence shows whether another worker has claimed the row.
    } finally {
      isRenewing = false;
    }
  };
  const timer = setInterval(() => void renew(), everyMs);
  return { signal: AbortSignal.any([leaseLoss.signal, stop]), release: () => clearInterval(timer) };
}
