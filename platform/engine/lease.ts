/**
 * Rows that one worker at a time acts on (ENG-2): claim the row, act without a database connection, record only where the claim
 * still holds. Leases go by the clock of the database (ENG-7).
 */
import type { DataSource, FindOptionsWhere, QueryDeepPartialEntity } from 'typeorm';
import type { Id } from '../core/ids.ts';
import type { Queries } from '../infra/postgres/database.ts';

interface LeasedRow {
  id: Id;
  fence: number;
  leaseUntil: Date | null;
}

/** @property fence the fencing token: a later claim has a higher one */
export type Claim = Pick<LeasedRow, 'id' | 'fence'>;

/** Another worker has claimed the row since, or the row has ended: the result in hand must not be recorded. */
export class LeaseLost extends Error {
  override name = 'LeaseLost';
}

interface LeaseRule<E> {
  /** What a row has as long as it is to be acted on. */
  open: Partial<E>;
  /** The column with the time from which it may be claimed. */
  due: keyof E & string;
  /** Longer than acting may take. */
  seconds: number;
  /** The column that counts claims. */
  counts?: keyof E & string;
  /** What else a claim writes. */
  sets?: Partial<E>;
  /** The column that a claim sets to its time. */
  stamps?: keyof E & string;
}

export interface Lease<E> {
  /**
   * Claims the row.
   * @param now Unix milliseconds
   * @param select SQL over the claimed row, `claimed`; `$1` is its id, `$2` the time
   * @returns what it selects; undefined where the row is not open, not due, or claimed by another worker
   */
  claim<Row>(source: DataSource, id: Id, now: number, select: string): Promise<Row | undefined>;
  /** Writes the outcome and gives the lease back. @throws LeaseLost, having written nothing */
  record(db: Queries, claim: Claim, outcome: QueryDeepPartialEntity<E>): Promise<void>;
}

export function defineLease<E extends LeasedRow>(entity: new () => E, rule: LeaseRule<E>): Lease<E> {
  return {
    async claim<Row>(source: DataSource, id: Id, now: number, select: string) {
      const metadata = source.getMetadata(entity);
      const columnOf = (property: string) => metadata.findColumnWithPropertyName(property)?.databaseName;
      const parameters: unknown[] = [id, new Date(now), rule.seconds];
      const given = (value: unknown) => (value === null ? 'NULL' : `$${parameters.push(value)}`);
      const changes = [
        'fence = fence + 1',
        'lease_until = clock_timestamp() + make_interval(secs => $3)',
        ...(rule.counts === undefined ? [] : [`${columnOf(rule.counts)} = ${columnOf(rule.counts)} + 1`]),
        ...(rule.stamps === undefined ? [] : [`${columnOf(rule.stamps)} = $2`]),
        ...Object.entries(rule.sets ?? {}).map(([property, value]) => `${columnOf(property)} = ${given(value)}`),
      ];
      const open = Object.entries(rule.open).map(([property, value]) => `${columnOf(property)} = ${given(value)} AND`);
      const rows = await source.query<Row[]>(
        `WITH claimed AS (
           UPDATE ${metadata.tableName} SET ${changes.join(', ')}
            WHERE id = $1 AND ${open.join(' ')} ${columnOf(rule.due)} <= $2
              AND (lease_until IS NULL OR lease_until < clock_timestamp())
        RETURNING *)
         ${select}`,
        parameters,
      );
      return rows[0];
    },
    async record(db, { id, fence }, outcome) {
      const held = { ...rule.open, id, fence } as FindOptionsWhere<E>;
      const { affected } = await db.manager.update(entity, held, { ...outcome, leaseUntil: null });
      if (affected === 0) throw new LeaseLost();
    },
  };
}

/** A step of a leased row: claim, act, and answer what Postgres holds now, whichever worker wrote it. */
export async function runStep<C, Step>(step: {
  claim: () => Promise<C | undefined>;
  /** Does the work and records it. */
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

/** @param error of a record whose loss changes nothing @throws any other error */
export function ignoreLostLease(error: unknown): void {
  if (!(error instanceof LeaseLost)) throw error;
}
