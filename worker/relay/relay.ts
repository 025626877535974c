/** The relay: carries facts and wakes from Postgres to Temporal, round robin over clubs (ENG-3, ENG-4, ENG-9). */
import type { Logger } from 'pino';
import type { DataSource } from 'typeorm';
import { bulk, type Priority } from '../../entities/facts/values.ts';
import { timeOfId, type Id } from '../../platform/core/ids.ts';
import { gathered } from '../../platform/core/gathered.ts';
import { causeOf, spanOf } from '../../platform/core/traces.policy.ts';
import type { Database } from '../../platform/infra/postgres/database.ts';
import { describeError } from '../../platform/infra/describe-error.ts';
import { inSpan, traceparent, type SpanOptions } from '../../platform/infra/tracing.ts';
import { listen, relayChannel } from '../../platform/infra/postgres/notifications.ts';
import { claimFacts, deferFact, removeFacts, type ClaimedFact } from '../../platform/engine/facts.ts';
import {
  turnFromAnywhere,
  unknownFront,
  untilNextLook,
  type Failure,
  type InHand,
  type Room,
} from '../../platform/engine/turns.ts';
import { claimWakes, deferWake, removeWake, type ClaimedWake } from '../../platform/engine/wakes.ts';
import { workflowTypes, type Run } from '../../platform/engine/workflow-types.ts';
import { contextsInLockOrder, type CausedWorkflow, type ConsumerOptions } from '../../domain/contexts.ts';
import { handOverLost, returnClaim, type DirectLane } from '../../domain/webhooks/attempts/claims.ts';
import type { LocalStarts } from '../lanes/attempt-permits.ts';
import { factBatches, firstAttempts, handedOver, relayed, relayErrors } from '../reports/metrics.ts';
import { isEngineAway, type WorkflowClient } from '../temporal/workflow-client.ts';

/** Facts and wakes in hand at a time: enough to keep the engine busy, few enough that another club's turn comes soon. */
export const maxInFlight = 32;
/** Of these, facts of one club, and wakes of one club: what waits for one busy endpoint must not hold up the others. */
export const maxPerClub = 8;
/** The share of places that is open to bulk. The rest is for urgent and normal work, also of the same club (ENG-15). */
const openToBulk = 3 / 4;
/**
 * A relay with hardly a free place gathers some more, or waits so long, before it claims: a claim costs about the same whether
 * it finds one row or four, and in a burst there would be one for each row that was carried.
 */
const gathering = { places: 4, ms: 10 } as const;
/** How often the relay polls: a lost NOTIFY costs at most this. */
const pollMs = 1_000;
/** A relay that has not read its work for so long is not alive. */
const aliveMs = 15_000;

export interface RelayDeps {
  db: Database;
  /** A direct connection, without transaction pooling: LISTEN needs one of its own. */
  databaseUrl: string;
  /** In place of LISTEN, for simulations; the real one if absent. */
  listen?: typeof listen;
  workflows: WorkflowClient;
  localAttempts: LocalStarts;
  /** Makes first attempts of deliveries in this process; absent: all are made by runs. */
  lane?: DirectLane;
  /**
   * Wakes of bulk that it sends a second for one club (`BULK_STARTS_PER_SECOND`). What waits stays in Postgres, where urgent work
   * overtakes it, and does not fill the engine.
   */
  bulkStartsPerSecond: number;
  /** A wake's run is about to be started, in this process if it can. */
  beforeStart?: (wake: Pick<ClaimedWake, 'workflowType' | 'subjectId' | 'clubId'>) => void;
  /** How many times faster waits of automations pass; 1 if absent. */
  waitSpeed?: number;
  /** Of this process. Absent in a checkout, which claims while no build is current. */
  buildId?: string | undefined;
  log: Logger;
  /** A place where tests stop the process; does nothing otherwise. */
  failpoint: (name: 'fanned_out' | 'wake_sent' | 'handed_over') => Promise<void>;
}

export interface Relay {
  /** Whether it has read its work lately: it does so every second, unless Postgres is away. */
  isAlive(): boolean;
  /** Takes nothing new and waits for what is under way. */
  stop(): Promise<void>;
}

type Kind = 'fact' | 'wake';

