import { mock } from 'node:test';
import { expect } from 'chai';
import { DomainError } from '../../../../platform/core/errors.ts';
import { isConflict } from '../../../../platform/infra/postgres/database.ts';
import { createShares } from '../../../../platform/infra/postgres/shared-pool.ts';

const second = 1_000;

describe('the fair sharing of the connection pool (ENG-17)', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
  afterEach(() => mock.timers.reset());

  /** Also returns the names of the answered requests, in order. */
  function ask(limit: number) {
    const places = createShares(limit);
    const answers: string[] = [];
    const enter = (clubId: string, name: string) =>
      places.enter(clubId, (refusal) => answers.push(refusal ? `${name} refused` : name));
    return { places, answers, enter };
  }

  it('passes a free permit to the next request in the queue', () => {
    const { places, answers, enter } = ask(2);
    for (const name of ['a', 'b', 'c', 'd']) enter('club', name);
    expect(answers).to.deep.equal(['a', 'b']);
    places.leave('club');
    expect(answers).to.deep.equal(['a', 'b', 'c']);
    places.leave('club');
    places.leave('club');
    enter('club', 'e');
    enter('club', 'f');
    expect(answers).to.deep.equal(['a', 'b', 'c', 'd', 'e']);
  });

  it('gives permits to another club while one club has used its share', () => {
    const { answers, enter } = ask(1);
    for (const name of ['a', 'b']) enter('club', name);
    enter('other', 'c');
    expect(answers).to.deep.equal(['a', 'c']);
  });

  it('refuses a request after 3 s with a transient conflict', () => {
    const places = createShares(1);
    const refusals: unknown[] = [];
    places.enter('club', () => {});
    places.enter('club', (refusal) => refusals.push(refusal));
    mock.timers.tick(3 * second - 1);
    expect(refusals).to.deep.equal([]);
    mock.timers.tick(1);
    expect(refusals).to.have.length(1);
    expect(isConflict(refusals[0])).to.equal(true);
    // A DomainError would make a sales notice fail permanently.
    expect(refusals[0]).not.to.be.an.instanceOf(DomainError);
    places.leave('club');
    mock.timers.tick(second);
    expect(refusals).to.have.length(1);
    places.enter('club', (refusal) => refusals.push(refusal));
    expect(refusals[1]).to.equal(undefined);
  });
});
