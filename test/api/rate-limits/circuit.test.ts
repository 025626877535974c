/** Tests the circuit breaker: while the store is unavailable, at most one call a second waits for it. */
import { expect } from 'chai';
import { createCircuit } from '../../../api/rate-limits/circuit.ts';
import { CountersUnavailable, storeDeadlineMs } from '../../../api/rate-limits/counter-store.ts';
import { withTimersStopped } from '../../toolkit/fakes/timers.ts';

const outcome = (call: Promise<unknown>) => call.catch((error: unknown) => error);

describe('circuit breaker of the rate counters', () => {
  const broken = new Error('connection refused');
  let now: number;
  let tries: number;
  let failures: unknown[];
  const circuit = () =>
    createCircuit(
      () => now,
      (error) => failures.push(error),
    );
  const fails = () => {
    tries += 1;
    return Promise.reject(broken);
  };
  const works = () => {
    tries += 1;
    return Promise.resolve('counted');
  };

  beforeEach(() => {
    now = 0;
    tries = 0;
    failures = [];
  });

  it('returns the result of the store', async () => {
    expect(await circuit()(works)).to.equal('counted');
    expect(failures).to.deep.equal([]);
  });

  it('turns a failure of the store into CountersUnavailable with its cause', async () => {
    const error = await outcome(circuit()(fails));
    expect(error).to.be.instanceOf(CountersUnavailable).with.property('cause', broken);
    expect(failures).to.deep.equal([broken]);
  });

  it('does not call the store for one second after a failure, and then calls it again', async () => {
    const through = circuit();
    await outcome(through(fails));
    now = 999;
    expect(await outcome(through(works))).to.be.instanceOf(CountersUnavailable);
    expect(tries).to.equal(1);
    now = 1_000;
    expect(await through(works)).to.equal('counted');
    expect(await through(works)).to.equal('counted');
    expect(failures).to.have.length(1);
  });

  it('lets one call probe a failed store, and rejects concurrent calls immediately', async () => {
    const through = circuit();
    await outcome(through(fails));
    now = 1_000;
    const { promise, resolve } = Promise.withResolvers<string>();
    const probe = through(() => promise);
    expect(await outcome(through(works))).to.be.instanceOf(CountersUnavailable);
    expect(tries).to.equal(1);
    resolve('back');
    expect(await probe).to.equal('back');
    expect(await through(works)).to.equal('counted');
  });

  it('waits one more second after a failed probe', async () => {
    const through = circuit();
    await outcome(through(fails));
    now = 1_000;
    await outcome(through(fails));
    now = 1_999;
    expect(await outcome(through(works))).to.be.instanceOf(CountersUnavailable);
    now = 2_000;
    expect(await through(works)).to.equal('counted');
  });

  it('calls the store again if the clock goes backwards', async () => {
    const through = circuit();
    now = 100_000;
    await outcome(through(fails));
    now = 0;
    expect(await through(works)).to.equal('counted');
  });

  it('fails at the deadline if the store does not answer, and leaves no running timer', () =>
    withTimersStopped(async (advance) => {
      const through = circuit();
      const { promise, reject } = Promise.withResolvers<never>();
      const ended: unknown[] = [];
      void outcome(through(() => promise)).then((error) => ended.push(error));
      await advance(storeDeadlineMs - 1);
      expect(ended).to.deep.equal([]);
      await advance(1);
      expect(ended).to.have.length(1);
      expect(ended[0]).to.be.instanceOf(CountersUnavailable);
      reject(broken); // The answer arrives too late for every caller.
      await advance(storeDeadlineMs);
      expect(failures.map(String)).to.deep.equal([`Error: No answer within ${storeDeadlineMs} ms.`]);
    }));
});