export function startRelay(deps: RelayDeps): Relay {
  let stopped = false;
  let notified = false;
  let lookedAt = performance.now();
  let looksForLostAt = -Infinity;
  let wakeUp = () => {};
  /** A sent wake of bulk keeps its place for so long, so the places of a club limit its pace. */
  const bulkWakeMs = (1_000 * maxPerClub * openToBulk) / deps.bulkStartsPerSecond;
  const inFlight = new Set<Promise<void>>();
  const inHand = { fact: new Map<Id, InHand>(), wake: new Map<Id, InHand>() };
  const carryFact = createCarrier(deps);
  const turns = { fact: turnFromAnywhere(), wake: turnFromAnywhere() };
  const fronts = { fact: unknownFront(), wake: unknownFront() };
  /** Whether a claim may find rows. After a claim that found fewer than it wanted, not before a NOTIFY, a freed place or a poll. */
  const mayWait = { fact: true, wake: true };
  const notify = (...kinds: readonly Kind[]) => {
    for (const kind of kinds) mayWait[kind] = true;
    notified = true;
    wakeUp();
  };
  const listener = (deps.listen ?? listen)({
    databaseUrl: deps.databaseUrl,
    source: deps.db.source,
    name: 'club-relay',
    channel: relayChannel,
    onNotify: () => notify('fact', 'wake'),
    onFailure: (error) => deps.log.warn({ error: describeError(error) }, 'the relay cannot listen; it polls'),
  });

  async function run(): Promise<void> {
    while (!stopped) {
      await gatherPlaces();
      notified = false;
      await lookForLost();
      const room = maxInFlight - inFlight.size;
      const taken = room > 0 ? await takeUp(room) : 0;
      if (stopped || taken > 0 || notified) continue;
      await nextNotification(pollMs);
    }
  }

  /** Whichever process began a direct attempt: one that died, or was given another lane, looks no more. */
  async function lookForLost(): Promise<void> {
    const begun = performance.now();
    if (begun < looksForLostAt) return;
    looksForLostAt = begun + pollMs;
    try {
      const count = await handOverLost(deps.db, new Date());
      looksForLostAt = begun + untilNextLook(performance.now() - begun);
      if (count === 0) return;
      handedOver.inc(count);
      await deps.failpoint('handed_over');
    } catch (error) {
      deps.log.error({ error: describeError(error) }, 'the relay cannot look for lost direct attempts');
    }
  }

  async function gatherPlaces(): Promise<void> {
    const latest = performance.now() + gathering.ms;
    while (!stopped && maxInFlight - inFlight.size < gathering.places) {
      const leftMs = latest - performance.now();
      if (leftMs <= 0) return;
      notified = false;
      await nextNotification(leftMs);
    }
  }

  /** Takes up to so many facts and wakes and carries each on its own. @returns how many there were */
  async function takeUp(room: number): Promise<number> {
    const half = Math.ceil(room / 2);
    if (performance.now() - lookedAt > pollMs) mayWait.fact = mayWait.wake = true;
    const looksForAll = mayWait.fact && mayWait.wake;
    try {
      // Half for each, so that a burst of one kind does not delay the other. The next turn uses the places that stay free.
      const wakes = await claim('wake', claimWakes, mayWait.fact ? half : room);
      for (const wake of wakes) {
        carry(
          'wake',
          wake,
          () => inSpan(`wake ${wake.workflowType}`, spanOfWake(wake), () => sendWake(deps, wake)),
          (failure) => deferWake(deps.db.source, wake, failure),
          bulkWakeMs * workflowTypes[wake.workflowType].bulkStarts,
        );
      }
      const facts = await claim('fact', claimFacts, wakes.length > 0 ? half : room);
      if (looksForAll) lookedAt = performance.now();
      for (const fact of facts) {
        carry(
          'fact',
          fact,
          () => inSpan(`fact ${fact.type}`, spanOfFact(fact), () => carryFact(fact)),
          (failure) => deferFact(deps.db.source, fact, failure),
        );
      }
      return wakes.length + facts.length;
    } catch (error) {
      deps.log.error({ error: describeError(error) }, 'the relay cannot read its work');
      mayWait.fact = mayWait.wake = true;
      await nextNotification(pollMs);
      return 0;
    }
  }

  async function claim<Row>(
    kind: Kind,
    rowsFor: (db: DataSource, room: Room) => Promise<Row[]>,
    limit: number,
  ): Promise<Row[]> {
    if (!mayWait[kind]) return [];
    mayWait[kind] = false; // before the claim, never after it: a notification that comes during it must not be lost
    const rows = await rowsFor(deps.db.source, roomFor(kind, limit));
    if (rows.length === limit) mayWait[kind] = true; // fewer: rows beyond a club's places are claimed as these are done
    return rows;
  }

  const roomFor = (kind: Kind, limit: number): Room => ({
    limit,
    bulk: Math.max(0, maxInFlight * openToBulk - bulkOf(inHand.fact) - bulkOf(inHand.wake)),
    perClub: maxPerClub,
    bulkPerClub: maxPerClub * openToBulk,
    inHand: inHand[kind],
    turn: turns[kind],
    front: fronts[kind],
    buildId: deps.buildId,
  });

  /**
   * @param putOff makes the row due again after a pause; if that fails too, its lease runs out
   * @param restMs how long a row of bulk keeps its place afterwards
   */
  function carry(
    kind: Kind,
    row: { clubId: Id; priority: Priority },
    work: () => Promise<void>,
    putOff: (failure: Failure) => Promise<void>,
    restMs = 0,
  ): void {
    addTo(inHand[kind], row.clubId, { all: 1, bulk: row.priority === bulk ? 1 : 0 });
    const attempt = async () => {
      try {
        await work();
        relayed.inc({ kind });
      } catch (error) {
        relayErrors.inc({ kind });
        deps.log.warn({ kind, error: describeError(error) }, 'the relay will try again');
        await putOff(isEngineAway(error) ? 'away' : 'its own').catch(() => {});
      }
    };
    const isBulk = row.priority === bulk;
    const giveBackBulk = () => {
      addTo(inHand[kind], row.clubId, { all: 0, bulk: -1 });
      notify('fact', 'wake'); // either may have waited for a place that is open to bulk
    };
    const carried = attempt().finally(() => {
      inFlight.delete(carried);
      addTo(inHand[kind], row.clubId, { all: -1, bulk: 0 });
      if (isBulk && restMs > 0) setTimeout(giveBackBulk, restMs).unref();
      else if (isBulk) giveBackBulk();
      notify(kind); // more rows of its club may wait
    });
    inFlight.add(carried);
  }

  function nextNotification(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, timeoutMs);
      wakeUp = () => {
        clearTimeout(timer);
        resolve();
      };
      if (notified) wakeUp();
    });
  }

  const running = run();
  return {
    isAlive: () => performance.now() - lookedAt < aliveMs,
    async stop() {
      stopped = true;
      notify();
      await running;
      await Promise.all(inFlight);
      await listener.stop();
    },
  };
}

