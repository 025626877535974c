/** The relay carries facts and wakes from Postgres to Temporal. The clubs take turns (ENG-3, ENG-4, ENG-9). */
import type { Logger } from 'pino';
import type { DataSource } from 'typeorm';
import { bulk, type Priority } from '../../entities/facts/values.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { Database } from '../../platform/infra/postgres/database.ts';
import { describeError } from '../../platform/infra/describe-error.ts';
import { inSpan } from '../../platform/infra/tracing.ts';
import { listen, relayChannel } from '../../platform/infra/postgres/notifications.ts';
import { claimFacts, deferFact } from '../../platform/engine/facts.ts';
import { turnFromAnywhere, unknownFront, type Failure, type InHand, type Room } from '../../platform/engine/turns.ts';
import { claimWakes, deferWake, type ClaimedWake } from '../../platform/engine/wakes.ts';
import { workflowTypes } from '../../platform/engine/workflow-types.ts';
import type { DirectLane } from '../../domain/webhooks/attempts/permits.ts';
import type { LocalStarts } from '../lanes/attempt-permits.ts';
import { relayed, relayErrors } from '../reports/metrics.ts';
import { isEngineAway, type WorkflowClient } from '../temporal/workflow-client.ts';
import { createFactCarrier } from './carry-facts.ts';
import { sendWake } from './carry-wakes.ts';
import { createHandOver } from './lost-attempts.ts';
import { spanOfFact, spanOfWake } from './spans.ts';

/**
 * The number of facts and wakes that a relay handles at the same time. It is large enough to keep the engine busy, and small enough that
 * other clubs wait only briefly.
 */
export const maxInFlight = 32;
/**
 * The number of facts of one club, and also of wakes of one club, that a relay handles at the same time. So one busy club cannot block the
 * others.
 */
export const maxPerClub = 8;
/**
 * The share of permits that bulk work may use, both of all permits and of the permits of each club. The other permits are only for urgent
 * and normal work (ENG-15).
 */
const openToBulk = 3 / 4;
/**
 * If fewer than this number of permits are free, the relay first waits some milliseconds for more. A claim of one row costs about as much
 * as a claim of four. Without this wait, a burst would need one claim for each row.
 */
const gathering = { permits: 4, ms: 10 } as const;
/** The interval of polls, in milliseconds. If a NOTIFY is lost, its work is delayed by at most this time. */
const pollMs = 1_000;
/** A relay that has not looked for facts and wakes for this time, in milliseconds, counts as dead. */
const aliveMs = 15_000;

export interface RelayDeps {
  db: Database;
  /** The address of Postgres without transaction pooling, because LISTEN needs a connection of its own. */
  databaseUrl: string;
  /** Replaces LISTEN in simulations. */
  listen?: typeof listen;
  workflows: WorkflowClient;
  localAttempts: LocalStarts;
  /** Makes first attempts of deliveries in this process. If absent, runs make all attempts. */
  lane?: DirectLane;
  /**
   * The number of wakes with the priority bulk that the relay sends for one club in a second (`BULK_STARTS_PER_SECOND`). Further wakes with
   * this priority wait in Postgres. So they do not flood the engine, and urgent work is sent first.
   */
  bulkStartsPerSecond: number;
  /** Called before the relay starts the run of a wake eagerly. An eager start lets the run begin in this process if possible. */
  beforeStart?: (wake: Pick<ClaimedWake, 'workflowType' | 'subjectId' | 'clubId'>) => void;
  /** The factor by which waits of automations are shortened; 1 if absent. */
  waitSpeed?: number;
  /** The build of this process. A process without a build claims work only while no build is promoted. */
  buildId?: string | undefined;
  log: Logger;
  failpoint: (name: 'fanned_out' | 'wake_sent' | 'handed_over') => Promise<void>;
}

export interface Relay {
  /** Whether the relay has looked for facts and wakes in the last 15 seconds. It looks every second, unless Postgres is unavailable. */
  isAlive(): boolean;
  /** Stops claiming, and waits until the facts and wakes in progress are finished. */
  stop(): Promise<void>;
}

type Kind = 'fact' | 'wake';

export function startRelay(deps: RelayDeps): Relay {
  let stopped = false;
  let notified = false;
  let lookedAt = performance.now();
  let wakeUp = () => {};
  /**
   * A wake with the priority bulk keeps its permit for this time after the relay has sent the wake. So the permits of a club limit how many
   * of these wakes are sent for
   * the club in a second.
   */
  const bulkWakeMs = (1_000 * maxPerClub * openToBulk) / deps.bulkStartsPerSecond;
  const inFlight = new Set<Promise<void>>();
  const inHand = { fact: new Map<Id, InHand>(), wake: new Map<Id, InHand>() };
  const carryFact = createFactCarrier(deps);
  const handOverLostAttempts = createHandOver(deps);
  const turns = { fact: turnFromAnywhere(), wake: turnFromAnywhere() };
  const fronts = { fact: unknownFront(), wake: unknownFront() };
  /** False after a claim that found fewer rows than its limit. A NOTIFY, a released permit or a poll sets the value to true again. */
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
      await gatherPermits();
      notified = false;
      await handOverLostAttempts();
      const room = maxInFlight - inFlight.size;
      const claims = room > 0 ? await carryNext(room) : 0;
      if (stopped || claims > 0 || notified) continue;
      await nextNotification(pollMs);
    }
  }

  async function gatherPermits(): Promise<void> {
    const latest = performance.now() + gathering.ms;
    while (!stopped && maxInFlight - inFlight.size < gathering.permits) {
      const restMs = latest - performance.now();
      if (restMs <= 0) return;
      notified = false;
      await nextNotification(restMs);
    }
  }

  async function carryNext(room: number): Promise<number> {
    const half = Math.ceil(room / 2);
    if (performance.now() - lookedAt > pollMs) mayWait.fact = mayWait.wake = true;
    const looksForAll = mayWait.fact && mayWait.wake;
    try {
      // Facts and wakes get half of the free permits each. So a burst of one kind does not delay the other kind. The
      // next round uses the permits that stay free.
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
    mayWait[kind] = false; // set before the claim, so that a notification during the claim is not lost
    const rows = await rowsFor(deps.db.source, roomFor(kind, limit));
    // If the claim found fewer rows than the limit, every further row waits for a permit of its club. When such a permit is released,
    // `mayWait` becomes true again.
    if (rows.length === limit) mayWait[kind] = true;
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
   * @param putOff makes the row due again, a pause after a failure. If `putOff` fails too, the row can be claimed again when its lease ends
   * @param restMs the time for which a bulk row holds its permit after it was sent, in milliseconds
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
    const releaseBulk = () => {
      addTo(inHand[kind], row.clubId, { all: 0, bulk: -1 });
      notify('fact', 'wake'); // facts and wakes may wait for a bulk permit
    };
    const task = attempt().finally(() => {
      inFlight.delete(task);
      addTo(inHand[kind], row.clubId, { all: -1, bulk: 0 });
      if (isBulk && restMs > 0) setTimeout(releaseBulk, restMs).unref();
      else if (isBulk) releaseBulk();
      notify(kind); // other rows of the same club may wait for the permit
    });
    inFlight.add(task);
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
