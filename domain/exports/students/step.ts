/** The step that writes the file of an export: claim, read, upload, record (EXP-2, ENG-2). */
import { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import { StudentExport } from '../../../entities/exports/student-export.ts';
import type { StudentExportStatus } from '../../../entities/exports/values.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { defineLease, holdLease, LeaseLost, type Claim } from '../../../platform/engine/lease.ts';
import { inSnapshot, type Database, type Queries } from '../../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../../platform/infra/postgres/sql.ts';
import type { ObjectStore } from '../../../platform/infra/store/object-store.ts';
import { lockStudent } from '../../identity/accounts/accounts.ts';
import { keepLeftover, recordLeftover } from '../../media/erasure/leftovers.ts';
import type { ExportStudent } from '../../questions.ts';
import { writeDocument, type Sections } from './document.ts';
import { objectKeyOf, studentExportRules as rules } from './exports.policy.ts';
import { findFiles, layOutArchive, readArchive, type DocumentFile, type FoundFile } from './files.ts';
import type { InScratch, Scratch } from './scratch.ts';

export interface StudentExportDeps {
  db: Database;
  storage: ObjectStore;
  /** The answers of all contexts. */
  exporters: readonly ExportStudent[];
  inScratch: InScratch;
  /** Receives each error of an attempt, before the next try. */
  onFault: (error: unknown) => void;
  onOutcome: (outcome: StudentExportOutcome) => void;
  failpoint: (name: 'export_claimed' | 'export_written' | 'export_uploaded' | 'export_recorded') => Promise<void>;
}

/** `gone`: the student was removed, and the export with the student. */
export type StudentExportOutcome = 'ready' | 'failed' | 'gone';

/** `at` in Unix milliseconds. */
export type StudentExportStep =
  | { done: true; outcome: StudentExportOutcome }
  | { done: false; at: number; attempt: number; sections: number };

interface ExportClaim extends Claim {
  clubId: Id;
  studentId: Id;
  attempts: number;
}

export interface ExportWatcher {
  beat: (progress: string) => void;
  stop: AbortSignal;
}

const lease = defineLease(StudentExport, {
  open: {},
  due: 'looksAt',
  seconds: rules.leaseSeconds,
  counts: 'attempts',
  sets: { status: 'running', sectionsDone: 0 },
});

/**
 * Runs one step of an export. A repeated call changes nothing if the export has ended, or if a worker has claimed it. A repeated attempt
 * writes another object; the objects of attempts that were not recorded are erased.
 * @param now Unix milliseconds
 * @throws Error if Postgres cannot be reached; other faults are recorded in the row and tried again
 */
export async function exportStudent(
  deps: StudentExportDeps,
  exportId: Id,
  now: number,
  { beat, stop }: ExportWatcher,
): Promise<StudentExportStep> {
  const { db } = deps;
  const claim = await lease.claim<ExportClaim>(
    db,
    exportId,
    now,
    sql`SELECT ${columns(StudentExport, ['id', 'fence', 'clubId', 'studentId', 'attempts'])} FROM claimed`,
  );
  if (!claim) return readState(db, exportId);
  await deps.failpoint('export_claimed');
  let sections = 0;
  const heldLease = holdLease(db, StudentExport, claim, {
    seconds: rules.leaseSeconds,
    everyMs: rules.renewalMs,
    onRenewal: () => beat(`${sections} sections`),
    stop,
  });
  const reportSection = (count: number) => (sections = count);
  try {
    await workOn(deps, claim, { signal: heldLease.signal, reportSection, now: new Date(now) });
    await deps.failpoint('export_recorded');
  } catch (error) {
    if (error instanceof LeaseLost || heldLease.signal.aborted) await release(db, claim, new Date(now), 0);
    else {
      deps.onFault(error);
      await release(db, claim, new Date(now + rules.faultWaitMs), 1);
    }
  } finally {
    heldLease.release();
  }
  const next = await readState(db, exportId);
  if (next.done) deps.onOutcome(next.outcome);
  return next;
}

interface Work {
  signal: AbortSignal;
  reportSection: (count: number) => void;
  now: Date;
}

async function workOn(
  deps: StudentExportDeps,
  claim: ExportClaim,
  { signal, reportSection, now }: Work,
): Promise<void> {
  const { db } = deps;
  if (claim.attempts > rules.attempts)
    return lease.record(db, claim, { status: 'failed', looksAt: null, completedAt: now });
  const parts = deps.exporters.map((answer) => answer(claim));
  const sections = Object.assign({}, ...parts.map((part) => part.sections)) as Sections;
  const files = await findFiles(
    deps,
    parts.flatMap((part) => part.files ?? []),
    signal,
  );
  const written = await deps.inScratch(async (scratch) => {
    const progress = noteProgress(db, claim, reportSection);
    const document = await saveDocument(deps, claim, { scratch, sections, files, now }, progress.record, signal);
    await progress.ended();
    await deps.failpoint('export_written');
    if (document) await store(deps, claim, { document, files }, signal, now);
    return true;
  });
  if (written === undefined) await release(db, claim, new Date(now.getTime() + rules.diskWaitMs), 0);
}

/** Writes the progress while the document is written. A lost write does no harm, so errors are ignored. */
function noteProgress(db: Database, { id, fence }: ExportClaim, reportSection: (count: number) => void) {
  let last = Promise.resolve();
  return {
    record(count: number) {
      reportSection(count);
      last = last
        .then(() =>
          db.run(sql`UPDATE student_exports SET sections_done = ${count} WHERE id = ${id} AND fence = ${fence}`),
        )
        .then(
          () => undefined,
          () => undefined,
        );
    },
    ended: () => last,
  };
}

interface Written {
  scratch: Scratch;
  sections: Sections;
  files: readonly FoundFile[];
  now: Date;
}

/**
 * Reads all sections in one snapshot, and writes them to a file. No store and no receiver is asked during the snapshot.
 * @returns undefined if the student does not exist any more
 */
async function saveDocument(
  { db }: StudentExportDeps,
  { clubId, studentId }: ExportClaim,
  { scratch, sections, files, now }: Written,
  reportSection: (count: number) => void,
  signal: AbortSignal,
): Promise<DocumentFile | undefined> {
  return inSnapshot(db, async (tx) => {
    const club = await tx.one<{ id: Id; name: string; slug: string }>(sql`
      SELECT club.id, club.name, club.slug FROM students student JOIN clubs club ON club.id = student.club_id
       WHERE student.id = ${studentId} AND club.id = ${clubId} AND student.removed_at IS NULL`);
    if (!club) return undefined;
    const paths = new Map(files.map(({ id, path }) => [id, path]));
    const document = { size: 0, crc32: 0, read: scratch.read };
    async function* measured(pieces: AsyncIterable<string>): AsyncGenerator<Buffer> {
      for await (const piece of pieces) {
        const bytes = Buffer.from(piece);
        document.size += bytes.length;
        document.crc32 = crc32(bytes, document.crc32);
        yield bytes;
      }
    }
    await scratch.write(measured(writeDocument(tx, { club, sections, paths }, now, reportSection)), signal);
    return document;
  });
}

/**
 * Uploads the ZIP, and then marks the export as ready. The object is first recorded for erasure, and this record is deleted when the row
 * names the object. So if the process dies, or the student is removed meanwhile, maintenance erases the object (EXP-5).
 * @throws LeaseLost
 */
async function store(
  { db, storage, failpoint }: StudentExportDeps,
  claim: ExportClaim,
  { document, files }: { document: DocumentFile; files: readonly FoundFile[] },
  signal: AbortSignal,
  now: Date,
): Promise<void> {
  const { clubId, studentId, fence } = claim;
  const key = objectKeyOf(claim);
  const erasesAt = new Date(now.getTime() + rules.unrecordedMs);
  await db.transaction((tx) => recordLeftover(tx, { clubId, key, erasesAt }));
  const archive = layOutArchive(document, files, now);
  await storage.put(key, 'application/zip', Readable.from(readArchive(storage, archive, signal)));
  await failpoint('export_uploaded');
  const isRecorded = await db.transaction(async (tx) => {
    const isThere = await lockStudent(tx, clubId, studentId).then(
      () => true,
      (error: unknown) => {
        if (error instanceof DomainError) return false;
        throw error;
      },
    );
    if (!isThere) return false;
    await lease.record(tx, claim, {
      status: 'ready',
      looksAt: null,
      completedAt: now,
      expiresAt: new Date(now.getTime() + rules.fileMs),
      fileFence: fence,
      sizeBytes: String(archive.layout.size),
    });
    await keepLeftover(tx, key);
    return true;
  });
  // If the store does not answer, maintenance erases the object.
  if (!isRecorded) await storage.remove(key).catch(() => undefined);
}

/** Ends the lease. @param faults how many of the claims count as failed attempts */
async function release(db: Database, { id, fence }: ExportClaim, at: Date, faults: 0 | 1): Promise<void> {
  await db.run(sql`
    UPDATE student_exports SET lease_until = NULL, looks_at = ${at}, attempts = attempts - ${1 - faults}
     WHERE id = ${id} AND fence = ${fence} AND looks_at IS NOT NULL`);
}

async function readState(db: Queries, id: Id): Promise<StudentExportStep> {
  const row = await db.one<{ status: StudentExportStatus; attempts: number; sections: number; at: Date | null }>(sql`
    SELECT status, attempts, sections_done AS sections, greatest(looks_at, lease_until) AS at FROM student_exports WHERE id = ${id}`);
  if (!row) return { done: true, outcome: 'gone' };
  const { status, attempts, sections, at } = row;
  if (status === 'pending' || status === 'running')
    return { done: false, at: at?.getTime() ?? 0, attempt: attempts + 1, sections };
  return { done: true, outcome: status === 'failed' ? 'failed' : 'ready' };
}