function addTo(inHand: Map<Id, InHand>, clubId: Id, change: InHand): void {
  const before = inHand.get(clubId) ?? { all: 0, bulk: 0 };
  const after = { all: before.all + change.all, bulk: before.bulk + change.bulk };
  if (after.all > 0 || after.bulk > 0) inHand.set(clubId, after);
  else inHand.delete(clubId);
}

function bulkOf(inHand: ReadonlyMap<Id, InHand>): number {
  return [...inHand.values()].reduce((sum, ofClub) => sum + ofClub.bulk, 0);
}

/**
 * Hands facts to their consumers, starts the workflows that they caused, and only then deletes them: after a crash all is repeated.
 * Facts that were claimed together go together through the consumers; if anything fails there, each goes by itself, so that one
 * cannot hold up the others. One batch at a time: what is claimed meanwhile is the next one.
 */
function createCarrier(deps: RelayDeps): (fact: ClaimedFact) => Promise<void> {
  const { db, workflows, localAttempts, failpoint } = deps;
  const alone = async (fact: ClaimedFact) => {
    const [told] = await consumeAll(deps, [fact]);
    if (!told) throw new Error('A fact that is given alone is told');
    return told;
  };
  const start = async (run: Run, isLocal: boolean) => {
    const started = await workflows.start(run, [isLocal]);
    if (started !== 'before') firstAttempts.inc({ lane: 'workflow' });
    return started === 'here';
  };
  const consume = gathered(async (facts: readonly ClaimedFact[]) => {
    factBatches.observe(facts.length);
    // One that comes alone waits for whoever holds its student, so it must not make others wait.
    const together =
      facts.length > 1
        ? await inSpan('facts together', spanOfBatch(facts), () => consumeAll(deps, facts)).catch(() => [])
        : [];
    return facts.map((fact, place) => async () => together[place] ?? alone(fact));
  });
  const remove = gathered(async (facts: readonly ClaimedFact[]) => {
    await removeFacts(db.source, facts);
    return facts;
  });
  return async (leased) => {
    const here = traceparent(); // what follows goes on from the span of the relay
    const fact = here === undefined ? leased : { ...leased, traceparent: here };
    const told = await (await consume(fact))();
    if (told === 'removed') return;
    await failpoint('fanned_out');
    await Promise.all(
      told.map(({ localAttemptAt: endpointId, claimed, ...run }) =>
        localAttempts.start(
          { id: run.subjectId, endpointId, claimed },
          {
            start: (isLocal) => start({ ...run, priority: fact.priority }, isLocal),
            giveBack: (unused) => returnClaim(db, unused, new Date()),
          },
        ),
      ),
    );
    await remove(fact);
  };
}

