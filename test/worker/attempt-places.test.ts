import { mock } from 'node:test';
import { expect } from 'chai';
import * as fc from 'fast-check';
import type { ClaimedDelivery } from '../../domain/webhooks/attempts/claims.ts';
import { createAdmission, type Admission } from '../../worker/lanes/attempt-permits.ts';

describe('admission of local first attempts', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
  afterEach(() => mock.timers.reset());

  const bounds = { total: 4, totalWithSlow: 6, unknown: 100, perEndpoint: 2 };
  /** Asks for a place. @returns what is known of the answer so far */
  const ask = async (admission: Admission, deliveryId: string, endpointId: string) => {
    const asked: { answer: boolean | 'waits'; now(): Promise<boolean | 'waits'> } = {
      answer: 'waits',
      async now() {
        for (let turn = 0; turn < 5; turn++) await Promise.resolve();
        return asked.answer;
      },
    };
    void admission.enter(deliveryId, endpointId).then((admitted) => (asked.answer = admitted));
    await asked.now();
    return asked;
  };
  /** Fills so many places, each at an endpoint of its own. */
  const fill = async (admission: Admission, count: number, prefix = 'filler') => {
    for (let number = 1; number <= count; number++) {
      expect((await ask(admission, `${prefix}-${number}`, `${prefix}-endpoint-${number}`)).answer).to.equal(true);
    }
  };

  it('admits up to the total; the next one waits for a free place', async () => {
    const admission = createAdmission(bounds);
    await fill(admission, 4);
    const fifth = await ask(admission, 'fifth', 'endpoint');
    expect(fifth.answer).to.equal('waits');
    admission.leave('filler-2');
    expect(await fifth.now()).to.equal(true);
    expect((await ask(admission, 'sixth', 'other')).answer).to.equal('waits');
  });

  it('admits two per endpoint; a third waits for one of them without delaying others', async () => {
    const admission = createAdmission(bounds);
    expect((await ask(admission, 'a1', 'a')).answer).to.equal(true);
    expect((await ask(admission, 'a2', 'a')).answer).to.equal(true);
    const third = await ask(admission, 'a3', 'a');
    expect(third.answer).to.equal('waits');
    expect((await ask(admission, 'b1', 'b')).answer).to.equal(true);
    admission.leave('b1');
    expect(await third.now()).to.equal('waits');
    admission.leave('a1');
    expect(await third.now()).to.equal(true);
  });

  it('keeps place and claim of a delivery whose fact is fanned out again, and starts again with them', async () => {
    const admission = createAdmission(bounds);
    expect(admission.reserve('delivery', 'a')).to.equal(true);
    const claimed = { id: 'delivery' } as ClaimedDelivery;
    admission.keep(claimed);
    expect(admission.reserve('delivery', 'a'), 'in advance, again').to.equal(false);
    expect((await ask(admission, 'delivery', 'a')).answer, 'at its start, again').to.equal(true);
    expect(admission.takeClaim('delivery')).to.equal(claimed);
    expect((await ask(admission, 'a2', 'a')).answer, 'the second place of the endpoint').to.equal(true);
    mock.timers.tick(999);
    admission.leave('delivery');
    mock.timers.tick(1);
    expect((await ask(admission, 'b1', 'b')).answer).to.equal(true);
    admission.leave('a2');
    admission.report('a', { ok: true, tookMs: 1 });
    expect(admission.reserve('a3', 'a') && admission.reserve('a4', 'a'), 'both places of the endpoint').to.equal(true);
  });

  it('gives as many turns, as many an endpoint, to those that are claimed before they have a place', async () => {
    const admission = createAdmission(bounds);
    const ids = ['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'b2', 'b3', 'c1'];
    expect(ids.filter((id) => admission.reserve(id, id.slice(0, 1)))).to.deep.equal(
      ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'b3', 'c1'],
      'four have a place: a1, a2, b1, b2',
    );
    expect(admission.holds('a3'), 'a turn is no place').to.equal(false);
    expect(admission.reserve('d1', 'd'), 'four have a turn').to.equal(false);
    const third = await ask(admission, 'a3', 'a');
    expect(admission.reserve('a3', 'a'), 'fanned out again').to.equal(false);
    admission.leave('a1');
    expect([await third.now(), admission.holds('a3')]).to.deep.equal([true, true]);
    expect(admission.reserve('d1', 'd'), 'its turn is over').to.equal(true);
  });

  it('takes a turn back that is given back, that nobody came for in 30 s, or that waited in vain', async () => {
    const admission = createAdmission({ total: 1, totalWithSlow: 1, unknown: 100, perEndpoint: 1 });
    await fill(admission, 1);
    expect([admission.reserve('one', 'a'), admission.reserve('two', 'b')]).to.deep.equal([true, false]);
    admission.leave('one');
    expect(admission.reserve('two', 'b')).to.equal(true);
    const waits = await ask(admission, 'two', 'b');
    mock.timers.tick(1_000);
    expect([await waits.now(), admission.reserve('three', 'c')]).to.deep.equal([false, true]);
    mock.timers.tick(28_000);
    expect(admission.reserve('four', 'd')).to.equal(false);
    mock.timers.tick(2_000);
    expect([admission.reserve('four', 'd'), admission.reserve('five', 'e')], 'a place, and a turn').to.deep.equal([
      true,
      true,
    ]);
  });

  it('unknown endpoints share some places without waiting; a quick one is admitted beyond them', async () => {
    const admission = createAdmission({ ...bounds, unknown: 2 });
    admission.report('quick', { ok: true, tookMs: 5 });
    await fill(admission, 2);
    expect((await ask(admission, 'third', 'new')).answer, 'a third unknown').to.equal(false);
    expect((await ask(admission, 'q1', 'quick')).answer, 'a quick one').to.equal(true);
    admission.leave('filler-1');
    expect((await ask(admission, 'fourth', 'new')).answer, 'once a place is given back').to.equal(true);
  });

  it('counts an endpoint as unknown again when it becomes slow', async () => {
    const admission = createAdmission({ ...bounds, unknown: 0 });
    expect((await ask(admission, 'first', 'endpoint')).answer).to.equal(false);
    admission.report('endpoint', { ok: true, tookMs: 5 });
    expect((await ask(admission, 'second', 'endpoint')).answer).to.equal(true);
    admission.report('endpoint', { ok: false, tookMs: 5 });
    expect((await ask(admission, 'third', 'endpoint')).answer).to.equal(false);
  });

  it('lets nobody wait longer than a second', async () => {
    const admission = createAdmission({ ...bounds, perEndpoint: 4, totalWithSlow: 4 });
    await fill(admission, 4);
    const waiting = await ask(admission, 'fifth', 'endpoint');
    mock.timers.tick(999);
    expect(await waiting.now()).to.equal('waits');
    mock.timers.tick(1);
    expect(await waiting.now()).to.equal(false);
  });

  for (const { what, report } of [
    { what: 'failed', report: { ok: false, tookMs: 5 } },
    { what: 'took longer than 100 ms', report: { ok: true, tookMs: 101 } },
  ]) {
    it(`refuses an endpoint whose last attempt ${what}, until one is quick and succeeds`, async () => {
      const admission = createAdmission(bounds);
      admission.report('endpoint', report);
      expect((await ask(admission, 'one', 'endpoint')).answer).to.equal(false);
      expect((await ask(admission, 'two', 'other')).answer).to.equal(true);
      admission.report('endpoint', { ok: true, tookMs: 100 });
      expect((await ask(admission, 'three', 'endpoint')).answer).to.equal(true);
    });
  }

  it('refuses waiting deliveries when their endpoint is closed', async () => {
    const admission = createAdmission(bounds);
    await ask(admission, 'a1', 'a');
    await ask(admission, 'a2', 'a');
    const waiting = await ask(admission, 'a3', 'a');
    admission.report('a', { ok: false, tookMs: 5 });
    expect(await waiting.now()).to.equal(false);
  });

  it('a place held for a second closes its endpoint and is lent to others, up to the bound', async () => {
    const admission = createAdmission(bounds);
    await fill(admission, 4, 'hung');
    const waiting = await ask(admission, 'quick-1', 'quick-endpoint-1');
    mock.timers.tick(999);
    expect(await waiting.now()).to.equal('waits');
    mock.timers.tick(1);
    expect(await waiting.now()).to.equal(true);
    expect((await ask(admission, 'quick-2', 'quick-endpoint-2')).answer).to.equal(true);
    expect((await ask(admission, 'quick-3', 'quick-endpoint-3')).answer, 'six are held').to.equal('waits');
    expect((await ask(admission, 'more', 'hung-endpoint-1')).answer, 'closed').to.equal(false);
  });

  it('frees a place that was not given back after 30 s', async () => {
    const admission = createAdmission({ total: 1, totalWithSlow: 1, unknown: 100, perEndpoint: 1 });
    await fill(admission, 1);
    mock.timers.tick(1_000); // it is slow now
    mock.timers.tick(28_500);
    const waiting = await ask(admission, 'next', 'endpoint');
    mock.timers.tick(499);
    expect(await waiting.now()).to.equal('waits');
    mock.timers.tick(1);
    expect(await waiting.now()).to.equal(true);
  });

  it('ignores what is given back twice or was not held', async () => {
    const admission = createAdmission({ total: 1, totalWithSlow: 1, unknown: 100, perEndpoint: 1 });
    await fill(admission, 1);
    admission.leave('somebody-else');
    expect((await ask(admission, 'second', 'endpoint')).answer).to.equal('waits');
    admission.leave('filler-1');
    admission.leave('filler-1');
    expect((await ask(admission, 'third', 'other')).answer).to.equal('waits');
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
        const admission = createAdmission(bounds);
        const held: { id: string; endpoint: number }[] = [];
        let asked = 0;
        let answered = 0;
        for (const one of acts) {
          if (one.kind === 'enter') {
            const id = `delivery-${++asked}`;
            void admission.enter(id, `endpoint-${one.endpoint}`).then((admitted) => {
              answered += 1;
              if (admitted) held.push({ id, endpoint: one.endpoint });
            });
          } else if (one.kind === 'leave') {
            const [left] = held.splice(one.which % Math.max(held.length, 1), 1);
            if (left) admission.leave(left.id);
          } else if (one.kind === 'report') {
            admission.report(`endpoint-${one.endpoint}`, { ok: one.ok, tookMs: 1 });
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
