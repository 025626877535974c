/** The step of an export's workflow: some seconds of records, the archive, or the erasure of both (EXP-11, ENG-2). */
import { ClubExport } from '../../../entities/exports/club-export.ts';
import type { ClubExportStatus } from '../../../entities/exports/values.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { defineLease, holdLease, ignoreLostLease, type Claim } from '../../../platform/engine/lease.ts';
import type { Database } from '../../../platform/infra/postgres/database.ts';
import type { ObjectStore } from '../../../platform/infra/store/object-store.ts';
import { columns, sql } from '../../../platform/infra/postgres/sql.ts';
import { storeArchive } from './archive.ts';
import { archiveKeyOf, clubExportRules, exportPrefix } from './exports.policy.ts';
import type { ExportSource } from './pages.ts';
import type { RecordType } from './record-type.ts';
import { recordTypes } from './record-types.ts';
import { exportRecords } from './records.ts';

export interface ClubExportDeps extends Omit<ExportSource, 'db' | 'clubId' | 'administratorId' | 'now'> {
  db: Database;
  /** A hook at which tests stop the process. */
  failpoint: (name: string) => Promise<void>;
  /** Tests export fewer types. */
  types?: readonly RecordType[];
  /** Begins a step. The returned function is true as soon as the step must end, which by default takes some seconds. */
  beginStep?: () => () => boolean;
}

/** Watches a step for the worker. */
export interface ExportWatcher {
  /** Is called at least every few seconds. */
  beat: () => void;
  /** Aborts when the process must stop. */
  stop: AbortSignal;
}

/**
 * The outcome, or the progress and the time of the next step in Unix milliseconds. If the time is absent, the next step is due immediately.
 */
export type ClubExportStep =
  | { done: true; outcome: ClubExportStatus }
  | { done: false; at?: number; status: ClubExportStatus; records: number; types: number; ofTypes: number };

const lease = defineLease(ClubExport, { open: {}, due: 'looksAt', seconds: clubExportRules.leaseMs / 1_000 });

const claimedColumns = columns(ClubExport, [
  'id',
  'fence',
  'clubId',
  'requestedBy',
  'status',
  'progress',
  'createdAt',
  'startedAt',
  'expiresAt',
]);
export type ClaimedExport = (typeof claimedColumns)['row'] & Claim;

/**
 * Advances the export by one step. A repeated step reads the records after the last recorded place again, so no record is exported twice.
 * @param now Unix milliseconds
 * @throws any error of Postgres or the store; the export can then be claimed again immediately
 */
export async function stepClubExport(
  deps: ClubExportDeps,
  exportId: Id,
  now: number,
  watcher: ExportWatcher,
): Promise<ClubExportStep> {
  const { db } = deps;
  const claimed = await lease.claim<ClaimedExport>(db, exportId, now, sql`SELECT ${claimedColumns} FROM claimed`);
  if (claimed) {
    const heldLease = holdLease(db, ClubExport, claimed, {
      seconds: clubExportRules.leaseMs / 1_000,
      everyMs: clubExportRules.renewalMs,
      onRenewal: watcher.beat,
      stop: watcher.stop,
    });
    try {
      await act(deps, claimed, new Date(now), heldLease.signal);
    } catch (error) {
      if (!heldLease.signal.aborted) ignoreLostLease(error);
    } finally {
      heldLease.release();
      await release(db, claimed).catch(() => undefined); // if Postgres is not available, the lease expires
    }
  }
  return readState(db, exportId, { now, hasClaimed: claimed !== undefined });
}

async function act(deps: ClubExportDeps, claimed: ClaimedExport, now: Date, signal: AbortSignal): Promise<void> {
  const { db, storage } = deps;
  const { status, progress, expiresAt } = claimed;
  if (status === 'ready' && expiresAt !== null && now < expiresAt) {
    await keepArchive(storage, claimed, progress.archiveFence);
    await lease.record(db, claimed, { looksAt: expiresAt });
    return;
  }
  if (status !== 'pending' && status !== 'running') {
    await storage.removeUnder(exportPrefix(claimed));
    await lease.record(db, claimed, {
      progress: { ...progress, erased: true },
      looksAt: progress.erased ? null : new Date(now.getTime() + clubExportRules.lateMs),
      ...(status === 'ready' && { status: 'expired' }),
    });
    return;
  }
  if (now.getTime() - claimed.createdAt.getTime() > clubExportRules.longestMs) {
    await lease.record(db, claimed, { status: 'failed', looksAt: now });
    return;
  }
  if (progress.recordedAt === undefined) {
    if (progress.types.length === 0) await storage.removeUnder(exportPrefix(claimed)); // the pieces of an earlier beginning
    const next = await exportRecords(deps, claimed, now, signal);
    await deps.failpoint('club_export_piece_stored');
    await lease.record(db, claimed, {
      status: 'running',
      startedAt: claimed.startedAt ?? now,
      progress: next,
      looksAt: now,
    });
    await deps.failpoint('club_export_piece_recorded');
    return;
  }
  const archiveBytes = await storeArchive(storage, claimed, progress.recordedAt, signal);
  await deps.failpoint('club_export_archive_stored');
  await lease.record(db, claimed, {
    status: 'ready',
    progress: { ...progress, archiveFence: claimed.fence },
    archiveBytes: String(archiveBytes),
    readyAt: now,
    expiresAt: new Date(now.getTime() + clubExportRules.keptMs),
    looksAt: new Date(now.getTime() + clubExportRules.lateMs),
  });
  await keepArchive(storage, claimed, claimed.fence); // if this fails, a later step does it
}

/** Erases the pieces, and archives of steps that lost their lease. */
const keepArchive = (storage: ObjectStore, claimed: ClaimedExport, fence = 0): Promise<void> =>
  storage.removeUnder(exportPrefix(claimed), (key) => key === archiveKeyOf(claimed, fence));

/** Lets the next step begin immediately. After a cancellation the fence is higher, and the next step waits for the end of the lease. */
async function release(db: Database, { id, fence }: Claim): Promise<void> {
  await db.run(sql`UPDATE club_exports SET lease_until = NULL WHERE id = ${id} AND fence = ${fence}`);
}

/** Without a claim, the next step is never due immediately: the clocks of the worker and of Postgres may differ. */
async function readState(
  db: Database,
  id: Id,
  { now, hasClaimed }: { now: number; hasClaimed: boolean },
): Promise<ClubExportStep> {
  const row = await db.one<Pick<ClubExport, 'status' | 'progress' | 'looksAt' | 'leaseUntil'>>(
    sql`SELECT ${columns(ClubExport, ['status', 'progress', 'looksAt', 'leaseUntil'])} FROM club_exports WHERE id = ${id}`,
  );
  if (!row) return { done: true, outcome: 'expired' }; // the export was deleted with its club
  const { status, progress, looksAt, leaseUntil } = row;
  if (looksAt === null) return { done: true, outcome: status };
  const at = Math.max(looksAt.getTime(), leaseUntil?.getTime() ?? 0);
  const records = progress.types.reduce((sum, type) => sum + type.records, 0);
  const types = progress.types.length;
  return {
    done: false,
    status,
    records,
    types,
    ofTypes: recordTypes.length,
    ...(!(hasClaimed && at <= now) && { at }),
  };
}
