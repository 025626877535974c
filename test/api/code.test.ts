import { expect } from 'chai';
import { codeFailureKey, deleteCodeFailures } from '../../domain/mail/codes/codes.ts';
import { codeTries, withheldTriesADay, wrongCodesADay } from '../../domain/mail/codes/codes.policy.ts';
import { tokenText } from '../../domain/mail/codes/one-time-tokens.ts';
import { OneTimeToken } from '../../entities/mail/one-time-token.ts';
import { CodeFailureCount } from '../../entities/mail/code-failure-count.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { addressKeyOf } from '../../platform/infra/keys/address-keys.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildClub, buildStudent, password, type TestStudent } from '../toolkit/builders/clubs.ts';
import { mailedToken } from '../toolkit/builders/sessions.ts';
import { studentAccounts } from '../toolkit/drive/accounts.ts';
import { call, clock, expectError, visible, type Answer } from '../toolkit/drive/api.ts';
import { untilWaitingForLocks, withOpenTransaction } from '../toolkit/drive/races.ts';
import { mailsTo, rowCounts, testDatabase, testDeps } from '../toolkit/stack/database.ts';

const minute = 60_000;
const someone = () => `${newId()}@example.com`;

const requestCode = (clubId: Id, email: string) => call('POST', '/v1/auth/code', { body: { club_id: clubId, email } });
interface Asked {
  email: string;
  codeId: Id;
  code: string;
}
const exchange = (clubId: Id, { email, codeId, code }: Asked, ip?: string) =>
  call('POST', '/v1/auth/code/exchange', {
    body: { club_id: clubId, email, code_id: codeId, code },
    ...(ip !== undefined && { ip }),
  });
/** Returns this request with a wrong code: the correct code plus one. */
const wrong = (request: Asked): Asked => ({
  ...request,
  code: String((Number(request.code) + 1) % 1_000_000).padStart(6, '0'),
});
const askFor = async (clubId: Id, email: string): Promise<Asked> => {
  const codeId: Id = (await requestCode(clubId, email)).body.data.code_id;
  return { email, codeId, code: tokenText((await testDeps()).vault, 'student_code', codeId) };
};

