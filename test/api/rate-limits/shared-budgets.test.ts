/**
 * Tests budgets of calls that the callers of a club share. If one caller makes as many calls as possible, the others keep their share
 * (LIM-24, LIM-25).
 */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { Secret } from '../../../platform/core/secret.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import { admit, type Call } from '../../../api/rate-limits/admission.ts';
import { createLimiter, type Limiter } from '../../../api/rate-limits/limiter.ts';
import { clubWrites, rules } from '../../../api/rate-limits/rules.policy.ts';
import { sharedBudget } from '../../../api/rate-limits/shared-budgets.policy.ts';
import { freePort, masterKey, migratedPostgres, startRedis, type Store } from '../../toolkit/stack/counter-stores.ts';

const noon = Date.UTC(2025, 0, 1, 12);
const second = 1_000;
const nobody = (): Promise<Store> =>
  freePort().then((port) => ({ url: new Secret(`redis://127.0.0.1:${port}`), stop: () => Promise.resolve() }));

const stores: readonly [string, () => Promise<Store>][] = [
  ['Postgres', migratedPostgres],
  ['Redis', startRedis],
];

const open = ({ url }: Store) =>
  createLimiter({ url, masterKey, clock: Date.now, onFailure: () => undefined, deadlineMs: 10_000 });

interface Member {
  readonly clubId: string;
  readonly caller: { readonly kind: 'admin'; readonly id: string };
}

const memberOf = (clubId: string): Member => ({ clubId, caller: { kind: 'admin', id: randomUUID() } });

const callOf = ({ clubId, caller }: Member, method: string, path: string): Call => {
  const ip = '198.18.0.1'; // all callers have the IP address of one office
  return { method, path: `/v1/clubs/${clubId}${path}`, ip, caller, clubId, refused: false };
};

/** @returns 0 if the call passes, otherwise the seconds in `Retry-After` */
async function waitOf(limiter: Limiter, call: Call, now: number): Promise<number> {
  try {
    await admit(limiter, call, now);
    return 0;
  } catch (error) {
    if (!(error instanceof DomainError) || error.code !== 'rate_limited') throw error;
    return error.headers.retryAfterSeconds ?? NaN;
  }
}

const passed = (waits: readonly number[]) => waits.filter((wait) => wait === 0).length;

