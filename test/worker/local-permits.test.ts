import { mock } from 'node:test';
import { expect } from 'chai';
import * as fc from 'fast-check';
import type { ClaimedDelivery } from '../../domain/webhooks/attempts/claims.ts';
import { createLocalPermits, type LocalPermits } from '../../worker/lanes/local-permits.ts';

describe('permits of local first attempts', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
  afterEach(() => mock.timers.reset());

  const bounds = { total: 4, totalWithSlow: 6, unknown: 100, perEndpoint: 2 };
  const request = async (permits: LocalPermits, deliveryId: string, endpointId: string) => {
    const pending: { answer: boolean | 'waits'; now(): Promise<boolean | 'waits'> } = {
      answer: 'waits',
      async now() {
        for (let tick = 0; tick < 5; tick++) await Promise.resolve();
        return pending.answer;
      },
    };
    void permits.acquire(deliveryId, endpointId).then((admitted) => (pending.answer = admitted));
    await pending.now();
    return pending;
  };
  /** Each permit is for another endpoint. */
  const fill = async (permits: LocalPermits, count: number, prefix = 'filler') => {
    for (let number = 1; number <= count; number++) {
      expect((await request(permits, `${prefix}-${number}`, `${prefix}-endpoint-${number}`)).answer).to.equal(true);
    }
  };

  it('are refused above the total', async () => {
    const permits = createLocalPermits(bounds);
    await fill(permits, 4);
    const fifth = await request(permits, 'fifth', 'endpoint');
    expect(fifth.answer).to.equal('waits');
    permits.release('filler-2');
    expect(await fifth.now()).to.equal(true);
    expect((await request(permits, 'sixth', 'other')).answer).to.equal('waits');
  });

  it('are granted twice to one endpoint, and then only to other endpoints', async () => {
    const permits = createLocalPermits(bounds);
    expect((await request(permits, 'a1', 'a')).answer).to.equal(true);
    expect((await request(permits, 'a2', 'a')).answer).to.equal(true);
    const third = await request(permits, 'a3', 'a');
    expect(third.answer).to.equal('waits');
    expect((await request(permits, 'b1', 'b')).answer).to.equal(true);
    permits.release('b1');
    expect(await third.now()).to.equal('waits');
    permits.release('a1');
    expect(await third.now()).to.equal(true);
  });

  it('are granted only once for a delivery', async () => {
    const permits = createLocalPermits(bounds);
    expect(permits.reserve('delivery', 'a')).to.equal(true);
    const claimed = { id: 'delivery' } as ClaimedDelivery;
    permits.keepClaim(claimed);
    expect(permits.reserve('delivery', 'a'), 'a second reservation').to.equal(false);
    expect((await request(permits, 'delivery', 'a')).answer, 'at its second start').to.equal(true);
    expect(permits.takeClaim('delivery')).to.equal(claimed);
    expect((await request(permits, 'a2', 'a')).answer, 'the second permit of the endpoint').to.equal(true);
    mock.timers.tick(999);
    permits.release('delivery');
    mock.timers.tick(1);
    expect((await request(permits, 'b1', 'b')).answer).to.equal(true);
    permits.release('a2');
    permits.report('a', { ok: true, durationMs: 1 });
    expect(permits.reserve('a3', 'a') && permits.reserve('a4', 'a'), 'both permits of the endpoint').to.equal(true);
  });

  it('can be reserved up to the total limit and the limit of the endpoint', async () => {
    const permits = createLocalPermits(bounds);
    const ids = ['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'b2', 'b3', 'c1'];
    expect(ids.filter((id) => permits.reserve(id, id.slice(0, 1)))).to.deep.equal(
      ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'b3', 'c1'],
      'four have a permit: a1, a2, b1, b2',
    );
    expect(permits.has('a3'), 'a reservation is not a permit').to.equal(false);
    expect(permits.reserve('d1', 'd'), 'four reservations are the limit').to.equal(false);
    const third = await request(permits, 'a3', 'a');
    expect(permits.reserve('a3', 'a'), 'while it waits').to.equal(false);
    permits.release('a1');
    expect([await third.now(), permits.has('a3')]).to.deep.equal([true, true]);
    expect(permits.reserve('d1', 'd'), 'its reservation has ended').to.equal(true);
  });

  it('are no longer reserved after 30 s', async () => {
    const permits = createLocalPermits({ total: 1, totalWithSlow: 1, unknown: 100, perEndpoint: 1 });
    await fill(permits, 1);
    expect([permits.reserve('one', 'a'), permits.reserve('two', 'b')]).to.deep.equal([true, false]);
    permits.release('one');
    expect(permits.reserve('two', 'b')).to.equal(true);
    const waits = await request(permits, 'two', 'b');
    mock.timers.tick(1_000);
    expect([await waits.now(), permits.reserve('three', 'c')]).to.deep.equal([false, true]);
    mock.timers.tick(28_000);
    expect(permits.reserve('four', 'd')).to.equal(false);
    mock.timers.tick(2_000);
    expect([permits.reserve('four', 'd'), permits.reserve('five', 'e')], 'a permit and a reservation').to.deep.equal([
      true,
      true,
    ]);
  });

  it('have one limit for all unknown endpoints together', async () => {
    const permits = createLocalPermits({ ...bounds, unknown: 2 });
    permits.report('quick', { ok: true, durationMs: 5 });
    await fill(permits, 2);
    expect((await request(permits, 'third', 'new')).answer, 'a third unknown endpoint').to.equal(false);
    expect((await request(permits, 'q1', 'quick')).answer, 'a quick endpoint').to.equal(true);
    permits.release('filler-1');
    expect((await request(permits, 'fourth', 'new')).answer, 'after a release').to.equal(true);
  });

  it('treat an endpoint as unknown again when an attempt fails or is slow', async () => {
    const permits = createLocalPermits({ ...bounds, unknown: 0 });
    expect((await request(permits, 'first', 'endpoint')).answer).to.equal(false);
    permits.report('endpoint', { ok: true, durationMs: 5 });
    expect((await request(permits, 'second', 'endpoint')).answer).to.equal(true);
    permits.report('endpoint', { ok: false, durationMs: 5 });
    expect((await request(permits, 'third', 'endpoint')).answer).to.equal(false);
  });

  it('make a request wait for at most one second', async () => {
    const permits = createLocalPermits({ ...bounds, perEndpoint: 4, totalWithSlow: 4 });
    await fill(permits, 4);
    const waiting = await request(permits, 'fifth', 'endpoint');
    mock.timers.tick(999);
    expect(await waiting.now()).to.equal('waits');
    mock.timers.tick(1);
    expect(await waiting.now()).to.equal(false);
  });

  for (const { what, report } of [
    { what: 'failed', report: { ok: false, durationMs: 5 } },
    { what: 'took longer than 100 ms', report: { ok: true, durationMs: 101 } },
  ]) {
    it(`are refused if the last attempt at the endpoint ${what}`, async () => {
      const permits = createLocalPermits(bounds);
      permits.report('endpoint', report);
      expect((await request(permits, 'one', 'endpoint')).answer).to.equal(false);
      expect((await request(permits, 'two', 'other')).answer).to.equal(true);
      permits.report('endpoint', { ok: true, durationMs: 100 });
      expect((await request(permits, 'three', 'endpoint')).answer).to.equal(true);
    });
  }

  it('are refused to waiting deliveries when an attempt to their endpoint fails or is slow', async () => {
    const permits = createLocalPermits(bounds);
    await request(permits, 'a1', 'a');
    await request(permits, 'a2', 'a');
    const waiting = await request(permits, 'a3', 'a');
    permits.report('a', { ok: false, durationMs: 5 });
    expect(await waiting.now()).to.equal(false);
  });

  it('count as slow after one second without a release', async () => {
    const permits = createLocalPermits(bounds);
    await fill(permits, 4, 'hung');
    const waiting = await request(permits, 'quick-1', 'quick-endpoint-1');
    mock.timers.tick(999);
    expect(await waiting.now()).to.equal('waits');
    mock.timers.tick(1);
    expect(await waiting.now()).to.equal(true);
    expect((await request(permits, 'quick-2', 'quick-endpoint-2')).answer).to.equal(true);
    expect((await request(permits, 'quick-3', 'quick-endpoint-3')).answer, 'the limit of six').to.equal('waits');
    expect((await request(permits, 'more', 'hung-endpoint-1')).answer, 'a slow endpoint').to.equal(false);
  });

  it('become free 30 s after they were granted, even without a release', async () => {
    const permits = createLocalPermits({ total: 1, totalWithSlow: 1, unknown: 100, perEndpoint: 1 });
    await fill(permits, 1);
    mock.timers.tick(1_000); // the permit is slow now
    mock.timers.tick(28_500);
    const waiting = await request(permits, 'next', 'endpoint');
    mock.timers.tick(499);
    expect(await waiting.now()).to.equal('waits');
    mock.timers.tick(1);
    expect(await waiting.now()).to.equal(true);
  });

  it('ignore a second release, and a release of a permit that was never granted', async () => {
    const permits = createLocalPermits({ total: 1, totalWithSlow: 1, unknown: 100, perEndpoint: 1 });
    await fill(permits, 1);
    permits.release('somebody-else');
    expect((await request(permits, 'second', 'endpoint')).answer).to.equal('waits');
    permits.release('filler-1');
    permits.release('filler-1');
    expect((await request(permits, 'third', 'other')).answer).to.equal('waits');
  });

  it('exceed no limit in any order of the calls', async () => {
    const act = fc.oneof(
      fc.record({ kind: fc.constant('enter' as const), endpoint: fc.integer({ min: 1, max: 4 }) }),
      fc.record({ kind: fc.constant('leave' as const), which: fc.nat(20) }),
      fc.record({ kind: fc.constant('report' as const), endpoint: fc.integer({ min: 1, max: 4 }), ok: fc.boolean() }),
      fc.record({ kind: fc.constant('pass' as const), ms: fc.constantFrom(10, 400, 1_000) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(act, { maxLength: 60 }), async (acts) => {
        const permits = createLocalPermits(bounds);
        const permitsHeld: { id: string; endpoint: number }[] = [];
        let requests = 0;
        let answers = 0;
        for (const one of acts) {
          if (one.kind === 'enter') {
            const id = `delivery-${++requests}`;
            void permits.acquire(id, `endpoint-${one.endpoint}`).then((admitted) => {
              answers += 1;
              if (admitted) permitsHeld.push({ id, endpoint: one.endpoint });
            });
          } else if (one.kind === 'leave') {
            const [released] = permitsHeld.splice(one.which % Math.max(permitsHeld.length, 1), 1);
            if (released) permits.release(released.id);
          } else if (one.kind === 'report') {
            permits.report(`endpoint-${one.endpoint}`, { ok: one.ok, durationMs: 1 });
          } else {
            mock.timers.tick(one.ms);
          }
          for (let tick = 0; tick < 5; tick++) await Promise.resolve();
          expect(permitsHeld.length).to.be.at.most(bounds.totalWithSlow);
          for (const endpoint of [1, 2, 3, 4]) {
            const ofEndpoint = permitsHeld.filter((place) => place.endpoint === endpoint);
            expect(ofEndpoint.length, `endpoint ${endpoint}`).to.be.at.most(bounds.perEndpoint);
          }
        }
        mock.timers.tick(1_000);
        for (let tick = 0; tick < 5; tick++) await Promise.resolve();
        expect(answers).to.equal(requests);
        mock.timers.tick(40_000);
      }),
      { numRuns: 200 },
    );
  });
});
