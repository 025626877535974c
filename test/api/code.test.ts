import { expect } from 'chai';
import { newId, type Id } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildClub, buildStudent, password, type TestStudent } from '../toolkit/builders/clubs.ts';
import { mailedToken } from '../toolkit/builders/sessions.ts';
import { studentAccounts } from '../toolkit/drive/accounts.ts';
import { call, clock, expectError, visible } from '../toolkit/drive/api.ts';
import { mailsTo, testDatabase } from '../toolkit/stack/database.ts';

const minute = 60_000;
const someone = () => `${newId()}@example.com`;

const request = (clubId: Id, email: string) => call('POST', '/v1/auth/code', { body: { club_id: clubId, email } });
const exchange = (clubId: Id, email: string, code: string) =>
  call('POST', '/v1/auth/code/exchange', { body: { club_id: clubId, email, code } });
/** Another code than this one. */
const wrongFor = (code: string) => String((Number(code) + 1) % 1_000_000).padStart(6, '0');

describe('POST /v1/auth/code', () => {
  it('202: the same for a confirmed, an unconfirmed and an unknown e-mail and an unknown club', async () => {
    const club = await buildClub();
    const answers = [
      await request(club.id, (await buildStudent(club.id)).email),
      await request(club.id, (await buildStudent(club.id, { verified: false })).email),
      await request(club.id, someone()),
      await request(newId(), someone()),
    ];
    expect(answers.map(({ status }) => status)).to.deep.equal([202, 202, 202, 202]);
    expect(answers[0]?.body).to.deep.equal({ data: { accepted: true } });
    expect(new Set(answers.map(visible)).size).to.equal(1);
  });

  it('mails six digits, and stores neither them nor their hash', async () => {
    const club = await buildClub();
    const student = await buildStudent(club.id);
    await request(club.id, student.email.toUpperCase());
    expect(await mailsTo(student.id)).to.deep.equal(['student_code']);
    const code = await mailedToken('student_code', student.id);
    expect(code).to.match(/^\d{6}$/);
    const source = await testDatabase();
    const [row] = await source.query<object[]>(
      `SELECT token_hash, tries_left FROM one_time_tokens WHERE student_id = $1`,
      [student.id],
    );
    // Not even as a hash: a million codes are soon tried.
    expect(row).to.deep.equal({ token_hash: null, tries_left: 5 });
  });

  it('mails at most 5 codes an hour to one person; the fifth stays valid', async () => {
    const club = await buildClub();
    const student = await buildStudent(club.id);
    for (let times = 0; times < 6; times++) await request(club.id, student.email);
    expect(await mailsTo(student.id)).to.have.length(5);
    const answer = await exchange(club.id, student.email, await mailedToken('student_code', student.id));
    expect(answer.status).to.equal(200);
  });
});

describe('POST /v1/auth/code/exchange', () => {
  let clubId: Id;
  before(async () => {
    clubId = (await buildClub()).id;
  });
  const asking = async (): Promise<TestStudent & { code: string }> => {
    const student = await buildStudent(clubId);
    await request(clubId, student.email);
    return { ...student, code: await mailedToken('student_code', student.id) };
  };

  describe('200', () => {
    it('opens a session and uses up the code', async () => {
      const { id, email, code } = await asking();
      const { status, body } = await exchange(clubId, email.toUpperCase(), code);
      expect(status).to.equal(200);
      expect(body.data.student).to.include({ id, email, verified: true });
      expect((await call('GET', '/v1/auth/session', { token: body.data.token })).status).to.equal(200);
      expectError(await exchange(clubId, email, code), 'token_gone');
    });

    it('accepts the code within 10 minutes', async () => {
      const { email, code } = await asking();
      clock.advance(10 * minute - 1_000);
      expect((await exchange(clubId, email, code)).status).to.equal(200);
    });

    it('accepts the code after four wrong attempts', async () => {
      const { email, code } = await asking();
      await eachCase([1, 2, 3, 4], async () =>
        expectError(await exchange(clubId, email, wrongFor(code)), 'token_gone'),
      );
      expect((await exchange(clubId, email, code)).status).to.equal(200);
    });

    it('confirms the e-mail, and removes the password of a sign-up that was never confirmed', async () => {
      const students = studentAccounts(clubId);
      const email = someone();
      await students.signUp(email, 'the phrase of a stranger');
      await request(clubId, email);
      const code = await mailedToken('student_code', await students.idOf(email));
      const { body } = await exchange(clubId, email, code);
      expect(body.data.student).to.include({ verified: true, has_password: false });
      expectError(await students.signIn(email, 'the phrase of a stranger'), 'invalid_credentials');
    });

    it('keeps the password of a confirmed student', async () => {
      const { email, code } = await asking();
      expect((await exchange(clubId, email, code)).body.data.student.has_password).to.equal(true);
      expect((await studentAccounts(clubId).signIn(email, password)).status).to.equal(200);
    });
  });

  describe('410', () => {
    it('a wrong, used or expired code, an unknown e-mail and an unknown club get the same bytes', async () => {
      const used = await asking();
      await exchange(clubId, used.email, used.code);
      const wrong = await asking();
      const answers = [
        await exchange(clubId, used.email, used.code),
        await exchange(clubId, wrong.email, wrongFor(wrong.code)),
        await exchange(clubId, someone(), wrong.code),
        await exchange(newId(), wrong.email, wrong.code),
        await exchange(clubId, (await buildStudent(clubId)).email, wrong.code),
      ];
      const expiring = await asking();
      clock.advance(10 * minute + 1_000);
      answers.push(await exchange(clubId, expiring.email, expiring.code));
      await eachCase(answers, (answer) => expectError(answer, 'token_gone'));
      expect(new Set(answers.map(visible)).size).to.equal(1);
    });

    it('the right code after five wrong attempts', async () => {
      const { email, code } = await asking();
      for (let tries = 0; tries < 5; tries++) await exchange(clubId, email, wrongFor(code));
      expectError(await exchange(clubId, email, code), 'token_gone');
    });

    it('counts twenty attempts at once until none is left', async () => {
      const { email, code } = await asking();
      await Promise.all(Array.from({ length: 20 }, () => exchange(clubId, email, wrongFor(code))));
      const source = await testDatabase();
      const [row] = await source.query<{ tries_left: number }[]>(
        `SELECT tries_left FROM one_time_tokens token JOIN students student ON student.id = token.student_id
          WHERE student.email = $1`,
        [email],
      );
      expect(row?.tries_left).to.equal(0);
    });

    it('an earlier code; the newest has five attempts of its own', async () => {
      const { id, email, code } = await asking();
      for (let tries = 0; tries < 4; tries++) await exchange(clubId, email, wrongFor(code));
      let newest = code;
      while (newest === code) {
        await request(clubId, email); // by a chance of one in a million it draws the same six digits
        newest = await mailedToken('student_code', id);
      }
      expectError(await exchange(clubId, email, code), 'token_gone');
      expect((await exchange(clubId, email, newest)).status).to.equal(200);
    });

    it('the code of another student with the same e-mail in another club', async () => {
      const elsewhere = await buildClub();
      const { email, code } = await asking();
      await buildStudent(elsewhere.id, { email });
      expectError(await exchange(elsewhere.id, email, code), 'token_gone');
    });
  });

  it('422: anything but six digits', async () => {
    const { email, code } = await asking();
    await eachCase([code.slice(1), `${code}0`, ' 12345', '12345a', '１２３４５６', ''], async (malformed) =>
      expectError(await exchange(clubId, email, malformed), 'invalid_request'),
    );
  });
});
