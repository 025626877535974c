import { mock } from 'node:test';
import { expect } from 'chai';
import * as fc from 'fast-check';
import type { ClaimedDelivery } from '../../domain/webhooks/attempts/claims.ts';
import { createLocalPermits, type LocalPermits } from '../../worker/lanes/local-permits.ts';

describe('permits of local first attempts', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
  afterEach(() => mock.timers.reset());

  const bounds = { total: 4, totalWithSlow: 6, unknown: 100, perEndpoint: 2 };
  /** Asks for a place. @returns what is known of the answer so far */
  const ask = async (permits: LocalPermits, deliveryId: string, endpointId: string) => {
    const asked: { answer: boolean | 'waits'; now(): Promise<boolean | 'waits'> } = {
      answer: 'waits',
      async now() {
        for (let turn = 0; turn < 5; turn++) await Promise.resolve();
        return asked.answer;
      },
    };
    void permits.acquire(deliveryId, endpointId).then((admitted) => (asked.answer = admitted));
    await asked.now();
    return asked;
  };
  /** Fills so many places, each at an endpoint of its own. */
  const fill = async (permits: LocalPermits, count: number, prefix = 'filler') => {
    for (let number = 1; number <= count; number++) {
      expect((await ask(permits, `${prefix}-${number}`, `${prefix}-endpoint-${number}`)).answer).to.equal(true);
    }
  };

  it('admits up to the total; the next one waits for a free place', async () => {
    const permits = createLocalPermits(bounds);
    await fill(permits, 4);
    const fifth = await ask(permits, 'fifth', 'endpoint');
    expect(fifth.answer).to.equal('waits');
    permits.release('filler-2');
    expect(await fifth.now()).to.equal(true);
    expect((await ask(permits, 'sixth', 'other')).answer).to.equal('waits');
  });

  it('admits two per endpoint; a third waits for one of them without delaying others', async () => {
    const permits = createLocalPermits(bounds);
    expect((await ask(permits, 'a1', 'a')).answer).to.equal(true);
    expect((await ask(permits, 'a2', 'a')).answer).to.equal(true);
    const third = await ask(permits, 'a3', 'a');
    expect(third.answer).to.equal('waits');
    expect((await ask(permits, 'b1', 'b')).answer).to.equal(true);
    permits.release('b1');
    expect(await third.now()).to.equal('waits');
    permits.release('a1');
    expect(await third.now()).to.equal(true);
  });

  it('keeps place and claim of a delivery whose fact is fanned out again, and starts again with them', async () => {
    const permits = createLocalPermits(bounds);
    expect(permits.reserve('delivery', 'a')).to.equal(true);
    const claimed = { id: 'delivery' } as ClaimedDelivery;
    permits.keepClaim(claimed);
    expect(permits.reserve('delivery', 'a'), 'in advance, again').to.equal(false);
    expect((await ask(permits, 'delivery', 'a')).answer, 'at its start, again').to.equal(true);
    expect(permits.takeClaim('delivery')).to.equal(claimed);
    expect((await ask(permits, 'a2', 'a')).answer, 'the second place of the endpoint').to.equal(true);
    mock.timers.tick(999);
    permits.release('delivery');
    mock.timers.tick(1);
    expect((await ask(permits, 'b1', 'b')).answer).to.equal(true);
    permits.release('a2');
    permits.report('a', { ok: true, durationMs: 1 });
    expect(permits.reserve('a3', 'a') && permits.reserve('a4', 'a'), 'both places of the endpoint').to.equal(true);
  });

  it('gives as many turns, as many an endpoint, to those that are claimed before they have a place', async () => {
    const permits = createLocalPermits(bounds);
    const ids = ['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'b2', 'b3', 'c1'];
    expect(ids.filter((id) => permits.reserve(id, id.slice(0, 1)))).to.deep.equal(
      ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'b3', 'c1'],
      'four have a place: a1, a2, b1, b2',
    );
    expect(permits.has('a3'), 'a turn is no place').to.equal(false);
    expect(permits.reserve('d1', 'd'), 'four have a turn').to.equal(false);
    const third = await ask(permits, 'a3', 'a');
    expect(permits.reserve('a3', 'a'), 'fanned out again').to.equal(false);
    permits.release('a1');
    expect([await third.now(), permits.has('a3')]).to.deep.equal([true, true]);
    expect(permits.reserve('d1', 'd'), 'its turn is over').to.equal(true);
  });

  it('takes a turn back that is given back, that nobody came for in 30 s, or that waited in vain', async () => {
    const permits = createLocalPermits({ total: 1, totalWithSlow: 1, unknown: 100, perEndpoint: 1 });
    await fill(permits, 1);
    expect([permits.reserve('one', 'a'), permits.reserve('two', 'b')]).to.deep.equal([true, false]);
    permits.release('one');
    expect(permits.reserve('two', 'b')).to.equal(true);
    const waits = await ask(permits, 'two', 'b');
    mock.timers.tick(1_000);
    expect([await waits.now(), permits.reserve('three', 'c')]).to.deep.equal([false, true]);
    mock.timers.tick(28_000);
    expect(permits.reserve('four', 'd')).to.equal(false);
    mock.timers.tick(2_000);
    expect([permits.reserve('four', 'd'), permits.reserve('five', 'e')], 'a place, and a turn').to.deep.equal([
      true,
      true,
    ]);
  });

  it('unknown endpoints share some places without waiting; a quick one is admitted beyond them', async () => {
    const permits = createLocalPermits({ ...bounds, unknown: 2 });
    permits.report('quick', { ok: true, durationMs: 5 });
    await fill(permits, 2);
    expect((await ask(permits, 'third', 'new')).answer, 'a third unknown').to.equal(false);
    expect((await ask(permits, 'q1', 'quick')).answer, 'a quick one').to.equal(true);
    permits.release('filler-1');
    expect((await ask(permits, 'fourth', 'new')).answer, 'once a place is given back').to.equal(true);
  });

  it('counts an endpoint as unknown again when it becomes slow', async () => {
    const permits = createLocalPermits({ ...bounds, unknown: 0 });
    expect((await ask(permits, 'first', 'endpoint')).answer).to.equal(false);
    permits.report('endpoint', { ok: true, durationMs: 5 });
    expect((await ask(permits, 'second', 'endpoint')).answer).to.equal(true);
    permits.report('endpoint', { ok: false, durationMs: 5 });
    expect((await ask(permits, 'third', 'endpoint')).answer).to.equal(false);
  });

  it('lets nobody wait longer than a second', async () => {
    const permits = createLocalPermits({ ...bounds, perEndpoint: 4, totalWithSlow: 4 });
    await fill(permits, 4);
    const waiting = await ask(permits, 'fifth', 'endpoint');
    mock.timers.tick(999);
    expect(await waiting.now()).to.equal('waits');
    mock.timers.tick(1);
    expect(await waiting.now()).to.equal(false);
  });

  for (const { what, report } of [
    { what: 'failed', report: { ok: false, durationMs: 5 } },
    { what: 'took longer than 100 ms', report: { ok: true, durationMs: 101 } },
  ]) {
    it(`refuses an endpoint whose last attempt ${what}, until one is quick and succeeds`, async () => {
      const permits = createLocalPermits(bounds);
      permits.report('endpoint', report);
      expect((await ask(permits, 'one', 'endpoint')).answer).to.equal(false);
      expect((await ask(permits, 'two', 'other')).answer).to.equal(true);
      permits.report('endpoint', { ok: true, durationMs: 100 });
      expect((await ask(permits, 'three', 'endpoint')).answer).to.equal(true);
    });
  }

  it('refuses waiting deliveries when their endpoint is closed', async () => {
    const permits = createLocalPermits(bounds);
    await ask(permits, 'a1', 'a');
    await ask(permits, 'a2', 'a');
    const waiting = await ask(permits, 'a3', 'a');
    permits.report('a', { ok: false, durationMs: 5 });
    expect(await waiting.now()).to.equal(false);
  });

  it('a place held for a second closes its endpoint and is lent to others, up to the bound', async () => {
    const permits = createLocalPermits(bounds);
    await fill(permits, 4, 'hung');
    const waiting = await ask(permits, 'quick-1', 'quick-endpoint-1');
    mock.timers.tick(999);
    expect(await waiting.now()).to.equal('waits');
    mock.timers.tick(1);
    expect(await waiting.now()).to.equal(true);
    expect((await ask(permits, 'quick-2', 'quick-endpoint-2')).answer).to.equal(true);
    expect((await ask(permits, 'quick-3', 'quick-endpoint-3')).answer, 'six are held').to.equal('waits');
    expect((await ask(permits, 'more', 'hung-endpoint-1')).answer, 'closed').to.equal(false);
  });

  it('frees a place that was not given back after 30 s', async () => {
    const permits = createLocalPermits({ total: 1, totalWithSlow: 1, unknown: 100, perEndpoint: 1 });
    await fill(permits, 1);
    mock.timers.tick(1_000); // it is slow now
    mock.timers.tick(28_500);
    const waiting = await ask(permits, 'next', 'endpoint');
    mock.timers.tick(499);
    expect(await waiting.now()).to.equal('waits');
    mock.timers.tick(1);
    expect(await waiting.now()).to.equal(true);
  });

  it('ignores what is given back twice or was not held', async () => {
    const permits = createLocalPermits({ total: 1, totalWithSlow: 1, unknown: 100, perEndpoint: 1 });
    await fill(permits, 1);
    permits.release('somebody-else');
    expect((await ask(permits, 'second', 'endpoint')).answer).to.equal('waits');
    permits.release('filler-1');
    permits.release('filler-1');
    expect((await ask(permits, 'third', 'other')).answer).to.equal('waits');
  });

  it('exceeds no bound in any order of calls, and answers everybody', async () => {
    const act = fc.oneof(
      fc.record({ kind: fc.constant('enter' as const), endpoint: fc.integer({ min: 1, max: 4 }) }),
      fc.record({ kind: fc.constant('leave' as const), which: fc.nat(20) }),
      fc.record({ kind: fc.constant('report' as const), endpoint: fc.integer({ min: 1, max: 4 }), ok: fc.boolean() }),
      fc.record({ kind: fc.constant('pass' as const), ms: fc.constantFrom(10, 400, 1_000) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(act, { maxLength: 60 }), async (acts) => {
        const permits = createLocalPermits(bounds);
        const held: { id: string; endpoint: number }[] = [];
        let asked = 0;
        let answered = 0;
        for (const one of acts) {
          if (one.kind === 'enter') {
            const id = `delivery-${++asked}`;
            void permits.acquire(id, `endpoint-${one.endpoint}`).then((admitted) => {
              answered += 1;
              if (admitted) held.push({ id, endpoint: one.endpoint });
            });
          } else if (one.kind === 'leave') {
            const [left] = held.splice(one.which % Math.max(held.length, 1), 1);
            if (left) permits.release(left.id);
          } else if (one.kind === 'report') {
            permits.report(`endpoint-${one.endpoint}`, { ok: one.ok, durationMs: 1 });
          } else {
            mock.timers.tick(one.ms);
          }
          for (let turn = 0; turn < 5; turn++) await Promise.resolve();
          expect(held.length).to.be.at.most(bounds.totalWithSlow);
          for (const endpoint of [1, 2, 3, 4]) {
            const ofEndpoint = held.filter((place) => place.endpoint === endpoint);
            expect(ofEndpoint.length, `endpoint ${endpoint}`).to.be.at.most(bounds.perEndpoint);
          }
        }
        mock.timers.tick(1_000);
        for (let turn = 0; turn < 5; turn++) await Promise.resolve();
        expect(answered).to.equal(asked);
        mock.timers.tick(40_000);
      }),
      { numRuns: 200 },
    );
  });
});
