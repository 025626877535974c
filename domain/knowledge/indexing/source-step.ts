/**
 * The step of a source's workflow: it claims the source, extracts the text and records the result (ENG-2). If the source has left the
 * index, the step removes the source's rows.
 */
import type { Database } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { ObjectStore } from '../../../platform/infra/store/object-store.ts';
import { claimSource, holdClaim, releaseClaim, waitForOcr, type Claim } from './claims.ts';
import type { extract, Extraction } from '../extraction/extraction.ts';
import { maxAttempts, type IndexingError } from './indexing.policy.ts';
import { loadSource, type LoadedSource } from './load.ts';
import { ocrRules } from './ocr.policy.ts';
import { recordFailure, recordFault, recordPassages } from './record.ts';
import { removeSource } from './removal.ts';
import { readScannedPages, type OcrDeps } from './scanned-pages.ts';
import { LeaseLost } from '../../../platform/engine/lease.ts';

export interface IndexingDeps {
  db: Database;
  storage: Pick<ObjectStore, 'read'>;
  /** Extracts the text of a source in a thread (extraction.ts). */
  extract: typeof extract;
  /** Undefined if the deployment has no OCR. */
  ocr: OcrDeps | undefined;
  /** Receives each error that the source did not cause, before the source is tried again. */
  onFault: (error: unknown) => void;
  onOutcome: (outcome: SourceOutcome) => void;
  /** Tests use this function to stop the process at a named point. */
  failpoint: (name: SourceFailpoint) => Promise<void>;
  /** Only tests set it. */
  removalBatch?: number;
}
type SourceFailpoint = 'source_claimed' | 'source_ocr' | 'source_read' | 'source_recorded' | 'source_batch_removed';

/** `gone`: no agent's material names the source any more. */
export type SourceOutcome = 'ready' | 'failed' | 'gone';

export type SourceStep =
  | { done: true; outcome: SourceOutcome; pages?: number; passages?: number; error?: IndexingError }
  /** `for` is a resource that the step waits for. Absent if it only waits for the time. */
  | { done: false; at: number; attempt: number; for?: 'ocr' };

/** Receives heartbeats with progress, and can stop the step. */
export interface StepWatcher {
  beat: (progress: string) => void;
  stop: AbortSignal;
}

/**
 * Advances the source by one step. Does nothing if the work is finished or another worker has claimed the source.
 * @param now Unix milliseconds
 * @throws Error if Postgres cannot be reached. Every other unexpected error is recorded, and the step is tried again
 */
export async function indexSource(
  deps: IndexingDeps,
  sourceId: Id,
  now: number,
  { beat, stop }: StepWatcher,
): Promise<SourceStep> {
  const { db } = deps;
  const claim = await claimSource(db, sourceId, now);
  if (!claim) return readState(db, sourceId, now);
  await deps.failpoint('source_claimed');
  const at = new Date(now);
  let progress = 'about to read';
  const tell = (words: string) => {
    progress = words;
  };
  beat(progress);
  const lease = holdClaim(db, claim, () => beat(progress), stop);
  try {
    await workOn(deps, claim, lease.signal, tell, at);
    await deps.failpoint('source_recorded');
  } catch (error) {
    if (error instanceof LeaseLost || lease.signal.aborted) await releaseClaim(db, claim);
    else {
      deps.onFault(error);
      await recordFault(db, claim, at).catch((leaseError: unknown) => releaseIfLost(db, claim, leaseError));
    }
  } finally {
    lease.release();
  }
  const next = await readState(db, sourceId, now);
  if (next.done) deps.onOutcome(next.outcome);
  return next;
}

async function releaseIfLost(db: Database, claim: Claim, error: unknown): Promise<void> {
  if (!(error instanceof LeaseLost)) throw error;
  await releaseClaim(db, claim);
}

/**
 * @throws LeaseLost if the claim is no longer valid; the reason of the signal, if it ends the work; any error that the source did not cause
 */
