/** Tests how clubs share the event streams that one process can serve (DEC-58, DEC-121). */
import { expect } from 'chai';
import { createOpenStreams, type OpenStreams, type StreamPermit } from '../../api/open-streams.ts';
import type { Caller } from '../../api/operation.ts';
import type { DomainError } from '../../platform/core/errors.ts';
import type { Queries } from '../../platform/infra/postgres/database.ts';
import { ownerAsCaller } from '../toolkit/builders/callers.ts';

describe('permits of event streams', () => {
  let open: OpenStreams;
  let people = 0;
  const db: Pick<Queries, 'rows'> = { rows: () => Promise.resolve([]) };
  beforeEach(() => {
    const bounds = { perStudent: 2, inAll: 16 };
    open = createOpenStreams({ db: db as Queries, clock: () => new Date(), bounds, onFailure() {} });
  });
  afterEach(() => open.stop());

  const somebody = (): Caller => ownerAsCaller(`person ${people++}`);
  const taking = (clubId: string, caller: Caller = somebody()): StreamPermit | string => {
    try {
      return open.take(caller, { clubId, roles: undefined, scope: undefined, ip: null });
    } catch (error) {
      const { code, message } = error as DomainError;
      return `${code}: ${message}`;
    }
  };
  /** @returns the number of streams that the club gets before a refusal, and the reason for the refusal */
  const fill = (clubId: string): [number, string] => {
    for (let count = 0; ; count += 1) {
      const permit = taking(clubId);
      if (typeof permit === 'string') return [count, permit];
    }
  };

  it('are given to one club up to half of the permits that other clubs leave, so that some remain free', () => {
    const ofClub = 'rate_limited: Too many answers of this club are followed just now.';
    expect([fill('one'), fill('two'), fill('three')]).to.deep.equal([
      [8, ofClub],
      [4, ofClub],
      [2, ofClub],
    ]);
  });

  it('are given to other clubs after they are returned', () => {
    const permits = Array.from({ length: 8 }, () => taking('one'));
    expect(fill('two')[0]).to.equal(4);
    for (const permit of permits) if (typeof permit !== 'string') permit.release();
    expect(fill('three')[0]).to.equal(6);
  });

  it('are limited to two for one person, even if the club still has permits', () => {
    const person = somebody();
    expect(typeof taking('one', person)).to.equal('object');
    expect(typeof taking('one', person)).to.equal('object');
    expect(taking('one', person)).to.equal('rate_limited: You follow as many answers as you may at a time.');
  });
});