for (const [name, start] of stores) {
  describe(`shared budgets in ${name}`, function () {
    this.timeout(60_000);
    let store: Store;
    let limiter: Limiter;

    before(async () => {
      store = await start();
      limiter = open(store);
      await limiter.ready();
    });
    after(async () => {
      await limiter.close();
      await store.stop();
    });

    it('let the owner remove an editor while the editor calls ten times a second', async () => {
      const owner = memberOf(randomUUID());
      const attacker = memberOf(owner.clubId);
      const write = (by: Member, now: number) => waitOf(limiter, callOf(by, 'POST', '/campaigns'), now);
      for (let window = 0; window < 3; window += 1) {
        const begin = noon + window * 60 * second;
        const attack: number[] = [];
        const removals: number[] = [];
        const writes: number[] = [];
        for (let tenth = 0; tenth < 600; tenth += 1) {
          const now = begin + tenth * 100;
          attack.push(await write(attacker, now));
          if (tenth % 24 === 23)
            removals.push(await waitOf(limiter, callOf(owner, 'DELETE', `/members/${attacker.caller.id}`), now));
          if (tenth % 40 === 39) writes.push(await write(owner, now));
        }
        // In the first window, the editor may use the owner's unused calls. Refused calls are charged to the editor's next window.
        expect(passed(attack), `the editor in window ${window}`).to.equal(window === 0 ? 59 : 0);
        expect(removals, `removals in window ${window}`).to.deep.equal(Array.from({ length: 25 }, () => 0));
        expect(passed(writes), `writes of the owner in window ${window}`).to.equal(15);
      }
    });

    it('still let an administrator without remaining writes remove members and revoke invitations', async () => {
      const owner = memberOf(randomUUID());
      for (let n = 0; n < 200; n += 1) await waitOf(limiter, callOf(owner, 'POST', '/campaigns'), noon);
      const ends = [
        callOf(owner, 'DELETE', `/members/${randomUUID()}`),
        callOf(owner, 'PATCH', `/members/${randomUUID()}`),
        callOf(owner, 'DELETE', `/invitations/${randomUUID()}`),
      ];
      for (let n = 0; n < 60; n += 1) {
        const call = ends[n % ends.length];
        if (call) expect(await waitOf(limiter, call, noon)).to.equal(0);
      }
      for (const call of ends) expect(await waitOf(limiter, call, noon)).to.equal(60);
    });

    it('allow all 60 calls to one caller, and charge early retries to the caller’s next minute', async () => {
      const only = memberOf(randomUUID());
      const write = (now: number) => waitOf(limiter, callOf(only, 'POST', '/campaigns'), now);
      for (let n = 0; n < 60; n += 1) expect(await write(noon)).to.equal(0);
      expect([await write(noon + 15 * second), await write(noon + 59_001)]).to.deep.equal([45, 1]);
      for (let n = 0; n < 58; n += 1) expect(await write(noon + 60 * second)).to.equal(0);
      expect(await write(noon + 60 * second)).to.equal(60);
    });

    it('charge a refused call only to its caller, and admit the caller after Retry-After', async () => {
      const clubId = randomUUID();
      const [first, waiting, hasty] = [memberOf(clubId), memberOf(clubId), memberOf(clubId)];
      for (let n = 0; n < 60; n += 1) await waitOf(limiter, callOf(first, 'POST', '/campaigns'), noon);
      for (let n = 0; n < 15; n += 1) await waitOf(limiter, callOf(waiting, 'POST', '/campaigns'), noon);
      const retryAfter = await waitOf(limiter, callOf(waiting, 'POST', '/campaigns'), noon + 20 * second);
      expect(retryAfter).to.equal(40);
      for (let n = 0; n < 200; n += 1) await waitOf(limiter, callOf(hasty, 'POST', '/campaigns'), noon + 21 * second);
      const later = noon + (20 + retryAfter) * second;
      expect(await waitOf(limiter, callOf(waiting, 'POST', '/campaigns'), later)).to.equal(0);
      for (let n = 0; n < 58; n += 1)
        expect(await waitOf(limiter, callOf(waiting, 'POST', '/campaigns'), later), `call ${n}`).to.equal(0);
    });

    it('give the owner a share of every club limit, even if an editor uses it up', async () => {
      for (const rule of rules.filter(({ scope }) => scope === 'club')) {
        const path = rule.path
          .replaceAll(/\{\w+\}/g, 'x')
          .replace('/v1/clubs/x', '')
          .replace('*', 'anything');
        const owner = memberOf(randomUUID());
        const editor = memberOf(owner.clubId);
        const send = (by: Member, now: number) => waitOf(limiter, callOf(by, rule.methods[0] ?? '', path), now);
        for (let n = 0; n < rule.limit * 3; n += 1) await send(editor, noon);
        const share = Math.floor(rule.limit / 4);
        for (let n = 0; n < share; n += 1) expect(await send(owner, noon), rule.name).to.equal(0);
        expect(await send(owner, noon), rule.name).to.equal(rule.windowSeconds);
        expect(await send(editor, noon + rule.windowSeconds * second), rule.name).to.equal(rule.windowSeconds);
        expect(await send(owner, noon + rule.windowSeconds * second), rule.name).to.equal(0);
      }
    });

    it('admit at most six times the limit for any number of administrators', async () => {
      const clubId = randomUUID();
      let admitted = 0;
      for (let n = 0; n < 40; n += 1) {
        const member = memberOf(clubId);
        for (let call = 0; call < 15; call += 1)
          if ((await waitOf(limiter, callOf(member, 'POST', '/campaigns'), noon)) === 0) admitted += 1;
      }
      expect(admitted).to.equal(60 + 300);
    });
  });
}

describe('shared budgets while the counters are unavailable', () => {
  it('still let the owner remove an editor who makes any number of calls', async () => {
    const store = await nobody();
    const limiter = open(store);
    const owner = memberOf(randomUUID());
    const editor = memberOf(owner.clubId);
    for (let n = 0; n < 600; n += 1) expect(await waitOf(limiter, callOf(editor, 'POST', '/x'), noon)).to.equal(0);
    expect(await waitOf(limiter, callOf(owner, 'DELETE', `/members/${editor.caller.id}`), noon)).to.equal(0);
    await limiter.close();
  });
});

describe('the limits of a caller who shares a budget', () => {
  const bounds = (kind: 'admin' | 'student' | 'file') => {
    const { own, share, reserve } = sharedBudget(clubWrites, kind);
    return { own: own.limit, share, reserve: reserve.limit };
  };

  it('depend on the kind of caller', () => {
    expect(bounds('admin')).to.deep.equal({ own: 60, share: 15, reserve: 300 });
    expect(bounds('student')).to.deep.equal({ own: 10, share: 4, reserve: 120 });
    expect(bounds('file')).to.deep.equal({ own: 10, share: 4, reserve: 300 });
  });

  it('reserve at least one call for the caller, even if the budget is small', () => {
    expect(sharedBudget({ ...clubWrites, limit: 3 }, 'admin')).to.deep.include({ share: 1 });
  });
});
