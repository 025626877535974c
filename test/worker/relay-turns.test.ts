import { readConfig } from '../../config.ts';
import { bulk as bulkPriority } from '../../entities/facts/values.ts';
import { Secret } from '../../platform/core/secret.ts';
import type { EventType } from '../../platform/core/event-types.ts';
import { newId, noClub, type Id } from '../../platform/core/ids.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { wakeRuns } from '../../platform/engine/wakes.ts';
import type { Run, WorkflowType } from '../../platform/engine/workflow-types.ts';
import { createDataSource } from '../../entities/data-source.ts';
import { maxInFlight, startRelay, type Relay, type RelayDeps } from '../../worker/relay/relay.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildClub } from '../toolkit/builders/clubs.ts';
import { buildEndpoint, buildSubscription, type Subscription } from '../toolkit/builders/webhooks.ts';
import { commitFact } from '../toolkit/drive/facts.ts';
import { withOpenTransaction } from '../toolkit/drive/races.ts';
import { until } from '../toolkit/drive/until.ts';
import { startPostgresLine } from '../toolkit/fakes/postgres-line.ts';
import { withoutTimersOf } from '../toolkit/fakes/timers.ts';
import { testDatabase, testDeps } from '../toolkit/stack/database.ts';
import { expect } from 'chai';
import { Database } from '../../platform/infra/postgres/database.ts';
import { mock } from 'node:test';
import type { Pool, QueryConfig } from 'pg';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import type { DataSource } from 'typeorm';
import type { Metric, MetricObjectWithValues, MetricValueWithName } from 'prom-client';
import { isDeepStrictEqual } from 'node:util';
import { noLocalAttempts } from '../../worker/lanes/attempt-permits.ts';
import { factBatches, firstAttempts } from '../../worker/reports/metrics.ts';

/** Calls of this client wait until the test calls `release`. */
class WaitingEngine {
  readonly started: string[] = [];
  readonly woken: string[] = [];
  readonly startedOrSignaled: string[] = [];
  readonly #released = Promise.withResolvers<void>();

  async start({ subjectId }: { subjectId: string }): Promise<'here' | 'before'> {
    const isNew = !this.started.includes(subjectId);
    this.started.push(subjectId);
    await this.#released.promise;
    return isNew ? 'here' : 'before';
  }
  async signalWithStart({ subjectId }: { subjectId: string }): Promise<void> {
    this.woken.push(subjectId);
    await this.#released.promise;
  }
  async startOrSignal({ subjectId }: { subjectId: string }): Promise<void> {
    this.startedOrSignaled.push(subjectId);
    await this.#released.promise;
  }
  release(): void {
    this.#released.resolve();
  }
}

/** Refuses to start the runs of one event type. */
class RefusingEngine extends WaitingEngine {
  readonly refused: string[] = [];
  readonly #type: EventType;

  constructor(type: EventType) {
    super();
    this.release();
    this.#type = type;
  }

  override async start(run: Run): Promise<'here' | 'before'> {
    if (run.attributes.EventType !== this.#type) return super.start(run);
    this.refused.push(run.subjectId);
    throw new Error('refused');
  }
}

/** The second start fails. */
class FailingOnceEngine extends WaitingEngine {
  #calls = 0;

