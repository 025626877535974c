/**
 * The run `club-erasure/<id of the club>`. It waits until the erasure begins, closes the club, and erases its rows, runs and objects. The
 * process may die between any two statements: each step begins with the remaining data (ERS-10).
 */
import { Erasure } from '../../entities/erasures/erasure.ts';
import type { ErasureStatus } from '../../entities/erasures/values.ts';
import type { Id } from '../../platform/core/ids.ts';
import { defineLease, ignoreLostLease, type Claim } from '../../platform/engine/lease.ts';
import type { Database, Queries } from '../../platform/infra/postgres/database.ts';
import type { Vault } from '../../platform/infra/keys/vault.ts';
import { columns, sql } from '../../platform/infra/postgres/sql.ts';
import type { ObjectStore } from '../../platform/infra/store/object-store.ts';
import { hasOpenPurchase, hasPaidPlan } from '../billing/paid-plan.ts';
import type { ClubRows, CloseClub } from '../questions.ts';
import { closeClub } from './closing.ts';
import { remindOfErasure } from './mails.ts';
import { writeMarker } from './markers.ts';
import { eraseClubObjects } from './clubs/objects.ts';
import { eraseClubRows } from './clubs/rows.ts';
import { terminateClubRuns } from './clubs/runs.ts';

export const erasureRules = {
  /** The owners and admins get a reminder this long before the erasure begins. */
  reminderMs: 3 * 86_400_000,
  /** While the club pays for a plan, the erasure does not begin. It looks again after this time (DEC-277). */
  paidMs: 86_400_000,
  /** The wait while an add-on is being charged. */
  purchaseMs: 5 * 60_000,
  /** The time in which one step closes the club, or erases rows or objects. */
  stepMs: 3_000,
  /** Longer than a step may take, so that the next step can claim the row soon after the death of a worker. */
  leaseSeconds: 30,
  /** The pause between two looks for runs, because Temporal lists a new run some seconds after its start. */
  lookMs: 5_000,
  /** If this number of successive looks finds no run, no run is left. */
  emptyLooks: 2,
  /** The objects are erased a second time this long after the club was closed, because an upload may have begun just before. */
  secondPassMs: 30 * 60_000,
} as const;

export interface ClubErasureDeps {
  db: Database;
  vault: Vault;
  storage: ObjectStore;
  /** The answers of all contexts. */
  closers: readonly CloseClub[];
  clubRows: readonly ClubRows[];
  /** Terminates runs of the club except its erasure, some at each call. @returns their workflow ids */
  terminateRuns: (clubId: Id) => Promise<string[]>;
  /** After this time, in milliseconds, no upload that began before the closing can arrive any more. */
  arrivalMs: number;
  failpoint: (name: string) => Promise<void>;
}

/** The outcome, or the progress and the time of the next step in Unix milliseconds. If it is absent, the next step is due immediately. */
export type ClubErasureStep =
  | { done: true; outcome: 'completed' | 'canceled' }
  | {
      done: false;
      at?: number;
      status: ErasureStatus;
      rows: number;
      runs: number;
      objects: number;
      /** The table whose rows are next. */
      table?: string;
    };

type Claimed = Claim & Pick<Erasure, 'status' | 'erasesAt' | 'remindedAt' | 'closedAt' | 'emptyLooks'>;
type Changes = Partial<Pick<Erasure, 'status' | 'looksAt' | 'remindedAt' | 'closedAt' | 'completedAt' | 'emptyLooks'>>;

type Failpoint = 'erasure_closing' | 'erasure_rows' | 'erasure_runs' | 'erasure_objects';

/** The result of an action: the changes of the row, and the table whose rows are next. */
interface Progress {
  changes: Changes;
  table?: string;
}

const lease = defineLease(Erasure, {
  open: { kind: 'club' },
  due: 'looksAt',
  seconds: erasureRules.leaseSeconds,
});

/**
 * Advances the erasure of a club by one step.
 * @param clubId the subject of the erasure
 * @param now Unix milliseconds
 */
export async function stepClubErasure(deps: ClubErasureDeps, clubId: Id, now: number): Promise<ClubErasureStep> {
  const erasure = await deps.db.one<{ id: Id }>(
    sql`SELECT ${columns(Erasure, ['id'])} FROM erasures WHERE subject_id = ${clubId} AND kind = 'club'`,
  );
  if (!erasure) return { done: true, outcome: 'canceled' };
  const claimed = await lease.claim<Claimed>(
    deps.db,
    erasure.id,
    now,
    sql`SELECT ${columns(Erasure, ['id', 'fence', 'status', 'erasesAt', 'remindedAt', 'closedAt', 'emptyLooks'])} FROM claimed`,
  );
  let table: string | undefined;
  if (claimed)
    table = await act(deps, clubId, claimed, new Date(now))
      .catch(ignoreLostLease)
      .then((next) => next ?? undefined);
  return readState(deps.db, erasure.id, now, table);
}

/** @returns the table whose rows are next @throws LeaseLost */
async function act(deps: ClubErasureDeps, clubId: Id, claimed: Claimed, now: Date): Promise<string | undefined> {
  if (claimed.status === 'planned') {
    await awaitBeginning(deps, clubId, claimed, now);
    return undefined;
  }
  if (claimed.status === 'completed') return undefined;
  const { changes, table } = await actions[claimed.status](deps, { clubId, erasureId: claimed.id }, claimed, now);
  const failpoint: Failpoint = `erasure_${claimed.status}`;
  await deps.failpoint(failpoint);
  await lease.record(deps.db, claimed, changes);
  return table;
}

