/** The step of a delivery: claim an attempt, post it, record the outcome (ENG-2, HOOK-2). */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Id } from '../../../platform/core/ids.ts';
import type { AttemptOutcome } from '../../../entities/webhooks/values.ts';
import { claimAttempt, leaseSeconds, type Claim } from './claim.ts';
import { readState, type DeliveryStep } from './parking.ts';
import type { AttemptAnswer } from './post.ts';
import { recordFailure, recordSuccess, type RecordDeps } from './record.ts';

export interface DeliveryDeps extends RecordDeps {
  /** Makes the one request of an attempt; a result whatever the receiver does. */
  post: (message: { url: string; eventId: Id; body: string; secrets: string[] }) => Promise<AttemptAnswer>;
  /** Told how each attempt ended, before it is recorded. */
  onAttempt: (attempt: { endpointId: Id; outcome: AttemptOutcome; durationMs: number }) => void;
  /** A place where tests stop the process; does nothing otherwise. */
  failpoint: (name: 'claimed' | 'posted') => Promise<void>;
}

/** How often a number is used again after an interruption, before it counts as a failed attempt. */
const maxRepetitions = 3;
/** Claims that one step tries: what is open when it is looked at may be shut again when it is claimed. */
const maxClaims = 3;
/** Waits between tries to record an answer, in milliseconds: most absences of Postgres are shorter than the lease. */
const recordAgainAfterMs = [100, 400, 1_500, 3_000];
/** The last try to record begins so long before the lease runs out. */
const recordMarginMs = 2_000;

/**
 * Takes the delivery one step further, if it is due.
 * @param now Unix milliseconds
 * @returns what Postgres holds now, whether or not this call brought it about
 */
export async function attemptDelivery(deps: DeliveryDeps, id: Id, now: number): Promise<DeliveryStep> {
  for (let claims = 1; ; claims++) {
    const claim = await claimAttempt(deps.db.source, id, now);
    if (claim) return makeAttempt(deps, id, claim, now);
    const step = await readState(deps.db, id, now);
    if (step) return step;
    if (claims === maxClaims) return { done: false, waitingFor: 'attempt', at: now, attempt: 1 };
  }
}

async function makeAttempt(deps: DeliveryDeps, id: Id, claim: Claim, now: number): Promise<DeliveryStep> {
  const { db, vault } = deps;
  const started = performance.now();
  const elapsed = () => Math.round(performance.now() - started);
  await deps.failpoint('claimed');

  if (claim.interruptions > maxRepetitions) {
    deps.onAttempt({ endpointId: claim.endpointId, outcome: 'interrupted', durationMs: 0 });
    await recordFailure(deps, id, claim, undefined, new Date(now));
    return stepAfter(deps, id, claim, now);
  }

  const secrets = [claim.secret, ...(claim.previousSecret ? [claim.previousSecret] : [])];
  const answer = await deps.post({
    url: claim.url,
    eventId: claim.eventId,
    body: claim.body,
    secrets: secrets.map((secret) => vault.open(secret, claim.endpointId)),
  });
  await deps.failpoint('posted');
  deps.onAttempt({ endpointId: claim.endpointId, outcome: answer.outcome, durationMs: answer.durationMs });

  const recordedAt = new Date(now + elapsed());
  const record = () =>
    answer.outcome === 'succeeded'
      ? recordSuccess(db, id, claim, answer, recordedAt)
      : recordFailure(deps, id, claim, answer, recordedAt).then(() => false);
  const succeeded = await untilRecorded(record, () => elapsed() < leaseSeconds * 1_000 - recordMarginMs);
  return succeeded ? { done: true, outcome: 'succeeded' } : stepAfter(deps, id, claim, now + elapsed());
}

/** What was posted is worth recording: posting it again because Postgres was away for a moment would be a duplicate. */
async function untilRecorded(record: () => Promise<boolean>, leaseLasts: () => boolean): Promise<boolean> {
  for (const waitMs of recordAgainAfterMs) {
    try {
      return await record();
    } catch (error) {
      if (!leaseLasts()) throw error;
      await sleep(waitMs);
    }
  }
  return record();
}

/** What is open right after an attempt (a resend was asked for meanwhile) is seen to by the next step. */
async function stepAfter({ db }: DeliveryDeps, id: Id, claim: Claim, now: number): Promise<DeliveryStep> {
  const step = await readState(db, id, now);
  return step ?? { done: false, waitingFor: 'attempt', at: now, attempt: claim.number };
}
