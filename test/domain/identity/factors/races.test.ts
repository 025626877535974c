/** Tests that simultaneous uses of a challenge or a code open exactly one session (FAC-3, FAC-5). No limit of tries runs here. */
import { expect } from 'chai';
import { openAdministratorSession } from '../../../../domain/identity/accounts/administrator-accounts.ts';
import {
  findChallenge,
  removeExpiredChallenges,
  type Challenge,
} from '../../../../domain/identity/factors/challenges.ts';
import { removeFactor, removeUnconfirmedFactors } from '../../../../domain/identity/factors/factors.ts';
import { finishSignIn } from '../../../../domain/identity/factors/second-step.ts';
import { endSessionsOf, unknownClient } from '../../../../domain/identity/sessions/sessions.ts';
import { DomainError } from '../../../../platform/core/errors.ts';
import type { Id } from '../../../../platform/core/ids.ts';
import { sql } from '../../../../platform/infra/postgres/sql.ts';
import { buildAdministrator } from '../../../toolkit/builders/clubs.ts';
import { buildSecondFactor, totpCodeOf, type TestSecondFactor } from '../../../toolkit/builders/second-factors.ts';
import { testDeps } from '../../../toolkit/stack/database.ts';

describe('simultaneous sign-ins with a second factor', () => {
  let id: Id;
  let factor: TestSecondFactor;
  beforeEach(async () => {
    ({ id } = await buildAdministrator());
    factor = await buildSecondFactor(id);
  });

  const challenge = async (network: string | null = null): Promise<Challenge> => {
    const { db } = await testDeps();
    const origin = { openedBy: 'password', device: null, network } as const;
    const result = await db.transaction((tx) => openAdministratorSession(tx, id, origin, new Date()));
    if (!('challenge' in result)) throw new Error('The account has no second factor');
    return result.challenge;
  };
  /** @returns the code of the refusal, or `session` */
  const finish = async (token: string, proof: { code?: string; recovery_code?: string }): Promise<string> => {
    const deps = await testDeps();
    const now = new Date();
    try {
      const pending = await findChallenge(deps.db, token, now);
      await finishSignIn(deps, pending, { challenge: token, ...proof }, unknownClient, now);
      return 'session';
    } catch (error) {
      if (error instanceof DomainError) return error.code;
      throw error;
    }
  };
  const expectOneSession = (outcomes: readonly string[]) =>
    expect(outcomes.toSorted()).to.deep.equal([
      ...Array<string>(outcomes.length - 1).fill('invalid_credentials'),
      'session',
    ]);

  it('open one session for 20 uses of one challenge', async () => {
    const { token } = await challenge();
    const code = totpCodeOf(factor);
    expectOneSession(await Promise.all(Array.from({ length: 20 }, () => finish(token, { code }))));
  });

  it('open one session for 20 uses of one code, each with its own challenge', async () => {
    const challenges: Challenge[] = [];
    for (let n = 0; n < 20; n += 1) challenges.push(await challenge(`10.0.${n}.0/24`));
    const code = totpCodeOf(factor);
    expectOneSession(await Promise.all(challenges.map(({ token }) => finish(token, { code }))));
  });

  it('open one session for 20 uses of one recovery code, each with its own challenge', async () => {
    const challenges: Challenge[] = [];
    for (let n = 0; n < 20; n += 1) challenges.push(await challenge(`10.0.${n}.0/24`));
    const [code = ''] = factor.recoveryCodes;
    expectOneSession(await Promise.all(challenges.map(({ token }) => finish(token, { recovery_code: code }))));
  });

  it('open no session after the factor is removed, or after the sessions of the account end', async () => {
    const deps = await testDeps();
    const first = await challenge();
    await deps.db.transaction((tx) => endSessionsOf(tx, 'admin', id));
    expect(await finish(first.token, { code: totpCodeOf(factor) })).to.equal('invalid_credentials');
    const second = await challenge();
    await removeFactor(deps, id, factor.id, new Date());
    expect(await finish(second.token, { code: totpCodeOf(factor) })).to.equal('invalid_credentials');
  });

  it('end with a removal in any order, and never wait for each other', async () => {
    const deps = await testDeps();
    for (let round = 0; round < 10; round += 1) {
      const person = await buildAdministrator();
      id = person.id;
      factor = await buildSecondFactor(id);
      const { token } = await challenge();
      const outcomes = await Promise.all([
        finish(token, { code: totpCodeOf(factor) }),
        removeFactor(deps, id, factor.id, new Date()).then(() => 'removed'),
        deps.db.transaction((tx) => endSessionsOf(tx, 'admin', id)).then(() => 'ended'),
      ]);
      expect(outcomes.slice(1)).to.deep.equal(['removed', 'ended']);
      expect(outcomes[0]).to.be.oneOf(['session', 'invalid_credentials']);
      const state = await deps.db.one<{ has: boolean; proofs: number }>(sql`SELECT has_second_factor AS has,
          (SELECT count(*)::int FROM administrator_sessions WHERE administrator_id = administrators.id AND second_factor_at IS NOT NULL) AS proofs
        FROM administrators WHERE id = ${id}`);
      expect(state).to.deep.equal({ has: false, proofs: 0 });
    }
  });
});

describe('retention of second factors', () => {
  it('removes challenges that expired five minutes ago, and factors without a first code', async () => {
    const { db } = await testDeps();
    const { id } = await buildAdministrator();
    const factor = await buildSecondFactor(id);
    const now = new Date();
    await db.transaction((tx) => openAdministratorSession(tx, id, { openedBy: 'password', ...unknownClient }, now));
    await db.run(sql`UPDATE second_factors SET confirmed_at = NULL WHERE id = ${factor.id}`);
    const rows = async () =>
      (
        await db.one<{
          count: number;
        }>(sql`SELECT (SELECT count(*) FROM sign_in_challenges WHERE administrator_id = ${id})::int
          + (SELECT count(*) FROM second_factors WHERE administrator_id = ${id})::int AS count`)
      )?.count;
    const after = (minutes: number) => new Date(now.getTime() + minutes * 60_000);
    await removeExpiredChallenges(db, after(9));
    await removeUnconfirmedFactors(db, after(29));
    expect(await rows()).to.equal(2);
    await removeExpiredChallenges(db, after(10));
    await removeUnconfirmedFactors(db, after(31));
    expect(await rows()).to.equal(0);
  });
});