/**
 * Waits for the reminder, and for the beginning. The reminder is requested in the transaction that records it. The lock of the club lets no
 * member leave meanwhile, so no mail has the address of an erased account (ERS-45).
 */
async function awaitBeginning({ db, vault }: ClubErasureDeps, clubId: Id, claimed: Claimed, now: Date): Promise<void> {
  const { erasesAt, remindedAt } = claimed;
  if (erasesAt <= now) {
    // The owner of an erased club could not cancel its subscription, and the processor would charge for it for ever.
    if (await hasPaidPlan(db, clubId))
      return lease.record(db, claimed, { looksAt: new Date(now.getTime() + erasureRules.paidMs) });
    // Without the row of the add-on, a charge that goes through at this moment would be recorded nowhere.
    if (await hasOpenPurchase(db, clubId))
      return lease.record(db, claimed, { looksAt: new Date(now.getTime() + erasureRules.purchaseMs) });
    return lease.record(db, claimed, { status: 'closing', looksAt: now });
  }
  const remindsAt = new Date(erasesAt.getTime() - erasureRules.reminderMs);
  if (remindedAt !== null || remindsAt > now)
    return lease.record(db, claimed, { looksAt: remindedAt === null ? remindsAt : erasesAt });
  await db.transaction(async (tx) => {
    await tx.run(sql`SELECT FROM clubs WHERE id = ${clubId} FOR NO KEY UPDATE`);
    await remindOfErasure(tx, vault, clubId, now);
    await lease.record(tx, claimed, { remindedAt: now, looksAt: erasesAt });
  });
}

interface Subject {
  clubId: Id;
  erasureId: Id;
}

/** The action of each state after the wait. */
const actions: Readonly<
  Record<
    Exclude<ErasureStatus, 'planned' | 'completed'>,
    (deps: ClubErasureDeps, subject: Subject, claimed: Claimed, now: Date) => Promise<Progress>
  >
> = {
  async closing(deps, { clubId }, _claimed, now) {
    await writeMarker(deps.storage, { kind: 'club', subjectId: clubId, clubId }, now);
    const ends = performance.now() + erasureRules.stepMs;
    for (;;) {
      const { more } = await closeClub(deps, clubId, now);
      if (!more) return { changes: { status: 'rows', closedAt: now, looksAt: now } };
      if (performance.now() > ends) return { changes: { looksAt: now } };
    }
  },
  async rows(deps, subject, _claimed, now) {
    const { erased, next } = await eraseClubRows(deps, subject, erasureRules.stepMs);
    // Facts, wakes and deliveries may still arrive. So the last look at all tables must find nothing.
    if (next !== undefined || erased > 0)
      return { changes: { looksAt: now }, ...(next !== undefined && { table: next }) };
    return { changes: { status: 'runs', looksAt: now } };
  },
  async runs(deps, subject, { emptyLooks }, now) {
    const terminated = await terminateClubRuns(deps, subject);
    if (terminated > 0) return { changes: { emptyLooks: 0, looksAt: now } };
    if (emptyLooks + 1 >= erasureRules.emptyLooks) return { changes: { status: 'objects', looksAt: now } };
    return { changes: { emptyLooks: emptyLooks + 1, looksAt: new Date(now.getTime() + erasureRules.lookMs) } };
  },
  async objects(deps, subject, { closedAt }, now) {
    const { more } = await eraseClubObjects(deps, subject, erasureRules.stepMs);
    if (more) return { changes: { looksAt: now } };
    const closed = (closedAt ?? now).getTime();
    const nextPass = [erasureRules.secondPassMs, deps.arrivalMs]
      .map((ms) => closed + ms)
      .find((at) => at > now.getTime());
    if (nextPass !== undefined) return { changes: { looksAt: new Date(nextPass) } };
    const { erased, next } = await eraseClubRows(deps, subject, erasureRules.stepMs);
    const terminated = await terminateClubRuns(deps, subject);
    if (next !== undefined || erased > 0 || terminated > 0)
      return { changes: { looksAt: now }, ...(next !== undefined && { table: next }) };
    return { changes: { status: 'completed', completedAt: now, looksAt: null } };
  },
};

async function readState(db: Queries, id: Id, now: number, table: string | undefined): Promise<ClubErasureStep> {
  const row = await db.one<Pick<Erasure, 'status' | 'counts' | 'looksAt' | 'leaseUntil'>>(
    sql`SELECT ${columns(Erasure, ['status', 'counts', 'looksAt', 'leaseUntil'])} FROM erasures WHERE id = ${id}`,
  );
  if (!row) return { done: true, outcome: 'canceled' };
  const { status, counts, looksAt, leaseUntil } = row;
  if (status === 'completed' || looksAt === null) return { done: true, outcome: 'completed' };
  const at = Math.max(looksAt.getTime(), leaseUntil?.getTime() ?? 0);
  // A lease that is over by this clock may still last by the clock of Postgres. Then the next step must wait, too.
  const isWaiting = at > now || leaseUntil !== null;
  return {
    done: false,
    ...(isWaiting && { at }),
    status,
    rows: sum(counts.tables),
    runs: counts.runs ?? 0,
    objects: sum(counts.buckets),
    ...(table !== undefined && { table }),
  };
}

const sum = (counts: Record<string, number> = {}) => Object.values(counts).reduce((one, other) => one + other, 0);