  override async start(run: Run): Promise<'here' | 'before'> {
    this.#calls++;
    if (this.#calls === 2) throw new Error('The start failed once.');
    return super.start(run);
  }
}

const sumOf = async (metric: Metric, name: string, labels: Record<string, string> = {}) => {
  const { values } = (await metric.get()) as MetricObjectWithValues<MetricValueWithName<string>>;
  return values
    .filter(({ metricName = name, labels: own }) => metricName === name && isDeepStrictEqual(own, labels))
    .reduce((sum, { value }) => sum + value, 0);
};
/** Counted since this process began. */
const factBatchesSoFar = async () => ({
  batches: await sumOf(factBatches, 'webhook_facts_together_count'),
  facts: await sumOf(factBatches, 'webhook_facts_together_sum'),
});
const startedSoFar = () => sumOf(firstAttempts, 'webhook_first_attempts_total', { lane: 'workflow' });

/** Every first attempt is an ordinary activity. */
async function relayTo(
  workflows: RelayDeps['workflows'],
  source?: DataSource,
  bulkStartsPerSecond = 24,
  beforeStart: RelayDeps['beforeStart'] = () => {},
): Promise<Relay> {
  const { db } = await testDeps();
  return startRelay({
    db: source ? new Database(source, db.notifier) : db,
    databaseUrl: readConfig().database.url.reveal(),
    workflows,
    localAttempts: noLocalAttempts,
    beforeStart,
    bulkStartsPerSecond,
    log: pino({ level: 'silent' }),
    async failpoint() {},
  });
}

describe('the relay', () => {
  describe('with 40 facts and 40 wakes of five clubs', () => {
    const clubs = 5;
    const ofAClub = 8;
    const wave = clubs * ofAClub;
    const engine = new WaitingEngine();
    let relay: Relay;
    let subscriptions: Subscription[];

    before('commit the facts and the wakes, and start the relay', async () => {
      subscriptions = await Promise.all(Array.from({ length: clubs }, () => buildSubscription('https://example.com/')));
      const { db } = await testDeps();
      for (const subscription of subscriptions) {
        for (let count = 1; count <= ofAClub; count++) await commitFact(subscription, { notified: false });
        const wakes = Array.from({ length: ofAClub }, () => ({
          workflowType: 'webhookDelivery' as const,
          subjectId: newId(),
          clubId: subscription.clubId,
          attributes: {},
        }));
        await db.transaction((tx) => wakeRuns(tx, wakes, new Date()));
      }
      relay = await relayTo(engine);
    });
    after('stop the relay', async () => {
      engine.release();
      await relay.stop();
    });

    it('gives the facts and the wakes equal numbers of permits', async () => {
      await until('a full relay', { timeoutMs: 10_000 }, async () => {
        return engine.started.length + engine.woken.length >= maxInFlight;
      });
      expect({ started: engine.started.length, woken: engine.woken.length }).to.deep.equal({
        started: maxInFlight / 2,
        woken: maxInFlight / 2,
      });
    });

    it('handles each fact and each wake exactly once', async () => {
      engine.release();
      const waiting = async () => {
        const source = await testDatabase();
        return source.query<unknown[]>(`SELECT 1 FROM facts UNION ALL SELECT 1 FROM wakes`);
      };
      await until('the end of both waves', { timeoutMs: 10_000 }, async () => (await waiting()).length === 0);
      await eachCase([engine.started, engine.woken], (carried) => {
        expect(carried).to.have.length(wave);
        expect(new Set(carried).size).to.equal(wave);
      });
    });
  });

  it('starts runs of some workflow types eagerly if the wake is new', async () => {
    const { db } = await testDeps();
    const { id: clubId } = await buildClub();
    const wakeOf = (workflowType: WorkflowType) => ({ workflowType, subjectId: newId(), clubId, attributes: {} });
    const [first, raised, other] = [wakeOf('agentAnswer'), wakeOf('agentAnswer'), wakeOf('subscriptionEnd')];
    await db.transaction((tx) => wakeRuns(tx, [first, raised, other], new Date()));
    await db.transaction((tx) => wakeRuns(tx, [raised], new Date()));
    const engine = new WaitingEngine();
    engine.release();
    const relay = await relayTo(engine);
    try {
      await until(
        'all three',
        { timeoutMs: 10_000 },
        async () => engine.startedOrSignaled.length + engine.woken.length >= 3,
      );
      expect(engine.startedOrSignaled).to.deep.equal([first.subjectId]);
      expect(engine.woken).to.have.members([raised.subjectId, other.subjectId]);
    } finally {
      await relay.stop();
    }
  });

  for (const { workflowType, restMs } of [
    { workflowType: 'transactionalMail', restMs: 500 }, // there are six permits, and each mail holds a permit for half a second
    { workflowType: 'automationRun', restMs: 1_500 }, // one wake counts as three mails
  ] as const)
    it(`limits how fast it sends wakes of ${workflowType} with the priority bulk (ENG-15)`, async () => {
      const { db } = await testDeps();
      const { id: clubId } = await buildClub();
      const wakeOf = (priority: 0 | 2) => ({
        workflowType,
        subjectId: newId(),
        clubId,
        attributes: {},
        priority,
      });
      const bulk = Array.from({ length: 12 }, () => wakeOf(2));
      await db.transaction((tx) => wakeRuns(tx, bulk, new Date()));
      const engine = new WaitingEngine();
      engine.release();
      const startedAt = performance.now();
      const relay = await relayTo(engine, undefined, 12);
      try {
        await until('the first bulk', { timeoutMs: 10_000 }, async () => engine.woken.length > 0);
        const urgent = wakeOf(0);
        await db.transaction((tx) => wakeRuns(tx, [urgent], new Date()));
        await until('all', { timeoutMs: 10_000 }, async () => engine.woken.length === bulk.length + 1);
        expect(engine.woken.at(-1)).not.to.equal(urgent.subjectId);
        // The second wake gets the permit of the first wake.
        expect(performance.now() - startedAt).to.be.greaterThan(restMs);
      } finally {
        await relay.stop();
      }
    });

  for (const { of, clubs, places } of [
    { of: 'its permits', clubs: 8, places: (maxInFlight * 3) / 4 },
    { of: 'a club’s 8 permits', clubs: 1, places: 6 },
  ])
    it(`gives bulk wakes only three quarters of ${of} (ENG-15)`, async () => {
      const { db } = await testDeps();
      const clubIds = Array.from({ length: clubs }, newId);
      const wakeOf = (clubId: Id, priority: 0 | 2): Run => ({
        workflowType: 'transactionalMail',
        subjectId: newId(),
        clubId,
        attributes: {},
        priority,
      });
      const bulk = clubIds.flatMap((clubId) => Array.from({ length: 8 }, () => wakeOf(clubId, 2)));
      await db.transaction((tx) => wakeRuns(tx, bulk, new Date()));
      const engine = new WaitingEngine();
      const relay = await relayTo(engine);
      try {
        await until('as much bulk as may be', { timeoutMs: 10_000 }, async () => engine.woken.length >= places);
        // The relay has claimed as many bulk wakes as its limit allows.
        const urgent = wakeOf(clubIds[0] ?? noClub, 0);
        await db.transaction((tx) => wakeRuns(tx, [urgent], new Date()));
        await until('what is urgent', { timeoutMs: 10_000 }, async () => engine.woken.length > places);
        expect(engine.woken.slice(places)).to.deep.equal([urgent.subjectId]);
      } finally {
        engine.release();
        await relay.stop();
        await db.run(sql`DELETE FROM wakes`);
      }
    });

  describe('with bulk facts of a club', () => {
    const remainingFacts = async (clubId: Id) => {
      const { db } = await testDeps();
      return db.rows<{ id: Id; attempts: number }>(
        sql`SELECT id, attempt_count AS attempts FROM facts WHERE club_id = ${clubId}`,
      );
    };

    it('handles them together, and deletes the whole batch in one statement', async () => {
      const { db } = await testDeps();
      const before = await factBatchesSoFar();
      const subscription = await buildSubscription('https://example.com/', ['student.created']);
      for (let count = 1; count <= 6; count++)
        await commitFact(subscription, { notified: false, priority: bulkPriority });
      const pool = (db.source.driver as unknown as { master: Pool }).master;
      const query = mock.method(pool, 'query');
      const relay = await relayTo(new WaitingEngine());
      try {
        await until(
          'no fact',
          { timeoutMs: 10_000 },
          async () => (await remainingFacts(subscription.clubId)).length === 0,
        );
        const names = query.mock.calls.map(({ arguments: [statement] }) => (statement as unknown as QueryConfig).name);
        expect(names.filter((name) => name === 'delete_facts')).to.have.length(1);
        const { batches, facts } = await factBatchesSoFar();
        expect({ batches: batches - before.batches, facts: facts - before.facts }).to.deep.equal({
          batches: 1,
          facts: 6,
        });
      } finally {
        query.mock.restore();
        await relay.stop();
      }
    });

    it('handles them one by one if one of them fails', async () => {
      const subscription = await buildSubscription('https://example.com/');
      const refusedFact = await commitFact(subscription, {
        notified: false,
        priority: bulkPriority,
        type: 'student.created',
      });
      for (let count = 1; count <= 3; count++)
        await commitFact(subscription, { notified: false, priority: bulkPriority });
      const engine = new RefusingEngine('student.created');
      const relay = await relayTo(engine);
      try {
        await until(
          'three',
          { timeoutMs: 10_000 },
          async () => (await remainingFacts(subscription.clubId)).length === 1,
        );
        await until(
          'a pause',
          { timeoutMs: 10_000 },
          async () => (await remainingFacts(subscription.clubId))[0]?.attempts === 1,
        );
        expect((await remainingFacts(subscription.clubId)).map(({ id }) => id)).to.deep.equal([refusedFact]);
        expect(new Set(engine.started).size).to.equal(3);
      } finally {
        await relay.stop();
        const { db } = await testDeps();
        await db.run(sql`DELETE FROM facts WHERE club_id = ${subscription.clubId}`);
      }
    });
  });

  it('counts each first attempt once, even if the relay handles the fact again', async () => {
    const { db } = await testDeps();
    const subscription = await buildSubscription('https://example.com/');
    await buildEndpoint(subscription.clubId, 'https://example.com/other');
    const before = await startedSoFar();
    const factId = await commitFact(subscription, { notified: false });
    const engine = new FailingOnceEngine();
    engine.release();
    const relay = await relayTo(engine);
    try {
      const isPutOff = sql`SELECT FROM facts WHERE id = ${factId} AND attempt_count = 1 AND lease_until IS NULL`;
      await until('a pause', { timeoutMs: 10_000 }, async () => (await db.rows(isPutOff)).length === 1);
      expect((await startedSoFar()) - before, 'one run was started').to.equal(1);
      await db.run(sql`UPDATE facts SET due_at = now() WHERE id = ${factId}`);
      await until('the end', { timeoutMs: 10_000 }, async () => {
        return (await db.rows(sql`SELECT FROM facts WHERE id = ${factId}`)).length === 0;
      });
      expect(engine.started, 'one of two runs was started twice').to.have.length(3);
      expect((await startedSoFar()) - before).to.equal(2);
    } finally {
      await relay.stop();
    }
  });

  it('calls beforeStart only before it starts a run eagerly', async () => {
    const { db } = await testDeps();
    const { id: clubId } = await buildClub();
    const wakeOf = (workflowType: WorkflowType) => ({ workflowType, subjectId: newId(), clubId, attributes: {} });
    const [answer, raised, other] = [wakeOf('agentAnswer'), wakeOf('agentAnswer'), wakeOf('subscriptionEnd')];
    await db.transaction((tx) => wakeRuns(tx, [answer, raised, other], new Date()));
    await db.transaction((tx) => wakeRuns(tx, [raised], new Date()));
    const engine = new WaitingEngine();
    const calls: { subjectId: string; clubId: string; startedBefore: readonly string[] }[] = [];
    const relay = await relayTo(engine, undefined, undefined, (wake) =>
      calls.push({ subjectId: wake.subjectId, clubId: wake.clubId, startedBefore: [...engine.startedOrSignaled] }),
    );
    try {
      await until(
        'all three',
        { timeoutMs: 10_000 },
        async () => engine.startedOrSignaled.length + engine.woken.length >= 3,
      );
      expect(calls).to.deep.equal([{ subjectId: answer.subjectId, clubId, startedBefore: [] }]);
    } finally {
      engine.release();
      await relay.stop();
    }
  });

  it('handles other facts while the student of one fact is locked', async () => {
    const [locked, ...free] = await Promise.all([1, 2, 3].map(() => buildSubscription('https://example.com/')));
    if (!locked) throw new Error('The subscriptions are missing.');
    const facts = await Promise.all([locked, ...free].map((about) => commitFact(about, { notified: false })));
    const engine = new WaitingEngine();
    engine.release();
    let relay: Relay | undefined;
    await withOpenTransaction(
      (tx) => tx.run(sql`SELECT FROM students WHERE id = ${locked.studentId} FOR UPDATE`),
      async () => {
        relay = await relayTo(engine);
        await until('the two others', { timeoutMs: 10_000 }, async () => engine.started.length === 2);
      },
    );
    try {
      await until('all three', { timeoutMs: 10_000 }, async () => engine.started.length === 3);
      const { db } = await testDeps();
      await until('no fact', { timeoutMs: 10_000 }, async () => {
        return (await db.rows(sql`SELECT FROM facts WHERE id = ANY (${facts})`)).length === 0;
      });
    } finally {
      await relay?.stop();
    }
  });

  it('handles a new fact even if 2,000 facts of the same club fail repeatedly', async () => {
    const subscription = await buildSubscription('https://example.com/');
    const source = await testDatabase();
    const due = 50;
    const failedFacts = await source.query<{ id: Id }[]>(
      `INSERT INTO facts (id, club_id, type, student_id, occurred_at, attempt_count, due_at)
       SELECT gen_random_uuid(), $1, 'student.created', $2, now(), 8, now() + interval '0.3 s' * (number - $3)
         FROM generate_series(1, 2000) number RETURNING id`,
      [subscription.clubId, subscription.studentId, due],
    );
    const engine = new RefusingEngine('student.created');
    const relay = await relayTo(engine);
    try {
      await until('a failure', { timeoutMs: 10_000 }, async () => engine.refused.length > 0);
      await commitFact(subscription, { type: 'student.updated' });
      await until('the good fact', { timeoutMs: 10_000 }, async () => engine.started.length > 0);
      expect(engine.started).to.have.length(1);
      expect(new Set(engine.refused).size, 'each fact failed at most once more').to.equal(engine.refused.length);
    } finally {
      await relay.stop();
      await source.query(`DELETE FROM facts WHERE id = ANY ($1)`, [failedFacts.map(({ id }) => id)]);
    }
  });

  it('handles facts when their NOTIFY arrives, without a poll', async () => {
    const subscription = await buildSubscription('https://example.com/');
    const engine = new WaitingEngine();
    engine.release();
    await withoutTimersOf(1_000, async () => {
      const relay = await relayTo(engine);
      try {
        for (let count = 1; count <= 4; count++) {
          await commitFact(subscription);
          await until(`fact ${count}`, { timeoutMs: 10_000 }, async () => engine.started.length >= count);
        }
      } finally {
        await relay.stop();
      }
    });
  });

  it('reports itself as alive if it has read facts and wakes within the last 15 s', async () => {
    const line = await startPostgresLine();
    const settings = { ...readConfig().database, url: new Secret(line.url) };
    const source = await createDataSource(settings, 'club-test').initialize();
    let now = 1_000_000;
    const clock = mock.method(performance, 'now', () => now);
    const relay = await relayTo(new WaitingEngine(), source);
    try {
      line.fallSilent();
      await sleep(100); // packets that are already sent arrive first
      expect(relay.isAlive()).to.equal(true);
      now += 14_999;
      expect(relay.isAlive(), 'after 14.999 s').to.equal(true);
      now += 1;
      expect(relay.isAlive(), 'after 15 s').to.equal(false);
      line.speakAgain();
      await until('life', { timeoutMs: 5_000 }, async () => relay.isAlive());
    } finally {
      clock.mock.restore();
      line.speakAgain();
      await relay.stop();
      await source.destroy();
      line.stop();
    }
  });
});
