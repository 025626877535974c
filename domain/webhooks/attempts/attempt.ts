/** Makes one attempt of a delivery, in any lane: claims it, posts it and records it (ENG-2, HOOK-2). */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Id } from '../../../platform/core/ids.ts';
import type { AttemptOutcome } from '../../../entities/webhooks/values.ts';
import { forRecord } from '../../../platform/infra/postgres/shared-pool.ts';
import { deliveryRules } from '../deliveries/schedule.policy.ts';
import { claimAttempt, isFresh, putClaimOff, returnClaim, type Claim, type ClaimedDelivery } from './claims.ts';
import type { AttemptPermits } from './permits.ts';
import type { AttemptAnswer } from './post.ts';
import { recordFailure, type RecordDeps } from './record-failure.ts';
import type { RecordSuccess } from './record-success.ts';
import { readState, type DeliveryStep } from './state.ts';

export interface DeliveryDeps extends RecordDeps {
  /** Makes the only request of an attempt, and returns a result for every behaviour of the receiver. */
  post: (message: { url: string; eventId: Id; body: string; secrets: string[] }) => Promise<AttemptAnswer>;
  /** Records successful attempts. A process has only one such writer. */
  recordSuccess: RecordSuccess;
  /** Called for each attempt that has ended, before it is recorded. */
  onAttempt: (attempt: EndedAttempt) => void;
  permits: AttemptPermits;
  /** A point at which tests stop the process. */
  failpoint: (name: 'claimed' | 'posted') => Promise<void>;
}

/** An attempt that has ended, for metrics, logs, and permits. */
export interface EndedAttempt {
  endpointId: Id;
  host: string;
  outcome: AttemptOutcome;
  durationMs: number;
  /** Absent if an answer arrived. */
  errorCode?: string;
}

/** The number of times that an interrupted attempt is repeated before it counts as failed. */
const maxRepetitions = 3;
/**
 * The maximum number of claims that one step tries. A claim may fail because the endpoint was paused, disabled or throttled after the step
 * read the state.
 */
const maxClaims = 3;
/** The waits before an answer is recorded again, in milliseconds. Most outages of Postgres are shorter than the lease. */
const recordRetryMs = [100, 400, 1_500, 3_000];
/** The last try to record an answer begins this long before the end of the lease, in milliseconds. */
const recordMarginMs = 2_000;

/**
 * The site at which an attempt runs. The site determines who claims the attempt:
 * - `activity`: a step of the delivery's run makes the attempt, and claims it in Postgres.
 * - `local activity`: the fan-out has claimed the attempt. The first step of the delivery's run makes the attempt, in the process of the
 * fan-out (HOOK-15).
 * - `direct lane`: the fan-out has claimed the attempt. Its process makes the attempt without a run (HOOK-18), and already holds the
 * permits of the attempt. No run waits for the result. If the delivery needs a further step, the transaction that records the result wakes
 * the run.
 */
export type AttemptSite =
  | { runsIn: 'activity' }
  | { runsIn: 'local activity' | 'direct lane'; claimed: ClaimedDelivery };

/**
 * Makes the next step of the delivery, if it is due. Called by the delivery's run.
 * @param now Unix milliseconds
 * @returns the delivery's state in Postgres, even if this call has not changed it
 */
export async function attemptDelivery(deps: DeliveryDeps, id: Id, now: number): Promise<DeliveryStep> {
  try {
    const claimed = deps.permits.takeClaim(id);
    const first = claimed && (await makeAttempt(deps, id, now, { runsIn: 'local activity', claimed }));
    if (first) return first;
    for (let claims = 1; ; claims++) {
      const step = (await makeAttempt(deps, id, now, { runsIn: 'activity' })) ?? (await readState(deps.db, id, now));
      if (step) return step;
      if (claims === maxClaims) return { done: false, waitingFor: 'attempt', at: now, attempt: 1 };
    }
  } finally {
    deps.permits.release(id);
  }
}

/**
 * Claims the attempt that is due, posts it and records its outcome.
 * @param now Unix milliseconds
 * @returns the delivery's state after the attempt; undefined if nothing was claimed, and in the direct lane also if another query would be
 * needed
 */
