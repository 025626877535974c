import { mock } from 'node:test';
import { expect } from 'chai';
import { pino } from 'pino';
import type { DeliveryDeps } from '../../domain/webhooks/attempts/attempt.ts';
import type { ClaimedDelivery } from '../../domain/webhooks/attempts/claims.ts';
import type { AttemptAnswer } from '../../domain/webhooks/attempts/post.ts';
import { newId } from '../../platform/core/ids.ts';
import { createAttemptPermits } from '../../worker/lanes/attempt-permits.ts';
import { createDirectLane } from '../../worker/lanes/direct-lane.ts';
import { directInFlight, firstAttempts } from '../../worker/reports/metrics.ts';

const accepted: AttemptAnswer = { outcome: 'succeeded', responseStatus: 200, durationMs: 1 };

/** The attempts wait until the test gives the receivers' answers. */
interface Scene {
  lane: ReturnType<typeof createDirectLane>;
  permits: ReturnType<typeof createAttemptPermits>;
  /** The keys are event ids. The test resolves each answer. */
  posted: Map<string, PromiseWithResolvers<AttemptAnswer>>;
  recorded: string[];
  /** Equals the number of returned claims, because all other writes are fakes. */
  transactions: () => number;
  passed: string[];
  logged: { level: number; msg: string; error?: { message?: string } }[];
}

