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

/** An engine that takes what it is given, and says so only when it is told to. */
class WaitingEngine {
  readonly started: string[] = [];
  readonly woken: string[] = [];
  readonly begun: string[] = [];
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
    this.begun.push(subjectId);
    await this.#released.promise;
  }
  release(): void {
    this.#released.resolve();
  }
}

/** An engine that does not start what one type of event has caused. */
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

/** An engine that fails once: at the second start. */
class FailingOnceEngine extends WaitingEngine {
  #calls = 0;

  override async start(run: Run): Promise<'here' | 'before'> {
    this.#calls++;
    if (this.#calls === 2) throw new Error('it fails once');
    return super.start(run);
  }
}

const sumOf = async (metric: Metric, name: string, labels: Record<string, string> = {}) => {
  const { values } = (await metric.get()) as MetricObjectWithValues<MetricValueWithName<string>>;
  return values
    .filter(({ metricName = name, labels: own }) => metricName === name && isDeepStrictEqual(own, labels))
    .reduce((sum, { value }) => sum + value, 0);
};
/** How many batches of facts this process has fanned out, and how many facts. */
const factBatchesSoFar = async () => ({
  batches: await sumOf(factBatches, 'webhook_facts_together_count'),
  facts: await sumOf(factBatches, 'webhook_facts_together_sum'),
});
const startedSoFar = () => sumOf(firstAttempts, 'webhook_first_attempts_total', { lane: 'workflow' });

/** The relay, on the test database, in front of another engine; no first attempt is local. */
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
  describe('a wave of facts and a wave of wakes', () => {
    const clubs = 5;
    const ofAClub = 8;
    const wave = clubs * ofAClub;
    const engine = new WaitingEngine();
    let relay: Relay;
    let subscriptions: Subscription[];

    before('a wave of facts and a wave of wakes are there before the relay', async () => {
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
    after('stop it', async () => {
      engine.release();
      await relay.stop();
    });

    it('share the places in flight equally', async () => {
      await until('a full relay', { timeoutMs: 10_000 }, async () => {
        return engine.started.length + engine.woken.length >= maxInFlight;
      });
      expect({ started: engine.started.length, woken: engine.woken.length }).to.deep.equal({
        started: maxInFlight / 2,
        woken: maxInFlight / 2,
      });
    });

    it('are each carried once', async () => {
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

  it('starts eagerly for the first wake of a type that is waited for, and signals for a repeated one', async () => {
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
      await until('all three', { timeoutMs: 10_000 }, async () => engine.begun.length + engine.woken.length >= 3);
      expect(engine.begun).to.deep.equal([first.subjectId]);
      expect(engine.woken).to.have.members([raised.subjectId, other.subjectId]);
    } finally {
      await relay.stop();
    }
  });

  for (const { workflowType, restMs } of [
    { workflowType: 'transactionalMail', restMs: 500 }, // six places, each twelve a second over six
    { workflowType: 'automationRun', restMs: 1_500 }, // as three mails
  ] as const)
    it(`starts ${workflowType} of bulk of a club at a pace, and what is urgent at once beside it (ENG-15)`, async () => {
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
      const begun = performance.now();
      const relay = await relayTo(engine, undefined, 12);
      try {
        await until('the first bulk', { timeoutMs: 10_000 }, async () => engine.woken.length > 0);
        const urgent = wakeOf(0);
        await db.transaction((tx) => wakeRuns(tx, [urgent], new Date()));
        await until('all', { timeoutMs: 10_000 }, async () => engine.woken.length === bulk.length + 1);
        expect(engine.woken.at(-1)).not.to.equal(urgent.subjectId);
        expect(performance.now() - begun).to.be.greaterThan(restMs); // the second of a place waits for its rest
      } finally {
        await relay.stop();
      }
    });

  for (const { of, clubs, places } of [
    { of: 'its places', clubs: 8, places: (maxInFlight * 3) / 4 },
    { of: 'a club’s 8 places', clubs: 1, places: 6 },
  ])
    it(`leaves a quarter of ${of} to what is not bulk (ENG-15)`, async () => {
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
        // All bulk that may be claimed has been claimed before it.
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

  describe('bulk facts of a club', () => {
    const factsLeft = async (clubId: Id) => {
      const { db } = await testDeps();
      return db.rows<{ id: Id; attempts: number }>(
        sql`SELECT id, attempt_count AS attempts FROM facts WHERE club_id = ${clubId}`,
      );
    };

    it('are carried together: six that nobody asked for are deleted by one statement', async () => {
      const { db } = await testDeps();
      const before = await factBatchesSoFar();
      const subscription = await buildSubscription('https://example.com/', ['student.created']);
      for (let count = 1; count <= 6; count++)
        await commitFact(subscription, { notified: false, priority: bulkPriority });
      const pool = (db.source.driver as unknown as { master: Pool }).master;
      const query = mock.method(pool, 'query');
      const relay = await relayTo(new WaitingEngine());
      try {
        await until('no fact', { timeoutMs: 10_000 }, async () => (await factsLeft(subscription.clubId)).length === 0);
        const names = query.mock.calls.map(({ arguments: [given] }) => (given as unknown as QueryConfig).name);
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

    it('are carried singly where one of them fails, and only that one waits', async () => {
      const subscription = await buildSubscription('https://example.com/');
      const failing = await commitFact(subscription, {
        notified: false,
        priority: bulkPriority,
        type: 'student.created',
      });
      for (let count = 1; count <= 3; count++)
        await commitFact(subscription, { notified: false, priority: bulkPriority });
      const engine = new RefusingEngine('student.created');
      const relay = await relayTo(engine);
      try {
        await until('three', { timeoutMs: 10_000 }, async () => (await factsLeft(subscription.clubId)).length === 1);
        await until(
          'a pause',
          { timeoutMs: 10_000 },
          async () => (await factsLeft(subscription.clubId))[0]?.attempts === 1,
        );
        expect((await factsLeft(subscription.clubId)).map(({ id }) => id)).to.deep.equal([failing]);
        expect(new Set(engine.started).size).to.equal(3);
      } finally {
        await relay.stop();
        const { db } = await testDeps();
        await db.run(sql`DELETE FROM facts WHERE club_id = ${subscription.clubId}`);
      }
    });
  });

  it('counts each first attempt that it starts a run for once, also where it carries the fact again', async () => {
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
      expect((await startedSoFar()) - before, 'the one that was started').to.equal(1);
      await db.run(sql`UPDATE facts SET due_at = now() WHERE id = ${factId}`);
      await until('the end', { timeoutMs: 10_000 }, async () => {
        return (await db.rows(sql`SELECT FROM facts WHERE id = ${factId}`)).length === 0;
      });
      expect(engine.started, 'one of two was asked for twice').to.have.length(3);
      expect((await startedSoFar()) - before).to.equal(2);
    } finally {
      await relay.stop();
    }
  });

  it('tells of a run that it starts eagerly before it asks for the start, and of no other', async () => {
    const { db } = await testDeps();
    const { id: clubId } = await buildClub();
    const wakeOf = (workflowType: WorkflowType) => ({ workflowType, subjectId: newId(), clubId, attributes: {} });
    const [answer, raised, other] = [wakeOf('agentAnswer'), wakeOf('agentAnswer'), wakeOf('subscriptionEnd')];
    await db.transaction((tx) => wakeRuns(tx, [answer, raised, other], new Date()));
    await db.transaction((tx) => wakeRuns(tx, [raised], new Date()));
    const engine = new WaitingEngine();
    const told: { subjectId: string; clubId: string; begun: readonly string[] }[] = [];
    const relay = await relayTo(engine, undefined, undefined, (wake) =>
      told.push({ subjectId: wake.subjectId, clubId: wake.clubId, begun: [...engine.begun] }),
    );
    try {
      await until('all three', { timeoutMs: 10_000 }, async () => engine.begun.length + engine.woken.length >= 3);
      expect(told).to.deep.equal([{ subjectId: answer.subjectId, clubId, begun: [] }]);
    } finally {
      engine.release();
      await relay.stop();
    }
  });

  it('carries facts beside one whose student somebody holds, and that one afterwards', async () => {
    const [held, ...free] = await Promise.all([1, 2, 3].map(() => buildSubscription('https://example.com/')));
    if (!held) throw new Error('One of three');
    const facts = await Promise.all([held, ...free].map((about) => commitFact(about, { notified: false })));
    const engine = new WaitingEngine();
    engine.release();
    let relay: Relay | undefined;
    await withOpenTransaction(
      (tx) => tx.run(sql`SELECT FROM students WHERE id = ${held.studentId} FOR UPDATE`),
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

  it('carries the next good fact of a club beside 2,000 that fail again and again', async () => {
    const subscription = await buildSubscription('https://example.com/');
    const source = await testDatabase();
    const due = 50;
    const failing = await source.query<{ id: Id }[]>(
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
      expect(new Set(engine.refused).size, 'each failed once more at most').to.equal(engine.refused.length);
    } finally {
      await relay.stop();
      await source.query(`DELETE FROM facts WHERE id = ANY ($1)`, [failing.map(({ id }) => id)]);
    }
  });

  it('NOTIFY makes it look: four facts in a row are carried though its poll never comes', async () => {
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

  it('is alive while it has read its work within the last 15 s', async () => {
    const line = await startPostgresLine();
    const settings = { ...readConfig().database, url: new Secret(line.url) };
    const source = await createDataSource(settings, 'club-test').initialize();
    let now = 1_000_000;
    const clock = mock.method(performance, 'now', () => now);
    const relay = await relayTo(new WaitingEngine(), source);
    try {
      line.fallSilent();
      await sleep(100); // what was on its way has arrived
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