/** @returns for each fact the workflows to start, or that it is gone; undefined for one that is to be given alone */
async function consumeAll(
  { db, waitSpeed, lane, localAttempts }: RelayDeps,
  facts: readonly ClaimedFact[],
): Promise<(CausedWorkflow[] | 'removed' | undefined)[]> {
  const now = new Date();
  const told = new Map<Id, CausedWorkflow[] | 'removed'>(facts.map(({ id }) => [id, []]));
  const kept = new Set<Id>();
  const options: ConsumerOptions = {
    kept,
    ...(waitSpeed !== undefined && { waitSpeed }),
    ...(lane && { lane }),
    ...(localAttempts.lane && { localLane: localAttempts.lane }),
  };
  for (const consume of contextsInLockOrder.flatMap(({ factConsumers }) => factConsumers)) {
    const open = facts.filter(({ id }) => told.has(id)); // what one consumer wants alone, the others are given alone, too
    const answers = await consume(db, open, now, options);
    for (const [place, { id }] of open.entries()) {
      const caused = answers[place];
      const before = told.get(id) ?? [];
      if (caused === undefined) told.delete(id);
      else if (caused === 'removed' || before === 'removed') told.set(id, 'removed');
      else told.set(id, [...before, ...caused]);
      if (caused !== undefined && caused.length > 0) kept.add(id);
    }
  }
  return facts.map(({ id }) => told.get(id));
}

function spanOfFact({ id, type, traceparent: written }: ClaimedFact): SpanOptions {
  const cause = causeOf({ traceparent: written, at: timeOfId(id) });
  return { kind: 'consumer', cause, attributes: { 'club.fact.id': id, 'club.fact.type': type } };
}

function spanOfWake({ workflowType, workflowId, traceparent: written, recordedAt }: ClaimedWake): SpanOptions {
  const cause = causeOf({ traceparent: written, at: recordedAt.getTime() });
  return {
    kind: 'consumer',
    cause,
    attributes: { 'club.workflow.type': workflowType, 'club.workflow.id': workflowId },
  };
}

/** One transaction for facts of several traces: it lies in one that is kept, if any is, and links to the others. */
function spanOfBatch(facts: readonly ClaimedFact[]): SpanOptions {
  const spans = facts.flatMap(({ traceparent: span }) => (span ? [span] : []));
  const kept = spans.find((span) => spanOf(span)?.isSampled) ?? spans[0];
  return {
    cause: causeOf({ traceparent: kept, at: Date.now() }),
    links: spans.filter((span) => span !== kept),
    attributes: { 'club.facts': facts.length },
  };
}

/** Deletes the wake only if it was not raised meanwhile: a wake that came later must be sent too. */
async function sendWake(deps: RelayDeps, wake: ClaimedWake): Promise<void> {
  const { db, workflows, failpoint, beforeStart } = deps;
  // The run of a raised wake probably exists already.
  const eagerly = workflowTypes[wake.workflowType].startsEagerly && !wake.raised;
  if (eagerly) beforeStart?.(wake);
  await (eagerly ? workflows.startOrSignal(wake) : workflows.signalWithStart(wake));
  await failpoint('wake_sent');
  await removeWake(db.source, wake);
}