describe('permits of direct first attempts (HOOK-18)', () => {
  let elapsed: number;
  beforeEach('stop the clock', () => {
    elapsed = performance.now();
    mock.timers.enable({ apis: ['setTimeout'] });
    mock.method(performance, 'now', () => elapsed);
  });
  afterEach('restart the clock', () => {
    mock.timers.reset();
    mock.restoreAll();
  });
  const pass = (milliseconds: number) => {
    elapsed += milliseconds;
    mock.timers.tick(milliseconds);
  };
  const settle = () => new Promise((resolve) => setImmediate(resolve));

  function laneOf(slots: number): Scene {
    const permits = createAttemptPermits();
    const posted: Scene['posted'] = new Map();
    const recorded: string[] = [];
    const passed: string[] = [];
    const logged: Scene['logged'] = [];
    let transactions = 0;
    const db = { transaction: async () => void transactions++ };
    const deliveries: Partial<DeliveryDeps> = {
      db: db as unknown as DeliveryDeps['db'],
      vault: { open: () => 'secret' } as unknown as DeliveryDeps['vault'],
      post({ eventId }) {
        const answer = Promise.withResolvers<AttemptAnswer>();
        posted.set(eventId, answer);
        return answer.promise;
      },
      recordSuccess: async (id) => recorded.push(id) > 0,
      onAttempt(attempt) {
        permits.onAttempt(attempt);
        lane.report(attempt);
      },
      permits: permits.permits,
    };
    const lane = createDirectLane({
      total: slots,
      shared: permits,
      deliveries: deliveries as DeliveryDeps,
      failpoint: async (name) => void passed.push(name),
      log: pino({ level: 'info' }, { write: (line) => void logged.push(JSON.parse(line)) }),
    });
    return { lane, permits, posted, recorded, passed, logged, transactions: () => transactions };
  }
  const answers = (
    { lane }: Scene,
    endpointId: string,
    how: { outcome?: AttemptAnswer['outcome']; durationMs?: number } = {},
  ) => lane.report({ endpointId, host: 'any', outcome: 'succeeded', durationMs: 1, ...how });
  const acquire = ({ lane }: Scene, endpointId: string, host = `${endpointId}.example`): string | undefined => {
    const deliveryId = newId();
    return lane.tryAcquire({ deliveryId, endpointId, url: `https://${host}/hook` }) ? deliveryId : undefined;
  };
  const acquireMany = (scene: Scene, count: number, endpointId: string, host?: string): string[] =>
    Array.from({ length: count }, () => acquire(scene, endpointId, host)).filter((id) => id !== undefined);
  /** Each permit is for another quick endpoint. */
  const fill = (scene: Scene, count: number): string[] =>
    Array.from({ length: count }, () => {
      const endpointId = newId();
      answers(scene, endpointId);
      return acquire(scene, endpointId) ?? '';
    });
  const claimedAs = (id: string, endpointId: string, ageMs = 0): ClaimedDelivery => ({
    id,
    claimedAt: performance.now() - ageMs,
    claim: {
      fence: 1,
      startedAt: new Date(),
      direct: true,
      number: 1,
      trigger: 'schedule',
      onSchedule: true,
      schedulePosition: 1,
      interruptions: 0,
      clubId: newId(),
      endpointId,
      breakerEpoch: 0,
      url: `https://${endpointId}.example/hook`,
      secret: Buffer.from('sealed'),
      previousSecret: null,
      eventId: id,
      body: '{}',
    },
  });

  const begin = (scene: Scene, endpointId: string, ageMs = 0): string => {
    const id = acquire(scene, endpointId) ?? '';
    scene.lane.begin([claimedAs(id, endpointId, ageMs)]);
    return id;
  };
  const inFlight = async () => (await directInFlight.get()).values[0]?.value;
  const startedAttempts = async () =>
    (await firstAttempts.get()).values.find(({ labels }) => labels.lane === 'direct')?.value ?? 0;

  describe('a permit', () => {
    it('is granted only if every attempt can be recorded before its lease ends (ENG-18)', () => {
      const scene = laneOf(256);
      const run = { deliveryId: newId(), endpointId: newId(), host: 'of-a-run.example', isManual: false };
      expect(scene.permits.permits.acquire(run, Date.now())).to.equal(undefined);
      scene.permits.permits.reportRecord(1_000);
      expect(
        fill(scene, 256).filter((id) => id !== ''),
        'besides the run, at one second for each record',
      ).to.have.length(31);
      scene.permits.permits.release(run.deliveryId);
      expect(fill(scene, 2).filter((id) => id !== '')).to.have.length(1);
      for (let records = 0; records < 40; records++) scene.permits.permits.reportRecord(3);
      expect(
        fill(scene, 256).filter((id) => id !== ''),
        'after records become quick again',
      ).to.have.length(256 - 32);
    });

    it('is refused above the maximum for all endpoints', () => {
      const scene = laneOf(6);
      const [first = ''] = fill(scene, 6);
      answers(scene, 'seventh');
      expect(acquire(scene, 'seventh'), 'beyond the limit').to.equal(undefined);
      scene.lane.release([first]);
      expect(acquire(scene, 'seventh'), 'after a release').to.be.a('string');
    });

    it('is granted only once for a delivery', async () => {
      const scene = laneOf(256);
      answers(scene, 'busy');
      const id = begin(scene, 'busy');
      await settle();
      const again = () =>
        scene.lane.tryAcquire({ deliveryId: id, endpointId: 'busy', url: 'https://busy.example/hook' });
      for (let time = 1; time <= 3; time++) expect(again()).to.equal(false);
      expect(acquireMany(scene, 40, 'busy'), 'during the attempt').to.have.length(31);
      scene.posted.get(id)?.resolve(accepted);
      await settle();
      expect(acquireMany(scene, 40, 'busy'), 'after the attempt').to.have.length(1);
    });

    it('is granted at most 32 times to one endpoint', () => {
      const scene = laneOf(256);
      answers(scene, 'busy');
      expect(acquireMany(scene, 40, 'busy')).to.have.length(32);
      expect(acquire(scene, 'other')).to.be.a('string');
    });

    it('is granted to unknown endpoints up to a quarter of all permits', () => {
      const scene = laneOf(8);
      expect(['new-1', 'new-2', 'new-3'].map((endpointId) => acquire(scene, endpointId) !== undefined)).to.deep.equal([
        true,
        true,
        false,
      ]);
      answers(scene, 'quick');
      expect(acquireMany(scene, 9, 'quick')).to.have.length(6);
    });

    it('counts against the limit for endpoints without a quick answer until it is released', () => {
      const scene = laneOf(4);
      const id = acquire(scene, 'new-1') ?? '';
      answers(scene, 'new-1');
      expect(acquire(scene, 'new-2')).to.equal(undefined);
      scene.lane.release([id]);
      expect(acquire(scene, 'new-2')).to.be.a('string');
    });

    it('counts against the limit of unknown endpoints after a failed attempt', () => {
      const scene = laneOf(4);
      answers(scene, 'failing');
      answers(scene, 'failing', { outcome: 'http_error' });
      expect(acquireMany(scene, 4, 'failing')).to.have.length(1);
    });

    it('is refused to an endpoint that answered in over 1 s', () => {
      const scene = laneOf(8);
      answers(scene, 'slow', { durationMs: 1_001 });
      expect(acquire(scene, 'slow'), 'after an answer in 1,001 ms').to.equal(undefined);
      answers(scene, 'slow', { outcome: 'http_error', durationMs: 5 });
      expect(acquire(scene, 'slow'), 'after a quick failure').to.equal(undefined);
      answers(scene, 'slow', { durationMs: 1_000 });
      expect(acquireMany(scene, 8, 'slow'), 'after a success in 1,000 ms').to.have.length(8);
      answers(scene, 'hung', { outcome: 'timeout', durationMs: 15_000 });
      expect(acquire(scene, 'hung'), 'after a timeout').to.equal(undefined);
    });

    it('is refused while runs hold all eight permits of the endpoint (HOOK-16)', () => {
      const scene = laneOf(256);
      const byRuns = Array.from({ length: 8 }, newId);
      for (const deliveryId of byRuns)
        scene.permits.permits.acquire({ deliveryId, endpointId: 'full', host: 'shared.example', isManual: false }, 0);
      expect(acquire(scene, 'full', 'shared.example')).to.equal(undefined);
      expect(acquire(scene, 'other', 'shared.example')).to.be.a('string');
      scene.permits.permits.release(byRuns[0] ?? '');
      expect(acquire(scene, 'full', 'shared.example')).to.be.a('string');
    });

    it('counts against the limit of its host (HOOK-17)', () => {
      const scene = laneOf(256);
      for (const endpointId of ['one', 'two', 'three']) answers(scene, endpointId);
      const [first = ''] = acquireMany(scene, 32, 'one', 'shared.example');
      acquireMany(scene, 31, 'two', 'shared.example');
      const byRun = (deliveryId: string) =>
        scene.permits.permits.acquire({ deliveryId, endpointId: newId(), host: 'shared.example', isManual: false }, 0);
      expect(byRun('run-1'), 'the 64th').to.equal(undefined);
      expect(byRun('run-2'), 'a run beyond the limit').to.be.a('number');
      expect(acquire(scene, 'three', 'shared.example'), 'a direct attempt beyond the limit').to.equal(undefined);
      expect(acquire(scene, 'three', 'shared.example:8443'), 'another port').to.be.a('string');
      scene.lane.release([first]);
      expect(byRun('run-2')).to.equal(undefined);
    });

    it('becomes available to every endpoint after its release', () => {
      const scene = laneOf(256);
      const ids = acquireMany(scene, 40, 'new', 'shared.example');
      expect(ids).to.have.length(32);
      const [first = ''] = ids;
      scene.lane.release([first, first, newId()]);
      scene.lane.release([first]);
      expect(acquireMany(scene, 2, 'new', 'shared.example'), 'of the endpoint').to.have.length(1);
      scene.lane.release(ids);
      expect(acquireMany(scene, 40, 'new', 'shared.example'), 'all except the newest').to.have.length(31);
    });
  });

  describe('a fan-out', () => {
    const isReady = async (ready: Promise<void>) => {
      let is = false;
      void ready.then(() => (is = true));
      await settle();
      return is;
    };

    it('waits until 64 permits are free, or half of a small total', async () => {
      const many = laneOf(256);
      fill(many, 192);
      expect(await isReady(many.lane.ready()), '64 of 256 are free').to.equal(true);
      fill(many, 1);
      expect(await isReady(many.lane.ready()), '63 of 256 are free').to.equal(false);
      const few = laneOf(7);
      fill(few, 3);
      expect(await isReady(few.lane.ready()), '4 of 7 are free').to.equal(true);
      fill(few, 1);
      expect(await isReady(few.lane.ready()), '3 of 7 are free').to.equal(false);
    });

    it('continues when enough permits are free', async () => {
      const scene = laneOf(8);
      const ids = fill(scene, 6);
      const ready = scene.lane.ready();
      scene.lane.release(ids.slice(0, 1));
      expect(await isReady(ready)).to.equal(false);
      scene.lane.release(ids.slice(1, 2));
      expect(await isReady(ready)).to.equal(true);
    });

    it('waits at most 100 ms, and not again for 5 s after a failed wait', async () => {
      const scene = laneOf(8);
      fill(scene, 8);
      const ready = scene.lane.ready();
      pass(99);
      expect(await isReady(ready)).to.equal(false);
      pass(1);
      expect(await isReady(ready)).to.equal(true);
      pass(4_999);
      expect(await isReady(scene.lane.ready()), '4,999 ms later').to.equal(true);
      pass(1);
      expect(await isReady(scene.lane.ready()), '5,000 ms later').to.equal(false);
    });

    it('continues together with other waiting fan-outs', async () => {
      const scene = laneOf(8);
      const ids = fill(scene, 8);
      const both = [scene.lane.ready(), scene.lane.ready()];
      scene.lane.release(ids.slice(0, 4));
      expect(await Promise.all(both.map(isReady))).to.deep.equal([true, true]);
      pass(100);
      fill(scene, 4);
      expect(await isReady(scene.lane.ready()), 'the next fan-out waits again').to.equal(false);
    });
  });

  describe('an attempt', () => {
    it('is posted and recorded, and then releases its permit', async () => {
      const scene = laneOf(4);
      const id = begin(scene, 'endpoint');
      await settle();
      expect([...scene.posted.keys()]).to.deep.equal([id]);
      expect(scene.recorded).to.deep.equal([]);
      expect(acquire(scene, 'other'), 'the only permit for unknown endpoints').to.equal(undefined);
      scene.posted.get(id)?.resolve(accepted);
      await settle();
      expect(scene.recorded).to.deep.equal([id]);
      expect(scene.passed).to.deep.equal(['direct_claimed', 'direct_posted', 'direct_recorded']);
      expect(acquire(scene, 'other')).to.be.a('string');
      expect(scene.logged).to.deep.equal([]);
    });

    it('returns its claim and releases its permit if the claim is older than 5 s', async () => {
      const scene = laneOf(8);
      const [old, inTime] = [begin(scene, 'old', 5_001), begin(scene, 'in-time', 5_000)];
      await settle();
      expect(scene.posted.has(old)).to.equal(false);
      expect(scene.posted.has(inTime)).to.equal(true);
      expect(scene.transactions()).to.equal(1);
      expect(acquire(scene, 'other'), 'the permit of the old claim').to.be.a('string');
      expect(acquire(scene, 'third'), 'a second permit').to.equal(undefined);
    });

    it('is logged and left to a workflow run if its request throws an error', async () => {
      const scene = laneOf(4);
      const id = begin(scene, 'endpoint');
      await settle();
      scene.posted.get(id)?.reject(new Error('our own fault'));
      await settle();
      expect(scene.logged.map(({ level, msg }) => ({ level, msg }))).to.deep.equal([
        { level: 40, msg: 'a direct attempt is left to a run' },
      ]);
      expect(scene.recorded).to.deep.equal([]);
      expect(acquire(scene, 'other')).to.be.a('string');
    });

    it('does not affect other attempts of the fan-out if its request throws an error', async () => {
      const scene = laneOf(16);
      const [bad, good] = [acquire(scene, 'bad') ?? '', acquire(scene, 'good') ?? ''];
      scene.lane.begin([claimedAs(bad, 'bad'), claimedAs(good, 'good')]);
      await settle();
      scene.posted.get(bad)?.reject(new Error('our own fault'));
      scene.posted.get(good)?.resolve(accepted);
      await settle();
      expect(scene.recorded).to.deep.equal([good]);
    });

    it('delays stop() until it ends, even if it throws', async () => {
      const scene = laneOf(16);
      const ids = [begin(scene, 'one'), begin(scene, 'two')];
      await settle();
      let stopped = false;
      const stopping = scene.lane.stop().then(() => (stopped = true));
      scene.posted.get(ids[0] ?? '')?.resolve(accepted);
      await settle();
      expect(stopped).to.equal(false);
      scene.posted.get(ids[1] ?? '')?.reject(new Error('our own fault'));
      await stopping;
      expect(scene.recorded).to.deep.equal([ids[0]]);
    });

    it('does not delay stop() when no attempt is in progress', async () => {
      await laneOf(4).lane.stop();
    });
  });

  it('are counted in the metrics while they are held', async () => {
    const scene = laneOf(16);
    const before = await startedAttempts();
    const [first = '', second = '', third = ''] = ['one', 'two', 'three'].map((endpointId) =>
      acquire(scene, endpointId),
    );
    expect(await inFlight()).to.equal(3);
    scene.lane.release([third]);
    expect(await inFlight()).to.equal(2);
    scene.lane.begin([]);
    expect((await startedAttempts()) - before).to.equal(0);
    scene.lane.begin([claimedAs(first, 'one'), claimedAs(second, 'two')]);
    expect((await startedAttempts()) - before).to.equal(2);
    await settle();
    for (const { resolve } of scene.posted.values()) resolve(accepted);
    await settle();
    expect(await inFlight()).to.equal(0);
  });
});