async function workOn(
  deps: IndexingDeps,
  claim: Claim,
  signal: AbortSignal,
  tell: (words: string) => void,
  now: Date,
): Promise<void> {
  if (claim.isRemoved) return removeSource(deps, claim, signal, tell);
  // The workers of all earlier attempts died.
  if (claim.attempt > maxAttempts) return recordFailure(deps.db, claim, { code: 'indexing_failed' }, now);
  const { ocr } = deps;
  // An earlier attempt has read the file, but found no free OCR permit. So this attempt takes the permit before it reads the file.
  // Otherwise it could read the file and then again find no free permit.
  let release = claim.waitsForOcr ? ocr?.permit.tryAcquire(claim.clubId) : undefined;
  try {
    if (ocr && claim.waitsForOcr && !release) return await putOffForOcr(deps, ocr, claim, now);
    const loaded = await loadSource(deps, claim, signal);
    if (loaded === undefined) throw new LeaseLost();
    const first = await readOut(deps, loaded, signal, tell);
    if (ocr && first.scanned) {
      release ??= ocr.permit.tryAcquire(claim.clubId);
      if (!release) return await putOffForOcr(deps, ocr, claim, now);
    }
    const { read, ocrDueAt } = await withScannedPages(deps, claim, { loaded, first, signal, tell, now });
    await deps.failpoint('source_read');
    if (read.result === 'unreadable') return await recordFailure(deps.db, claim, { ...read, ocrDueAt }, now);
    tell(`writing ${read.passages.length} passages`);
    await recordPassages(deps.db, claim, { ...loaded, ...read, ocrDueAt }, now);
  } finally {
    release?.();
  }
}

async function putOffForOcr({ db }: IndexingDeps, ocr: OcrDeps, claim: Claim, now: Date): Promise<void> {
  await waitForOcr(db, claim, new Date(ocr.permit.retryAt(claim.clubId, now.getTime())));
}

interface FirstReading {
  loaded: LoadedSource;
  first: Extraction;
  signal: AbortSignal;
  tell: (words: string) => void;
  now: Date;
}

/** @returns the first reading together with the pages that OCR has read, and the time at which OCR must be tried again */
async function withScannedPages(
  deps: IndexingDeps,
  claim: Claim,
  { loaded, first, signal, tell, now }: FirstReading,
): Promise<{ read: Extraction; ocrDueAt: Date | null }> {
  const { scanned } = first;
  if (!scanned) return { read: first, ocrDueAt: null };
  const again = new Date(now.getTime() + ocrRules.againMs);
  if (!deps.ocr) return { read: first, ocrDueAt: again };
  await deps.failpoint('source_ocr');
  const { reading, isUnavailable } = await readScannedPages(
    deps.ocr,
    { ...first, scanned },
    {
      language: loaded.language,
      attempt: claim.attempt,
      extract: deps.extract,
      signal,
      tell,
      async load() {
        const reloaded = await loadSource(deps, claim, signal); // the bytes must be loaded again, because the first reading has consumed them
        return reloaded && 'source' in reloaded && reloaded.source.kind === 'media' ? reloaded.source.bytes : undefined;
      },
    },
  );
  return { read: reading, ocrDueAt: isUnavailable ? again : null };
}

async function readOut(
  { extract: readSource }: IndexingDeps,
  loaded: LoadedSource,
  signal: AbortSignal,
  tell: (words: string) => void,
): Promise<Extraction> {
  if ('code' in loaded) return { result: 'unreadable', code: loaded.code, warnings: [] };
  tell('reading');
  const onPage = (pagesRead: number, total: number) => tell(`page ${pagesRead} of ${total}`);
  return readSource(loaded.source, { onPage, signal });
}

/** Any process may have changed the row. */
async function readState(db: Database, sourceId: Id, now: number): Promise<SourceStep> {
  const row = await db.one<{
    at: Date | null;
    attempts: number;
    pages: number | null;
    passages: number;
    error: IndexingError | null;
    waitsForOcr: boolean;
  }>(
    sql`SELECT CASE WHEN looks_at IS NOT NULL THEN greatest(looks_at, lease_until) END AS at, attempts,
               page_count AS pages, passage_count AS passages, error_code AS error, coalesce(ocr_due_at = looks_at, false) AS "waitsForOcr"
          FROM agent_sources WHERE id = ${sourceId}`,
  );
  if (!row) return { done: true, outcome: 'gone' };
  if (row.at !== null) {
    const waiting = { done: false, at: Math.max(row.at.getTime(), now), attempt: row.attempts + 1 } as const;
    return row.waitsForOcr ? { ...waiting, for: 'ocr' } : waiting;
  }
  if (row.error !== null) return { done: true, outcome: 'failed', error: row.error };
  return { done: true, outcome: 'ready', passages: row.passages, ...(row.pages !== null && { pages: row.pages }) };
}
