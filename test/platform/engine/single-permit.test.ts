import { expect } from 'chai';
import { createSinglePermit } from '../../../platform/engine/single-permit.ts';

describe('the single permit of a process (ENG-21)', () => {
  const minute = 60_000;
  let now = 0;
  const permitOf = () => {
    now = 0;
    return createSinglePermit({ clock: () => now, random: () => 0.5 });
  };

  it('is held by only one piece of work at a time', () => {
    const permit = permitOf();
    const release = permit.tryAcquire('a');
    expect([permit.tryAcquire('a'), permit.tryAcquire('b')]).to.deep.equal([undefined, undefined]);
    release?.();
    release?.();
    const next = permit.tryAcquire('b');
    expect(next).to.be.a('function');
    release?.(); // a second release changes nothing
    expect(permit.tryAcquire('c')).to.equal(undefined);
  });

  it('goes to a waiting club before the club that just released it', () => {
    const permit = permitOf();
    const release = permit.tryAcquire('busy');
    permit.tryAcquire('busy');
    permit.tryAcquire('other');
    release?.();
    expect(permit.tryAcquire('busy')).to.equal(undefined);
    permit.tryAcquire('other')?.();
    expect(permit.tryAcquire('busy')).to.be.a('function');
  });

  it('is not reserved for a club that has not tried again for three minutes', () => {
    const permit = permitOf();
    const release = permit.tryAcquire('busy');
    permit.tryAcquire('gone');
    release?.();
    now = 3 * minute;
    expect(permit.tryAcquire('busy')).to.equal(undefined);
    now += 1;
    expect(permit.tryAcquire('busy')).to.be.a('function');
  });

  it('plans the retries of a club ten seconds apart, at most two minutes ahead', () => {
    const permit = permitOf();
    const times = Array.from({ length: 14 }, () => permit.retryAt('a', 1_000));
    expect(times.slice(0, 3)).to.deep.equal([11_000, 21_000, 31_000]);
    expect(times.slice(11)).to.deep.equal([121_000, 91_000, 91_000]);
    expect(permit.retryAt('b', 1_000)).to.equal(11_000);
  });
});
