/**
 * Fans out facts. For each fact, it makes one body from the current data. It then creates one delivery for each endpoint that subscribed to
 * the fact's type (HOOK-1). The body is also the entry of the event in the club's log (EVT-23).
 */
import type { Id } from '../../../platform/core/ids.ts';
import {
  removeFacts,
  togetherWaitsMs,
  type ClaimedFact,
  type FactResult,
  type FactToTell,
} from '../../../platform/engine/facts.ts';
import { runOf, type Run } from '../../../platform/engine/workflow-types.ts';
import { boundLockWaits, type Database, type Transaction } from '../../../platform/infra/postgres/database.ts';
import { firstClaim, type ClaimedDelivery } from '../attempts/claims.ts';
import { deliveryIdOf } from '../deliveries/delivery-id.ts';
import { factsToFanOut, lockAudience, lockFreeAudiences, needsBody, type Audience } from './audience.ts';
import { assembleBodies } from './bodies/assemble.ts';
import { withFirstAttempts, type FirstAttemptLanes, type FirstAttempts } from './first-attempts.ts';
import { insertEvents, readPending, type NewDelivery, type PlannedEvent } from './insert-deliveries.ts';

export interface FanOutOptions extends FirstAttemptLanes {
  /** Other consumers still need these facts, so the fan-out must not remove them. */
  neededByOthers?: ReadonlySet<Id>;
}

/** The run of a delivery that must be started. */
export interface DeliveryRun extends Run {
  /**
   * The endpoint of the delivery, if its first attempt may run in the relay's process. The attempt then counts for the endpoint's limit of
   * such attempts.
   */
  localAttemptAt?: Id;
  /** The claim of the first attempt. This attempt already has a permit. */
  claimed?: ClaimedDelivery;
}

/**
 * Inserts the event and its deliveries in one transaction. A repeated call changes nothing and returns the same result. So after a crash
 * between the commit and the start of the runs, another relay can finish the work.
 * @returns the deliveries that need a run; none if the student was removed before the fan-out
 */
export async function fanOut(db: Database, fact: FactToTell, now: Date): Promise<readonly NewDelivery[]> {
  const { deliveries } = await withFirstAttempts({}, (attempts) => fanOutAlone(db, fact, { now, attempts }));
  return deliveries;
}

/**
 * Fans out facts. Several facts share one transaction, which does not wait for the lock of a student, and waits only briefly for the lock
 * of an endpoint.
 * @returns the runs of each fact; `removed` is set only in a process with a direct lane
 * @throws the error of the transaction after its rollback. The caller must then fan out each fact alone
 */
export async function fanOutFacts(
  db: Database,
  facts: readonly ClaimedFact[],
  now: Date,
  { lane, localPermits, neededByOthers = new Set() }: FanOutOptions = {},
): Promise<FactResult<DeliveryRun>[]> {
  const neededFacts = await factsToFanOut(db, facts);
  if (neededFacts.length > 0) await lane?.ready();
  const [first] = neededFacts;
  const lanes = { ...(lane && { lane }), ...(localPermits && { localPermits }) };
  const fannedOut = await withFirstAttempts(lanes, async (attempts) => {
    const context = { now, attempts, ...(lane && { neededByOthers }) };
    if (facts.length === 1 && first) return new Map([[first.id, await fanOutAlone(db, first, context)]]);
    return fanOutTogether(db, neededFacts, context);
  });
  const neededIds = new Set(neededFacts.map(({ id }) => id));
  return facts.map((fact) => {
    if (!neededIds.has(fact.id)) return { kind: 'consumed', runs: [] };
    const result = fannedOut.get(fact.id);
    if (!result) return { kind: 'blocked' };
    if (result.isRemoved) return { kind: 'removed' };
    return { kind: 'consumed', runs: result.deliveries.map((delivery) => runOfDelivery(fact, delivery)) };
  });
}

const runOfDelivery = (
  { clubId, type }: ClaimedFact,
  { id, endpointId, healthy, claimed }: NewDelivery,
): DeliveryRun => ({
  ...runOf('webhookDelivery', { id, clubId, endpointId, eventType: type }),
  ...(healthy && { localAttemptAt: endpointId }),
  ...(claimed && { claimed }),
});

interface FanOutContext {
  now: Date;
  attempts: FirstAttempts;
  /** These facts must not be removed. If absent, this fan-out removes none. */
  neededByOthers?: ReadonlySet<Id>;
}

interface FannedOut {
  /** The deliveries that need a run. */
  deliveries: readonly NewDelivery[];
  /** Whether the fact was deleted. */
  isRemoved: boolean;
}

