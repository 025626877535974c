import { expect } from 'chai';
import { newId } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildClub, password } from '../toolkit/builders/clubs.ts';
import { mailedToken } from '../toolkit/builders/sessions.ts';
import { administratorAccounts, studentAccounts, type AccountKind } from '../toolkit/drive/accounts.ts';
import { call, clock, expectError, visible } from '../toolkit/drive/api.ts';
import { factsOf, mailsTo, rowCounts } from '../toolkit/stack/database.ts';

const hour = 3_600_000;
const someone = () => `${newId()}@example.com`;

const kinds: Record<string, () => Promise<AccountKind>> = {
  '/v1/auth/verify-email': async () => studentAccounts((await buildClub()).id),
  '/v1/auth/admin/verify-email': () => Promise.resolve(administratorAccounts()),
};

for (const [path, make] of Object.entries(kinds)) {
  let kind: AccountKind;
  const prepare = async () => {
    kind = await make();
  };
  const unconfirmed = async () => {
    const email = someone();
    await kind.signUp(email, password);
    const id = await kind.idOf(email);
    return { id, email, token: await mailedToken(kind.purposes.verify, id) };
  };

  describe(`POST ${path}`, () => {
    before(prepare);

    describe('200', () => {
      it('confirms the e-mail and opens a session', async () => {
        const { id, email, token } = await unconfirmed();
        const { status, body } = await kind.verify(token);
        expect(status).to.equal(200);
        expect(Object.keys(body.data)).to.have.members(['token', 'expires_at', kind.subject]);
        expect(body.data[kind.subject]).to.include({ id, email, verified: true, has_password: true });
        expect((await kind.read(body.data.token)).body.data).to.deep.equal(body.data[kind.subject]);
        expect((await kind.signIn(email, password)).status).to.equal(200);
      });

      it('accepts the token until 24 hours after the sign-up', async () => {
        const { token } = await unconfirmed();
        clock.advance(24 * hour - 1_000);
        expect((await kind.verify(token)).status).to.equal(200);
      });

      it('is returned for the first token even after a resend', async () => {
        const { id, email, token } = await unconfirmed();
        await kind.resend(email);
        const again = await mailedToken(kind.purposes.verify, id);
        expect(again).to.not.equal(token);
        expect((await kind.verify(token)).status).to.equal(200);
        expectError(await kind.verify(again), 'token_gone');
      });
    });

    describe('410', () => {
      it('returns the same bytes for used, expired and unknown tokens and for tokens of another purpose', async () => {
        const used = await unconfirmed();
        await kind.verify(used.token);
        const other = await kind.build();
        await kind.requestReset(other.email);
        const answers = [
          await kind.verify(used.token),
          await kind.verify('A'.repeat(43)),
          await kind.verify('x'),
          await kind.verify('x'.repeat(128)),
          await kind.verify(await mailedToken(kind.purposes.reset, other.id)),
          await kind.verify(other.token),
        ];
        const expiring = await unconfirmed();
        clock.advance(24 * hour + 1_000);
        answers.push(await kind.verify(expiring.token));
        await eachCase(answers, (answer) => expectError(answer, 'token_gone'));
        expect(new Set(answers.map(visible)).size).to.equal(1);
      });

      it('is returned to three of four simultaneous requests with one token', async () => {
        const { token } = await unconfirmed();
        const answers = await Promise.all([1, 2, 3, 4].map(() => kind.verify(token)));
        expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).to.deep.equal([200, 410, 410, 410]);
      });

      it('writes nothing', async () => {
        const before = await rowCounts();
        await kind.verify('unknown');
        expect(await rowCounts()).to.deep.equal(before);
      });
    });

    it('returns 422 for an empty token and a token of 129 characters', async () => {
      expectError(await kind.verify(''), 'invalid_request');
      expectError(await kind.verify('x'.repeat(129)), 'invalid_request');
    });
  });

  describe(`POST ${path}/resend`, () => {
    before(prepare);

    it('returns the same 202 answer for unconfirmed, confirmed and unknown e-mails', async () => {
      const { email } = await unconfirmed();
      const answers = [
        await kind.resend(email),
        await kind.resend((await kind.build()).email),
        await kind.resend(someone()),
      ];
      expect(answers.map(({ status }) => status)).to.deep.equal([202, 202, 202]);
      expect(answers[0]?.body).to.deep.equal({ data: { accepted: true } });
      expect(new Set(answers.map(visible)).size).to.equal(1);
    });

    it('mails a new token to an unconfirmed person only', async () => {
      const { id, email } = await unconfirmed();
      await kind.resend(email.toUpperCase());
      expect(await mailsTo(id)).to.deep.equal([kind.templates.verify, kind.templates.verify]);
      const confirmed = await kind.build();
      await kind.resend(confirmed.email);
      expect(await mailsTo(confirmed.id)).to.deep.equal([]);
    });

    it('mails at most 5 tokens in an hour, then one every ten minutes', async () => {
      const { id, email } = await unconfirmed();
      const answers = [];
      for (let times = 0; times < 6; times++) answers.push(await kind.resend(email));
      expect(await mailsTo(id)).to.have.length(5);
      expect(new Set(answers.map(visible)).size).to.equal(1);
      clock.advance(10 * 60_000 - 2_000);
      await kind.resend(email);
      expect(await mailsTo(id)).to.have.length(5);
      clock.advance(3_000);
      for (let times = 0; times < 3; times++) await kind.resend(email);
      expect(await mailsTo(id)).to.have.length(6);
      clock.advance(hour);
      await kind.resend(email);
      expect(await mailsTo(id)).to.have.length(7);
    });
  });
}

describe('POST /v1/auth/verify-email for a student', () => {
  it('returns 410 for an administrator’s token', async () => {
    const students = studentAccounts((await buildClub()).id);
    const email = someone();
    for (const kind of [students, administratorAccounts()]) await kind.signUp(email, password);
    const ofStudent = await mailedToken('student_verify_email', await students.idOf(email));
    const ofAdministrator = await mailedToken('administrator_verify_email', await administratorAccounts().idOf(email));
    expectError(await students.verify(ofAdministrator), 'token_gone');
    expectError(await administratorAccounts().verify(ofStudent), 'token_gone');
    expect((await students.verify(ofStudent)).status).to.equal(200);
    expect((await administratorAccounts().verify(ofAdministrator)).status).to.equal(200);
  });

  it('confirms the e-mail by an invitation of at most 7 days', async () => {
    const { id, owner } = await buildClub();
    const create = () =>
      call('POST', `/v1/clubs/${id}/students`, { token: owner.token, body: { name: 'Ada', email: someone() } });
    const [one, two] = [await create(), await create()];
    const students = studentAccounts(id);
    const tokens = [
      await mailedToken('student_invitation', one.body.data.id),
      await mailedToken('student_invitation', two.body.data.id),
    ];
    clock.advance(7 * 24 * hour - 2_000);
    const answer = await students.verify(tokens[0] ?? '');
    expect(answer.body.data.student).to.include({ id: one.body.data.id, verified: true, has_password: false });
    clock.advance(3_000);
    expectError(await students.verify(tokens[1] ?? ''), 'token_gone');
  });

  it('raises no fact', async () => {
    const { id } = await buildClub();
    const students = studentAccounts(id);
    const email = someone();
    await students.signUp(email, password);
    await students.verify(await mailedToken('student_verify_email', await students.idOf(email)));
    expect((await factsOf(id)).map(({ type }) => type)).to.deep.equal(['student.created']);
  });
});
