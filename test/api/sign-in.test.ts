import { expect } from 'chai';
import { withClockStopped } from '../toolkit/fakes/timers.ts';
import { newId } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildClub, buildStudent, password } from '../toolkit/builders/clubs.ts';
import { administratorAccounts, studentAccounts, type AccountKind } from '../toolkit/drive/accounts.ts';
import { call, expectError, type Answer, visible } from '../toolkit/drive/api.ts';
import { untilWaitingForLocks, withOpenTransaction } from '../toolkit/drive/races.ts';
import { mailsTo } from '../toolkit/stack/database.ts';

const someone = () => `${newId()}@example.com`;
const hour = 3_600_000;

const kinds: Record<string, { lifetimeMs: number; make: () => Promise<AccountKind> }> = {
  'POST /v1/auth/sign-in': { lifetimeMs: 30 * 24 * hour, make: async () => studentAccounts((await buildClub()).id) },
  'POST /v1/auth/admin/sign-in': { lifetimeMs: 12 * hour, make: () => Promise.resolve(administratorAccounts()) },
};

for (const [title, { lifetimeMs, make }] of Object.entries(kinds)) {
  describe(title, () => {
    let kind: AccountKind;
    before(async () => {
      kind = await make();
    });

    describe('200', () => {
      it('opens a session, and returns its token, its end time and the person (AUTH-2, AUTH-3)', async () => {
        const { id, email } = await kind.build();
        const [answer, signedInAt] = await withClockStopped(
          async (now) => [await kind.signIn(email, password), now] as const,
        );
        expect(answer.status).to.equal(200);
        const {
          token,
          expires_at: expiresAt,
          [kind.subject]: person,
          device_token: device,
          ...rest
        } = answer.body.data;
        expect(device).to.match(/^[\w-]{46}$/);
        expect(rest).to.deep.equal({});
        expect(person).to.include({ id, email, verified: true, has_password: true });
        expect(Date.parse(expiresAt)).to.equal(signedInAt + lifetimeMs);
        expect((await kind.read(token)).body.data).to.deep.equal(person);
      });

      it('accepts the e-mail in any letter case', async () => {
        const { email } = await kind.build();
        expect((await kind.signIn(email.toUpperCase(), password)).status).to.equal(200);
      });

      it('opens a new session at each sign-in', async () => {
        const { email } = await kind.build();
        const [one, two] = [await kind.signIn(email, password), await kind.signIn(email, password)];
        await call('DELETE', '/v1/auth/session', { token: one.body.data.token });
        expectError(await kind.read(one.body.data.token), 'unauthenticated');
        expect((await kind.read(two.body.data.token)).status).to.equal(200);
      });
    });

    describe('401', () => {
      it('returns the same bytes for a wrong password and an unknown e-mail', async () => {
        const { email } = await kind.build();
        const wrong = await kind.signIn(email, 'not the password');
        const unknown = await kind.signIn(someone(), password);
        expectError(wrong, 'invalid_credentials');
        expect(visible(wrong)).to.equal(visible(unknown));
      });

      it('refuses a password that differs in letter case or spaces', async () => {
        const { email } = await kind.build();
        await eachCase([password.toUpperCase(), `${password} `, ` ${password}`, password.slice(0, -1)], async (wrong) =>
          expectError(await kind.signIn(email, wrong), 'invalid_credentials'),
        );
      });

      it('returns invalid_credentials for a wrong password, even if the e-mail is not confirmed', async () => {
        const email = someone();
        await kind.signUp(email, password);
        expectError(await kind.signIn(email, 'not the password'), 'invalid_credentials');
      });

      it('refuses the old password if the password is reset during the comparison', async () => {
        const { id, email } = await kind.build();
        let answer: Promise<Answer> | undefined;
        await withOpenTransaction(
          (tx) => tx.manager.query(`UPDATE ${kind.subject}s SET password_hash = 'another' WHERE id = $1`, [id]),
          async () => {
            answer = kind.signIn(email, password);
            await untilWaitingForLocks(1);
          },
        );
        expectError(await (answer ?? kind.signIn(email, password)), 'invalid_credentials');
      });

      it('needs as much CPU time for an unknown e-mail as for a known e-mail', async () => {
        const { email } = await kind.build();
        const least = { known: Infinity, unknown: Infinity };
        for (let round = 0; round < 8; round++) {
          for (const [which, address] of [
            ['known', email],
            ['unknown', someone()],
          ] as const) {
            const before = process.cpuUsage(); // The CPU time is measured, because other processes influence the elapsed time.
            await kind.signIn(address, 'not the password');
            const { user, system } = process.cpuUsage(before);
            least[which] = Math.min(least[which], user + system);
          }
        }
        // If unknown addresses caused no comparison, their sign-in would need a tenth of the time.
        expect(least.unknown).to.be.above(least.known * 0.5);
      });
    });

    describe('403', () => {
      it('returns email_not_verified for an unconfirmed e-mail with the right password, and opens no session', async () => {
        const email = someone();
        await kind.signUp(email, password);
        const answer = await kind.signIn(email, password);
        expectError(answer, 'email_not_verified');
        expect(Object.keys(answer.body)).to.deep.equal(['error']);
        expect(await mailsTo(await kind.idOf(email))).to.deep.equal([kind.templates.verify]);
      });
    });
  });
}

describe('POST /v1/auth/sign-in: the club', () => {
  const signIn = (clubId: string, email: string) =>
    call('POST', '/v1/auth/sign-in', { body: { club_id: clubId, email, password } });

  it('returns the same 401 answer for a student of another club as for an unknown club', async () => {
    const [own, other] = [await buildClub(), await buildClub()];
    const { email } = await buildStudent(own.id);
    expect((await signIn(own.id, email)).status).to.equal(200);
    expect((await signIn(own.id.toUpperCase(), email)).status).to.equal(200);
    const answers = [await signIn(other.id, email), await signIn(newId(), email)];
    expectError(answers[0] ?? (await signIn(other.id, email)), 'invalid_credentials');
    expect(new Set(answers.map(visible)).size).to.equal(1);
  });

  it('returns 401 for a student without a password', async () => {
    const { id, owner } = await buildClub();
    const email = someone();
    await call('POST', `/v1/clubs/${id}/students`, { token: owner.token, body: { name: 'Ada', email } });
    expectError(await signIn(id, email), 'invalid_credentials');
  });

  it('returns 401 for a removed student', async () => {
    const { id, owner } = await buildClub();
    const student = await buildStudent(id);
    await call('DELETE', `/v1/clubs/${id}/students/${student.id}`, { token: owner.token });
    expectError(await signIn(id, student.email), 'invalid_credentials');
  });

  it('returns 422 for a malformed club id', async () => {
    expectError(await signIn('my-club', someone()), 'invalid_request');
  });
});
