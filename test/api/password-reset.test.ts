import { expect } from 'chai';
import { newId } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildClub, password } from '../toolkit/builders/clubs.ts';
import { mailedToken, openFurtherSession } from '../toolkit/builders/sessions.ts';
import { administratorAccounts, studentAccounts, type AccountKind } from '../toolkit/drive/accounts.ts';
import { callAt, clock, expectError, visible } from '../toolkit/drive/api.ts';
import { serveApp } from '../toolkit/stack/app.ts';
import { mailsTo, rowCounts } from '../toolkit/stack/database.ts';

const hour = 3_600_000;
const someone = () => `${newId()}@example.com`;
const chosen = 'a newly chosen phrase';

const kinds: Record<string, () => Promise<AccountKind>> = {
  '/v1/auth/password-reset': async () => studentAccounts((await buildClub()).id),
  '/v1/auth/admin/password-reset': () => Promise.resolve(administratorAccounts()),
};

for (const [path, make] of Object.entries(kinds)) {
  let kind: AccountKind;
  const prepare = async () => {
    kind = await make();
  };
  const forgetful = async () => {
    const account = await kind.build();
    await kind.requestReset(account.email);
    return { ...account, mailed: await mailedToken(kind.purposes.reset, account.id) };
  };

  describe(`POST ${path}`, () => {
    before(prepare);

    it('returns the same 202 answer for confirmed, unconfirmed and unknown e-mails', async () => {
      const unconfirmed = someone();
      await kind.signUp(unconfirmed, password);
      const answers = [
        await kind.requestReset((await kind.build()).email),
        await kind.requestReset(unconfirmed),
        await kind.requestReset(someone()),
      ];
      expect(answers.map(({ status }) => status)).to.deep.equal([202, 202, 202]);
      expect(answers[0]?.body).to.deep.equal({ data: { accepted: true } });
      expect(new Set(answers.map(visible)).size).to.equal(1);
    });

    it('mails a token, and neither changes the password nor ends a session', async () => {
      const { id, email, token } = await kind.build();
      await kind.requestReset(email.toUpperCase());
      expect(await mailsTo(id)).to.deep.equal([kind.templates.reset]);
      expect((await kind.read(token)).status).to.equal(200);
      expect((await kind.signIn(email, password)).status).to.equal(200);
    });

    it('sends at most 5 reset mails an hour to one person, and counts no other mails', async () => {
      const { id, email } = await kind.build();
      await kind.signUp(email, chosen);
      for (let times = 0; times < 6; times++) await kind.requestReset(email);
      expect((await mailsTo(id)).filter((template) => template === kind.templates.reset)).to.have.length(5);
    });
  });

  describe(`POST ${path}/confirm`, () => {
    before(prepare);

    describe('200', () => {
      it('sets the password and opens a session', async () => {
        const { id, email, mailed } = await forgetful();
        const { status, body } = await kind.confirmReset(mailed, chosen);
        expect(status).to.equal(200);
        expect(body.data[kind.subject]).to.include({ id, email, verified: true, has_password: true });
        expect((await kind.read(body.data.token)).status).to.equal(200);
        expect((await kind.signIn(email, chosen)).status).to.equal(200);
        expectError(await kind.signIn(email, password), 'invalid_credentials');
      });

      it('ends every other session of the person', async () => {
        const { id, token, mailed } = await forgetful();
        const elsewhere = await openFurtherSession(kind.name === 'student' ? 'student' : 'admin', id);
        const bystander = await kind.build();
        await kind.confirmReset(mailed, chosen);
        await eachCase([token, elsewhere], async (ended) => expectError(await kind.read(ended), 'unauthenticated'));
        expect((await kind.read(bystander.token)).status).to.equal(200);
      });

      it('makes every other token that was mailed to the person invalid', async () => {
        const email = someone();
        await kind.signUp(email, password);
        const id = await kind.idOf(email);
        const confirmation = await mailedToken(kind.purposes.verify, id);
        await kind.requestReset(email);
        const former = await mailedToken(kind.purposes.reset, id);
        await kind.requestReset(email);
        await kind.confirmReset(await mailedToken(kind.purposes.reset, id), chosen);
        expectError(await kind.confirmReset(former, password), 'token_gone');
        expectError(await kind.verify(confirmation), 'token_gone');
      });

      it('confirms the e-mail and replaces the password of an unconfirmed sign-up', async () => {
        const email = someone();
        await kind.signUp(email, 'the phrase of a stranger');
        await kind.requestReset(email);
        const { body } = await kind.confirmReset(
          await mailedToken(kind.purposes.reset, await kind.idOf(email)),
          chosen,
        );
        expect(body.data[kind.subject].verified).to.equal(true);
        expect((await kind.signIn(email, chosen)).status).to.equal(200);
        expectError(await kind.signIn(email, 'the phrase of a stranger'), 'invalid_credentials');
      });

      it('accepts the token within 1 hour', async () => {
        const { mailed } = await forgetful();
        clock.advance(hour - 1_000);
        expect((await kind.confirmReset(mailed, chosen)).status).to.equal(200);
      });
    });

    describe('410', () => {
      it('returns the same bytes for used, expired and unknown tokens and for tokens of another purpose', async () => {
        const used = await forgetful();
        await kind.confirmReset(used.mailed, chosen);
        const unconfirmed = someone();
        await kind.signUp(unconfirmed, password);
        const answers = [
          await kind.confirmReset(used.mailed, chosen),
          await kind.confirmReset('A'.repeat(43), chosen),
          await kind.confirmReset(await mailedToken(kind.purposes.verify, await kind.idOf(unconfirmed)), chosen),
        ];
        const expiring = await forgetful();
        clock.advance(hour + 1_000);
        answers.push(await kind.confirmReset(expiring.mailed, chosen));
        await eachCase(answers, (answer) => expectError(answer, 'token_gone'));
        expect(new Set(answers.map(visible)).size).to.equal(1);
      });

      it('is returned for an unknown token, and then nothing changes', async () => {
        const { token } = await kind.build();
        const before = await rowCounts();
        await kind.confirmReset('unknown', chosen);
        expect(await rowCounts()).to.deep.equal(before);
        expect((await kind.read(token)).status).to.equal(200);
      });
    });

    it('returns 422 for a password of 7 or 129 characters or a weak one, and keeps the token valid', async () => {
      const { mailed, email } = await forgetful();
      expectError(await kind.confirmReset(mailed, 'x'.repeat(7)), 'invalid_request');
      expectError(await kind.confirmReset(mailed, 'x'.repeat(129)), 'invalid_request');
      for (const weak of ['nine char', 'Password1234', email.slice(0, 100)])
        expectError(await kind.confirmReset(mailed, weak), 'weak_password');
      expect((await kind.confirmReset(mailed, 'abcdefg '.repeat(16))).status).to.equal(200);
    });
  });
}

describe('an answer to a request with an e-mail address', () => {
  it('is sent at a multiple of ANSWER_TICK_MS, whether or not the address is known (DEC-63)', async () => {
    const tick = 250;
    const { id: clubId } = await buildClub();
    const known = await studentAccounts(clubId).build();
    const app = await serveApp({ env: { ANSWER_TICK_MS: String(tick) } });
    try {
      await Promise.all(
        [known.email, someone()].map(async (email) => {
          const sentAt = performance.now();
          const { status } = await callAt(app.base, 'POST', '/v1/auth/password-reset', {
            body: { club_id: clubId, email },
          });
          expect(status).to.equal(202);
          // A timer may fire a millisecond early by the clock that measures here.
          expect(performance.now() - sentAt).to.be.at.least(tick - 1);
        }),
      );
    } finally {
      await app.close();
    }
  });
});