describe('POST /v1/auth/code', () => {
  it('returns the same 202 answer for confirmed, unconfirmed and unknown e-mails, and unknown clubs', async () => {
    const club = await buildClub();
    const answers = [
      await requestCode(club.id, (await buildStudent(club.id)).email),
      await requestCode(club.id, (await buildStudent(club.id, { verified: false })).email),
      await requestCode(club.id, someone()),
      await requestCode(newId(), someone()),
    ];
    expect(answers.map(({ status }) => status)).to.deep.equal([202, 202, 202, 202]);
    const ids: Id[] = answers.map(({ body }) => body.data.code_id);
    expect(answers[0]?.body).to.deep.equal({ data: { accepted: true, code_id: ids[0] } });
    expect(new Set(answers.map((answer) => visible(answer).replace(answer.body.data.code_id, 'id'))).size).to.equal(1);
    expect(new Set(ids).size).to.equal(4);
  });

  it('mails a code of six digits, and stores neither the code nor its hash', async () => {
    const club = await buildClub();
    const student = await buildStudent(club.id);
    await requestCode(club.id, student.email.toUpperCase());
    expect(await mailsTo(student.id)).to.deep.equal(['student_code']);
    const code = await mailedToken('student_code', student.id);
    expect(code).to.match(/^\d{6}$/);
    const source = await testDatabase();
    const [row] = await source.query<object[]>(
      `SELECT token_hash, tries_left FROM one_time_tokens WHERE student_id = $1`,
      [student.id],
    );
    // The row does not even contain a hash, because an attacker could quickly compare the hash with all million codes.
    expect(row).to.deep.equal({ token_hash: null, tries_left: 5 });
  });

  it('mails at most 5 codes an hour to one person, and the fifth code stays valid after more requests', async () => {
    const club = await buildClub();
    const student = await buildStudent(club.id);
    const requests = [];
    for (let times = 0; times < 6; times++) requests.push(await askFor(club.id, student.email));
    expect(await mailsTo(student.id)).to.have.length(5);
    const [fifth, sixth] = requests.slice(-2);
    expectError(await exchange(club.id, sixth as Asked), 'token_gone');
    expect((await exchange(club.id, fifth as Asked)).status).to.equal(200);
  });

  it('mails the code even if other clubs received many requests for the same e-mail', async () => {
    const [club, other] = [await buildClub(), await buildClub()];
    const student = await buildStudent(club.id);
    await buildStudent(other.id, { email: student.email });
    for (const clubId of [newId(), (await buildClub()).id, other.id])
      for (let times = 0; times < 6; times++) await requestCode(clubId, student.email);
    const codeRequest = await askFor(club.id, student.email);
    expect(await mailsTo(student.id)).to.deep.equal(['student_code']);
    expect((await exchange(club.id, codeRequest)).status).to.equal(200);
  });

  it('writes nothing for a club that does not exist', async () => {
    const before = await rowCounts();
    const clubId = newId();
    const request = await askFor(clubId, someone());
    expectError(await exchange(clubId, request), 'token_gone');
    expect(await rowCounts()).to.deep.equal(before);
  });

  it('returns an id that contains the time of the request, even if no code is mailed', async () => {
    const club = await buildClub();
    const { email } = await buildStudent(club.id);
    for (const address of [email, someone()]) {
      const before = clock.now().getTime();
      const { body } = await requestCode(club.id, address);
      const at = Number.parseInt(body.data.code_id.replaceAll('-', '').slice(0, 12), 16);
      expect(at).to.be.within(before, clock.now().getTime());
      expect(body.data.code_id).to.match(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    }
  });
});

describe('POST /v1/auth/code/exchange', () => {
  let clubId: Id;
  before(async () => {
    clubId = (await buildClub()).id;
  });
  const asking = async (): Promise<TestStudent & Asked> => {
    const student = await buildStudent(clubId);
    return { ...student, ...(await askFor(clubId, student.email)) };
  };
  /** Sends wrong codes for an address, as a stranger could, until the daily limit is reached. */
  const guessAway = async (email: string) => {
    for (let codes = 0; codes < wrongCodesADay / codeTries; codes++) {
      const other = wrong(await askFor(clubId, email));
      for (let tries = 0; tries < codeTries; tries++) await exchange(clubId, other);
    }
  };
  /** Starts at noon, so that the daily counts do not restart at midnight during the test. */
  const beginAtNoon = () => clock.advance(36 * 60 * minute - (clock.now().getTime() % (24 * 60 * minute)));
  const failuresOf = async (email: string): Promise<number | undefined> => {
    const { db, vault } = await testDeps();
    const addressKey = codeFailureKey(clubId, addressKeyOf(vault, email));
    return (await db.source.manager.findOneBy(CodeFailureCount, { addressKey }))?.failures;
  };
  /**
   * Requests codes until mails are withheld for an hour. @returns the last mailed code, with the id of a later request that sent no mail
   */
  const askUntilWithheld = async ({ id, email }: { id: Id; email: string }): Promise<Asked> => {
    let { codeId } = await askFor(clubId, email);
    for (let times = 0; times < 5; times++) ({ codeId } = await askFor(clubId, email));
    return { email, codeId, code: await mailedToken('student_code', id) };
  };

  describe('200', () => {
    it('opens a session, and the code cannot be used again', async () => {
      const request = await asking();
      const { status, body } = await exchange(clubId, { ...request, email: request.email.toUpperCase() });
      expect(status).to.equal(200);
      expect(body.data.student).to.include({ id: request.id, email: request.email, verified: true });
      expect((await call('GET', '/v1/auth/session', { token: body.data.token })).status).to.equal(200);
      expectError(await exchange(clubId, request), 'token_gone');
    });

    it('opens one session for two simultaneous exchanges of one code', async () => {
      const request = await asking();
      let answers: Promise<Answer>[] = [];
      await withOpenTransaction(
        (tx) => tx.run(sql`SELECT FROM students WHERE id = ${request.id} FOR UPDATE`),
        async () => {
          answers = [exchange(clubId, request), exchange(clubId, request)];
          await untilWaitingForLocks(2);
        },
      );
      const statuses = (await Promise.all(answers)).map(({ status }) => status);
      expect(statuses.toSorted((a, b) => a - b)).to.deep.equal([200, 410]);
    });

    it('accepts the code until 10 minutes after the request', async () => {
      const request = await asking();
      clock.advance(10 * minute - 1_000);
      expect((await exchange(clubId, request)).status).to.equal(200);
    });

    it('accepts the code after four wrong codes', async () => {
      const request = await asking();
      await eachCase([1, 2, 3, 4], async () => expectError(await exchange(clubId, wrong(request)), 'token_gone'));
      expect((await exchange(clubId, request)).status).to.equal(200);
    });

    it('accepts a code even after wrong codes for newer requests (DEC-61)', async () => {
      const request = await asking();
      const stranger = wrong(await askFor(clubId, request.email));
      for (let tries = 0; tries < 6; tries++) await exchange(clubId, stranger);
      const guessed = { ...wrong(request), codeId: newId() };
      for (let tries = 0; tries < 6; tries++) await exchange(clubId, guessed);
      expect((await exchange(clubId, request)).status).to.equal(200);
    });

    it('accepts the code of one request even if another request has no tries left', async () => {
      const request = await asking();
      const stranger = await askFor(clubId, request.email);
      for (let tries = 0; tries < codeTries; tries++) await exchange(clubId, wrong(stranger));
      expectError(await exchange(clubId, stranger), 'token_gone');
      expect((await exchange(clubId, { ...request, code: stranger.code })).status).to.equal(200);
      expectError(await exchange(clubId, { ...request, code: stranger.code }), 'token_gone'); // the code of the second request is used up
      expect((await exchange(clubId, request)).status).to.equal(200); // the code of the first request is still valid
    });

    it('accepts the last mailed code once, even with the id of a later request without a mail', async () => {
      const student = await buildStudent(clubId);
      const withheld = await askUntilWithheld(student);
      expect((await exchange(clubId, withheld)).status).to.equal(200);
      expect(await failuresOf(student.email)).to.equal(0);
      expectError(await exchange(clubId, withheld), 'token_gone');
      expect(await failuresOf(student.email)).to.equal(1);
    });

    it('accepts the last code even after strangers tried many wrong codes in this and other clubs', async () => {
      beginAtNoon();
      const student = await buildStudent(clubId);
      const { email } = student;
      const other = await buildClub();
      await buildStudent(other.id, { email });
      for (let times = 0; times < 30; times++) await exchange(other.id, wrong(await askFor(other.id, email)));
      await guessAway(email);
      const withheld = await askUntilWithheld(student);
      const ofStranger = wrong(await askFor(clubId, email));
      for (let tries = 0; tries < 30; tries++) await exchange(clubId, ofStranger, `203.0.113.${tries}`);
      expect((await exchange(clubId, withheld, '198.51.100.4')).status).to.equal(200);
    });

    it('accepts a code only on its first try after 20 wrong codes for the account in a day', async () => {
      beginAtNoon();
      const { email } = await buildStudent(clubId);
      await guessAway(email);
      expect(await failuresOf(email)).to.equal(wrongCodesADay);
      clock.advance(10 * minute); // one more mail is allowed every 10 minutes
      const first = await askFor(clubId, email);
      expect((await exchange(clubId, first)).status).to.equal(200);
      expect(await failuresOf(email)).to.equal(wrongCodesADay);
      clock.advance(10 * minute);
      const second = await askFor(clubId, email);
      expectError(await exchange(clubId, wrong(second)), 'token_gone');
      expectError(await exchange(clubId, second), 'token_gone');
    });

    it('allows five tries of each code again on the next day', async () => {
      const { email } = await buildStudent(clubId);
      await guessAway(email);
      clock.advance(24 * 60 * minute);
      const request = await askFor(clubId, email);
      for (let tries = 1; tries < codeTries; tries++) await exchange(clubId, wrong(request));
      expect((await exchange(clubId, request)).status).to.equal(200);
      expect(await failuresOf(email)).to.equal(codeTries - 1);
    });

    it('confirms the e-mail, and removes the password of the earlier sign-up, if it was unconfirmed', async () => {
      const students = studentAccounts(clubId);
      const email = someone();
      await students.signUp(email, 'the phrase of a stranger');
      const { body } = await exchange(clubId, await askFor(clubId, email));
      expect(body.data.student).to.include({ verified: true, has_password: false });
      expectError(await students.signIn(email, 'the phrase of a stranger'), 'invalid_credentials');
    });

    it('keeps the password of a confirmed student', async () => {
      const request = await asking();
      expect((await exchange(clubId, request)).body.data.student.has_password).to.equal(true);
      expect((await studentAccounts(clubId).signIn(request.email, password)).status).to.equal(200);
    });
  });

  describe('410', () => {
    it('returns the same bytes for every wrong, used or expired code and every unknown e-mail or club', async () => {
      const used = await asking();
      await exchange(clubId, used);
      const request = await asking();
      const answers = [
        await exchange(clubId, used),
        await exchange(clubId, wrong(request)),
        await exchange(clubId, { ...request, email: someone() }),
        await exchange(newId(), request),
        await exchange(clubId, { ...request, email: (await buildStudent(clubId)).email }),
        await exchange(clubId, { ...request, codeId: (await asking()).codeId }),
        await exchange(clubId, { ...request, codeId: newId() }),
      ];
      const expiring = await asking();
      clock.advance(10 * minute + 1_000);
      answers.push(await exchange(clubId, expiring));
      await eachCase(answers, (answer) => expectError(answer, 'token_gone'));
      expect(new Set(answers.map(visible)).size).to.equal(1);
    });

    it('is also the answer to the correct code after five wrong codes', async () => {
      const request = await asking();
      for (let tries = 0; tries < 5; tries++) await exchange(clubId, wrong(request));
      expectError(await exchange(clubId, request), 'token_gone');
    });

    it('counts twenty simultaneous tries one by one, until no try is left', async () => {
      const request = await asking();
      await Promise.all(Array.from({ length: 20 }, () => exchange(clubId, wrong(request))));
      const { db } = await testDeps();
      expect(await db.source.manager.findOneBy(OneTimeToken, { id: request.codeId })).to.include({ triesLeft: 0 });
      expect(await failuresOf(request.email)).to.equal(20);
    });

    it('refuses a request without a mail after 25 wrong codes of one network or 100 of all', async () => {
      beginAtNoon();
      const student = await buildStudent(clubId);
      const { email } = student;
      const withheld = await askUntilWithheld(student);
      let addresses = 0; // Each call comes from a different IP address of the network, because calls from one IP address are limited.
      const guess = (network: number) => exchange(clubId, wrong(withheld), `10.7.${network}.${(addresses += 1)}`);
      for (let tries = 0; tries < withheldTriesADay.network; tries++) await guess(1);
      expectError(await exchange(clubId, withheld, '10.7.1.200'), 'token_gone'); // This is the 26th wrong code of the network.
      expect(await failuresOf(email)).to.equal(withheldTriesADay.network + 1);
      for (const network of [2, 3, 4]) for (let tries = 0; tries < 24; tries++) await guess(network);
      expect(await failuresOf(email)).to.equal(98);
      expect((await exchange(clubId, withheld, '10.7.9.9')).status).to.equal(200);
      clock.advance(10 * minute);
      const later = await askFor(clubId, email);
      const again = { ...(await askFor(clubId, email)), code: later.code };
      for (const network of [5, 6]) await guess(network);
      expectError(await exchange(clubId, again, '10.7.10.10'), 'token_gone'); // the 101st
      expect((await exchange(clubId, later, '10.7.10.10')).status).to.equal(200); // a request with a sent mail still has a try
    });

    it('refuses a forged id, and the id of a request of another account or club', async () => {
      const student = await buildStudent(clubId);
      const { email } = student;
      const withheld = await askUntilWithheld(student);
      const ofOther = await askUntilWithheld(await buildStudent(clubId));
      expectError(await exchange(clubId, { ...withheld, codeId: ofOther.codeId }), 'token_gone');
      const elsewhere = (await requestCode((await buildClub()).id, email)).body.data.code_id;
      expectError(await exchange(clubId, { ...withheld, codeId: elsewhere }), 'token_gone');
      const flipped = withheld.codeId.replace(/.$/, (last) => (last === '0' ? '1' : '0'));
      expectError(await exchange(clubId, { ...withheld, codeId: flipped }), 'token_gone');
      expect((await exchange(clubId, withheld)).status).to.equal(200);
    });

    it('finds the club and the request by ids in any letter case', async () => {
      const student = await buildStudent(clubId);
      const withheld = await askUntilWithheld(student);
      await exchange(clubId.toUpperCase(), wrong(withheld));
      await exchange(clubId, wrong({ ...withheld, codeId: withheld.codeId.toUpperCase() }));
      expect(await failuresOf(student.email)).to.equal(2);
      expect((await exchange(clubId.toUpperCase(), withheld)).status).to.equal(200);
    });

    it('deletes the counts of wrong codes when the student is removed', async () => {
      const { db, vault } = await testDeps();
      const student = await buildStudent(clubId);
      const { email } = student;
      const withheld = await askUntilWithheld(student);
      await exchange(clubId, wrong(withheld));
      const count = () => db.source.manager.count(CodeFailureCount);
      const before = await count();
      await db.transaction((tx) => deleteCodeFailures(tx, { clubId, addressKey: addressKeyOf(vault, email) }));
      expect(before - (await count())).to.equal(3); // the counts of the account, of its requests without a mail, and of the network
    });

    it('counts wrong codes of unknown addresses exactly like wrong codes of known addresses', async () => {
      const email = someone();
      const request = wrong(await askFor(clubId, email));
      for (let tries = 0; tries < 3; tries++) expectError(await exchange(clubId, request), 'token_gone');
      expect(await failuresOf(email)).to.equal(3);
    });

    it('refuses the code of a student who has the same e-mail in another club', async () => {
      const elsewhere = await buildClub();
      const request = await asking();
      await buildStudent(elsewhere.id, { email: request.email });
      expectError(await exchange(elsewhere.id, request), 'token_gone');
    });
  });

  it('returns 422 for a code that is not six digits', async () => {
    const request = await asking();
    const malformed = [request.code.slice(1), `${request.code}0`, ' 12345', '12345a', '１２３４５６', ''];
    await eachCase(malformed, async (code) =>
      expectError(await exchange(clubId, { ...request, code }), 'invalid_request'),
    );
  });
});