async function fanOutAlone(db: Database, fact: FactToTell, context: FanOutContext): Promise<FannedOut> {
  return db.transaction(async (tx) => {
    context.attempts.reset();
    const [result] = await fanOutTo(tx, [await lockAudience(tx, fact)], context);
    return result ?? { deliveries: [], isRemoved: false };
  });
}

/** @returns the results by the id of the fact. The function leaves out a fact if another transaction has locked the student of the fact */
async function fanOutTogether(
  db: Database,
  facts: readonly ClaimedFact[],
  context: FanOutContext,
): Promise<ReadonlyMap<Id, FannedOut>> {
  if (facts.length === 0) return new Map();
  return db.transaction(async (tx) => {
    context.attempts.reset();
    await boundLockWaits(tx, togetherWaitsMs);
    const audiences = await lockFreeAudiences(tx, facts);
    const results = await fanOutTo(tx, audiences, context);
    return new Map(
      audiences.map(({ fact }, index) => [fact.id, results[index] ?? { deliveries: [], isRemoved: false }]),
    );
  });
}

/** @returns the result for each audience, in the order of the audiences */
async function fanOutTo(tx: Transaction, audiences: readonly Audience[], context: FanOutContext): Promise<FannedOut[]> {
  const planned = await planEvents(tx, audiences, context);
  const claimedAt = performance.now();
  const { inserted, late } = await insertEvents(tx, planned, context.now);
  const results: { fact: FactToTell; deliveries: readonly NewDelivery[] }[] = [];
  for (const event of planned) {
    const isClaimable = (id: Id) => inserted.has(id) && !late.has(id);
    const claims = claimsOf(event, isClaimable, claimedAt, context);
    const isNew = event.deliveries.every(({ id }) => inserted.has(id));
    const pending = isNew ? event.deliveries.map(newDelivery) : await readPending(tx, event.fact.id);
    const deliveries = pending.flatMap((delivery) => {
      const claimed = claims.get(delivery.id);
      return claimed?.claim.direct ? [] : [{ ...delivery, ...(claimed && { claimed }) }];
    });
    results.push({ fact: event.fact, deliveries: event.body === null ? [] : deliveries });
  }
  const removed = await removeFinished(tx, results, context);
  return results.map(({ fact, deliveries }) => ({ deliveries, isRemoved: removed.has(fact.id) }));
}

/** Assembles the bodies, and acquires permits for first attempts. */
async function planEvents(
  tx: Transaction,
  audiences: readonly Audience[],
  { now, attempts }: FanOutContext,
): Promise<PlannedEvent[]> {
  const withBody = audiences.filter(needsBody);
  const bodies = await assembleBodies(tx, withBody, now);
  const bodyOf = new Map(withBody.map(({ fact }, index) => [fact.id, bodies[index]]));
  return audiences.map(({ fact, endpoints }) => {
    const body = bodyOf.get(fact.id) ?? null;
    const deliveries = endpoints.map((endpoint) => {
      const id = deliveryIdOf(fact.id, endpoint.endpointId);
      return { id, endpoint, site: body === null ? undefined : attempts.acquire(id, endpoint) };
    });
    return { fact, body, deliveries };
  });
}

/** @returns the claims that the transaction has written, by delivery id. The permits of all other deliveries are released */
function claimsOf(
  { fact, body, deliveries }: PlannedEvent,
  isClaimable: (deliveryId: Id) => boolean,
  claimedAt: number,
  { now, attempts }: FanOutContext,
): ReadonlyMap<Id, ClaimedDelivery> {
  const claims = new Map<Id, ClaimedDelivery>();
  for (const { id, endpoint, site } of deliveries) {
    if (!site) continue;
    if (!isClaimable(id)) {
      attempts.release(id);
      continue;
    }
    const claim = firstClaim(fact, endpoint, { body: body ?? '', now, direct: site === 'direct lane' });
    const claimed = { id, claim, claimedAt, ...(fact.traceparent && { traceparent: fact.traceparent }) };
    claims.set(id, claimed);
    attempts.add(claimed);
  }
  return claims;
}

const newDelivery = ({ id, endpoint }: PlannedEvent['deliveries'][number]): NewDelivery => ({
  id,
  endpointId: endpoint.endpointId,
  healthy: endpoint.healthy,
});

/** Deletes the facts that need no further work. @returns their ids */
async function removeFinished(
  tx: Transaction,
  results: readonly { fact: FactToTell; deliveries: readonly NewDelivery[] }[],
  { neededByOthers }: FanOutContext,
): Promise<ReadonlySet<Id>> {
  if (!neededByOthers) return new Set();
  const finished = results.flatMap(({ fact, deliveries }) =>
    deliveries.length === 0 && !neededByOthers.has(fact.id) ? [fact] : [],
  );
  if (finished.length > 0) await removeFacts(tx, finished);
  return new Set(finished.map(({ id }) => id));
}
