import { expect } from 'chai';
import { createSinglePermit } from '../../../platform/engine/single-permit.ts';

describe('a permit that clubs get in turn (ENG-21)', () => {
  const minute = 60_000;
  let now = 0;
  const permitOf = () => {
    now = 0;
    return createSinglePermit({ clock: () => now, random: () => 0.5 });
  };

  it('is had once at a time, and again once it was given back', () => {
    const permit = permitOf();
    const giveBack = permit.take('a');
    expect([permit.take('a'), permit.take('b')]).to.deep.equal([undefined, undefined]);
    giveBack?.();
    giveBack?.();
    const next = permit.take('b');
    expect(next).to.be.a('function');
    giveBack?.(); // it is not its own any more
    expect(permit.take('c')).to.equal(undefined);
  });

  it('goes to a club that waits before the one that has just had it', () => {
    const permit = permitOf();
    const giveBack = permit.take('busy');
    permit.take('busy');
    permit.take('other');
    giveBack?.();
    expect(permit.take('busy')).to.equal(undefined);
    permit.take('other')?.();
    expect(permit.take('busy')).to.be.a('function');
  });

  it('is not kept for a club that has not come again for three minutes', () => {
    const permit = permitOf();
    const giveBack = permit.take('busy');
    permit.take('gone');
    giveBack?.();
    now = 3 * minute;
    expect(permit.take('busy')).to.equal(undefined);
    now += 1;
    expect(permit.take('busy')).to.be.a('function');
  });

  it('has each piece of a club’s work come again ten seconds after the one before, within two minutes', () => {
    const permit = permitOf();
    const times = Array.from({ length: 14 }, () => permit.comeAgainAt('a', 1_000));
    expect(times.slice(0, 3)).to.deep.equal([11_000, 21_000, 31_000]);
    expect(times.slice(11)).to.deep.equal([121_000, 91_000, 91_000]);
    expect(permit.comeAgainAt('b', 1_000)).to.equal(11_000);
  });
});