export async function makeAttempt(
  deps: DeliveryDeps,
  id: Id,
  now: number,
  site: AttemptSite,
): Promise<DeliveryStep | undefined> {
  const claim = await claimAt(site, deps, id, now);
  if (!claim) return undefined;
  const started = performance.now();
  const { endpointId } = claim;
  const { host } = new URL(claim.url);
  await deps.failpoint('claimed');
  if (site.runsIn === 'direct lane') return postAndRecord(deps, id, claim, now);

  if (claim.interruptions > maxRepetitions) {
    deps.onAttempt({ endpointId, host, outcome: 'interrupted', durationMs: 0 });
    return (await recordFailure(deps, id, claim, undefined, new Date(now))) ?? stateAfter(deps, id, claim, now);
  }
  const isManual = claim.trigger !== 'schedule';
  const retryAt = deps.permits.acquire({ deliveryId: id, endpointId, host, isManual }, now);
  if (retryAt !== undefined) {
    const isPutOff = await putClaimOff(deps.db.source, id, claim, retryAt);
    if (isPutOff) return { done: false, waitingFor: 'attempt', at: retryAt, attempt: claim.number };
    return stateAfter(deps, id, claim, now);
  }
  const step = await postAndRecord(deps, id, claim, now);
  return step ?? stateAfter(deps, id, claim, now + Math.round(performance.now() - started));
}

/** @returns undefined if nothing is due, or if the fan-out's claim is too old. The function then releases this claim */
async function claimAt(site: AttemptSite, { db }: DeliveryDeps, id: Id, now: number): Promise<Claim | undefined> {
  if (site.runsIn === 'activity') return claimAttempt(db.source, id, now);
  if (isFresh(site.claimed)) return site.claimed.claim;
  await returnClaim(db, site.claimed, new Date(now));
  return undefined;
}

/** @returns undefined if the recording does not show the state */
async function postAndRecord(deps: DeliveryDeps, id: Id, claim: Claim, now: number): Promise<DeliveryStep | undefined> {
  const started = performance.now();
  const elapsed = () => Math.round(performance.now() - started);
  const { endpointId } = claim;
  const secrets = [claim.secret, ...(claim.previousSecret ? [claim.previousSecret] : [])];
  const answer = await deps.post({
    url: claim.url,
    eventId: claim.eventId,
    body: claim.body,
    secrets: secrets.map((secret) => deps.vault.open(secret, endpointId)),
  });
  await deps.failpoint('posted');
  const { outcome, durationMs, errorCode } = answer;
  const { host } = new URL(claim.url);
  deps.onAttempt({ endpointId, host, outcome, durationMs, ...(errorCode !== undefined && { errorCode }) });

  const recordedAt = new Date(now + elapsed());
  const record = async (): Promise<DeliveryStep | undefined> => {
    if (answer.outcome !== 'succeeded') return recordFailure(deps, id, claim, answer, recordedAt);
    const succeeded = await deps.recordSuccess(id, claim, answer, recordedAt);
    return succeeded ? { done: true, outcome: 'succeeded' } : undefined;
  };
  const answeredMs = elapsed();
  const leaseLasts = () => elapsed() < deliveryRules.leaseSeconds * 1_000 - recordMarginMs;
  const step = await untilRecorded(() => forRecord(record), leaseLasts);
  deps.permits.reportRecord(elapsed() - answeredMs);
  return step;
}

/** Retries to record the answer. Without the retries, a short outage of Postgres would lead to a second post of the same message. */
async function untilRecorded<T>(record: () => Promise<T>, leaseLasts: () => boolean): Promise<T> {
  for (const waitMs of recordRetryMs) {
    try {
      return await record();
    } catch (error) {
      if (!leaseLasts()) throw error;
      await sleep(waitMs);
    }
  }
  return record();
}

/** A resend that was requested during the attempt is made immediately, in the next step. */
async function stateAfter({ db }: DeliveryDeps, id: Id, claim: Claim, now: number): Promise<DeliveryStep> {
  const step = await readState(db, id, now);
  return step ?? { done: false, waitingFor: 'attempt', at: now, attempt: claim.number };
}
