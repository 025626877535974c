import { mock } from 'node:test';
import { expect } from 'chai';
import { validate, version } from 'uuid';
import { idAfter, leastIdOf, newId, timeOfId } from '../../../platform/core/ids.ts';

describe('new ids', () => {
  const start = Date.now() + 1_000_000; // Later than the time of any id that this process has made.
  let now = start;
  beforeEach('A clock that the test sets.', () => {
    now = start;
    mock.method(Date, 'now', () => now);
  });
  afterEach(() => {
    now = start - 1_000_000;
    newId(); // The next id follows the real clock again.
    mock.restoreAll();
  });
  const make = (count: number) => Array.from({ length: count }, newId);

  it('are UUIDs of version 7, in ascending order even within a millisecond', () => {
    const ids = make(1_000);
    now += 1;
    ids.push(...make(10));
    expect(ids.every((id) => validate(id) && version(id) === 7)).to.equal(true);
    expect(ids.toSorted()).to.deep.equal(ids);
    expect(new Set(ids).size).to.equal(1_010);
    expect([timeOfId(ids[0] ?? ''), timeOfId(ids.at(-1) ?? '')]).to.deep.equal([start, start + 1]);
  });

  it('stay in ascending order if the clock goes back by up to 10 s', () => {
    const [before = ''] = make(1);
    now -= 10_000;
    const [after = ''] = make(1);
    expect(after > before).to.equal(true);
    expect(timeOfId(after)).to.equal(start);
  });

  it('follow the clock if it goes back by more than 10 s', () => {
    make(1);
    now -= 10_001;
    const ids = make(100);
    expect(timeOfId(ids[0] ?? '')).to.equal(start - 10_001);
    expect(ids.toSorted()).to.deep.equal(ids);
  });

  it('lie between the smallest ids of their millisecond and of the next one', () => {
    const [id = ''] = make(1);
    expect(leastIdOf(start) < id && id < leastIdOf(start + 1)).to.equal(true);
    expect(idAfter(leastIdOf(start))).to.equal(`${leastIdOf(start).slice(0, -1)}1`);
    expect(leastIdOf(0)).to.equal('00000000-0000-0000-0000-000000000000');
  });
});
