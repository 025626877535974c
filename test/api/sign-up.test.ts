import { expect } from 'chai';
import { newId, type Id } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildClub, buildStudent, password } from '../toolkit/builders/clubs.ts';
import { mailedToken } from '../toolkit/builders/sessions.ts';
import { administratorAccounts, studentAccounts, type AccountKind } from '../toolkit/drive/accounts.ts';
import { call, clock, expectError, visible } from '../toolkit/drive/api.ts';
import { columnsHolding, factsOf, mailsTo, rowCounts, testDatabase } from '../toolkit/stack/database.ts';

const someone = () => `${newId()}@example.com`;
const accepted = { data: { accepted: true } };

const rowOf = async (clubId: Id, email: string) => {
  const source = await testDatabase();
  const rows = await source.query<
    { id: Id; name: string; email: string; password_hash: string; verified_at: Date | null }[]
  >(`SELECT id, name, email, password_hash, verified_at FROM students WHERE club_id = $1 AND email = $2`, [
    clubId,
    email,
  ]);
  expect(rows).to.have.length(1);
  return rows[0];
};

describe('POST /v1/clubs/{clubId}/classroom/sign-up', () => {
  const signUp = (clubId: Id, body: object) => call('POST', `/v1/clubs/${clubId}/classroom/sign-up`, { body });

  describe('202', () => {
    it('creates an unconfirmed student, one student.created fact and one mail', async () => {
      const { id: clubId } = await buildClub();
      const email = someone();
      const answer = await signUp(clubId, { name: '  Ada \t Example ', email, password });
      expect(answer.status).to.equal(202);
      expect(answer.body).to.deep.equal(accepted);
      const student = await rowOf(clubId, email);
      expect(student).to.include({ name: 'Ada Example', email, verified_at: null });
      expect(await factsOf(clubId)).to.deep.equal([{ type: 'student.created', studentId: student?.id }]);
      expect(await mailsTo(student?.id ?? '')).to.deep.equal(['student_verify_email']);
    });

    it('stores the password only as an argon2id hash, and stores no token as plain text', async () => {
      const { id: clubId } = await buildClub();
      const email = someone();
      const secret = `a phrase of ${newId()}`;
      await signUp(clubId, { name: 'Ada', email, password: secret });
      const student = await rowOf(clubId, email);
      expect(student?.password_hash).to.match(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
      expect(await columnsHolding(secret)).to.deep.equal([]);
      expect(await columnsHolding(await mailedToken('student_verify_email', student?.id ?? ''))).to.deep.equal([]);
    });

    it('accepts e-mails that differ only in letter case as one e-mail', async () => {
      const { id: clubId } = await buildClub();
      const local = newId();
      await signUp(clubId, { name: 'Ada', email: `Ada.${local}@EXAMPLE.com`, password });
      await signUp(clubId, { name: 'Bob', email: `ADA.${local}@example.COM`, password });
      expect(await rowOf(clubId, `ada.${local}@example.com`)).to.include({ name: 'Ada' });
      expect(await factsOf(clubId)).to.have.length(1);
    });

    it('creates two students for one e-mail in two clubs', async () => {
      const [one, other] = [await buildClub(), await buildClub()];
      const email = someone();
      for (const { id } of [one, other]) await signUp(id, { name: 'Ada', email, password });
      expect((await rowOf(one.id, email))?.id).to.not.equal((await rowOf(other.id, email))?.id);
    });

    it('creates one account for six simultaneous sign-ups with one e-mail', async () => {
      const { id: clubId } = await buildClub();
      const email = someone();
      const answers = await Promise.all(
        Array.from({ length: 6 }, (_, index) => signUp(clubId, { name: `Ada ${index}`, email, password })),
      );
      expect(answers.map(({ status }) => status)).to.deep.equal([202, 202, 202, 202, 202, 202]);
      await rowOf(clubId, email);
      expect((await factsOf(clubId)).map(({ type }) => type)).to.deep.equal(['student.created']);
    });
  });

  describe('403', () => {
    it('refuses a club that does not exist, and writes nothing', async () => {
      const before = await rowCounts();
      expectError(await signUp(newId(), { name: 'Ada', email: someone(), password }), 'forbidden');
      expect(await rowCounts()).to.deep.equal(before);
    });
  });

  describe('404', () => {
    it('refuses an unknown registration code, and writes nothing', async () => {
      const { id: clubId } = await buildClub();
      const before = await rowCounts();
      const body = { name: 'Ada', email: someone(), password, registration_code: 'NONE' };
      expectError(await signUp(clubId, body), 'not_found');
      expect(await rowCounts()).to.deep.equal(before);
    });
  });

  it('creates a new student for the e-mail of a removed student', async () => {
    const club = await buildClub();
    const { id, email } = await buildStudent(club.id);
    await call('DELETE', `/v1/clubs/${club.id}/students/${id}`, { token: club.owner.token });
    await signUp(club.id, { name: 'Ada', email, password });
    expect((await rowOf(club.id, email))?.id).to.not.equal(id);
  });
});

describe('POST /v1/auth/admin/sign-up', () => {
  const signUp = (body: object) => call('POST', '/v1/auth/admin/sign-up', { body });
  const organizationsOf = async (email: string) => {
    const source = await testDatabase();
    return source.query<object[]>(
      `SELECT club.name, club.slug, membership.role FROM administrators administrator
         JOIN memberships membership ON membership.administrator_id = administrator.id
         JOIN clubs club ON club.id = membership.club_id
        WHERE administrator.email = $1 ORDER BY club.created_at`,
      [email],
    );
  };

  describe('202', () => {
    it('creates an unconfirmed administrator, and an organization with a slug from its name', async () => {
      const email = someone();
      const tag = newId();
      const answer = await signUp({ name: 'Ada', email, password, organization: { name: ` Café  Ünïon ${tag} ` } });
      expect(answer.status).to.equal(202);
      expect(answer.body).to.deep.equal(accepted);
      expect(await organizationsOf(email)).to.deep.equal([
        { name: `Café Ünïon ${tag}`, slug: `cafe-union-${tag}`.slice(0, 40).replace(/-$/, ''), role: 'owner' },
      ]);
      expect(await mailsTo(await administratorAccounts().idOf(email))).to.deep.equal(['administrator_verify_email']);
    });

    it('stores the password only as an argon2id hash, and stores no token as plain text', async () => {
      const email = someone();
      const secret = `a phrase of ${newId()}`;
      await signUp({ name: 'Ada', email, password: secret, organization: { name: 'Harbour' } });
      const id = await administratorAccounts().idOf(email);
      const source = await testDatabase();
      const [row] = await source.query<{ password_hash: string }[]>(
        `SELECT password_hash FROM administrators WHERE id = $1`,
        [id],
      );
      expect(row?.password_hash).to.match(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
      expect(await columnsHolding(secret)).to.deep.equal([]);
      expect(await columnsHolding(await mailedToken('administrator_verify_email', id))).to.deep.equal([]);
    });

    it('gives different slugs to two organizations with equal names', async () => {
      const emails = [someone(), someone()];
      const name = `Harbour ${newId()}`;
      for (const email of emails) await signUp({ name: 'Ada', email, password, organization: { name } });
      const slugs = (await Promise.all(emails.map(organizationsOf)))
        .flat()
        .map((row) => (row as { slug: string }).slug);
      expect(new Set(slugs).size).to.equal(2);
      expect(slugs[1]).to.match(new RegExp(`^${slugs[0]}-[0-9a-f]{6}$`));
    });

    it('creates one organization for four simultaneous sign-ups with one e-mail', async () => {
      const email = someone();
      const organization = { name: `Harbour ${newId()}` };
      await Promise.all(
        [1, 2, 3, 4].map(() => signUp({ name: 'Ada', email: email.toUpperCase(), password, organization })),
      );
      expect(await organizationsOf(email)).to.have.length(1);
    });

    it('creates no organization for a known e-mail', async () => {
      const { email } = await administratorAccounts().build();
      await signUp({ name: 'Ada', email, password, organization: { name: 'Harbour' } });
      expect(await organizationsOf(email)).to.deep.equal([]);
    });
  });
});

const kinds: Record<string, () => Promise<AccountKind>> = {
  'a student': async () => studentAccounts((await buildClub()).id),
  'an administrator': () => Promise.resolve(administratorAccounts()),
};

for (const [title, make] of Object.entries(kinds)) {
  describe(`a repeated sign-up of ${title}`, () => {
    let kind: AccountKind;
    before(async () => {
      kind = await make();
    });
    const other = 'quite another phrase';

    it('gets exactly the answer of the first sign-up', async () => {
      const confirmed = await kind.build();
      const unconfirmed = someone();
      const answers = [
        await kind.signUp(unconfirmed, password),
        await kind.signUp(unconfirmed, other),
        await kind.signUp(confirmed.email, other),
        await kind.signUp(confirmed.email.toUpperCase(), other),
      ];
      expect(new Set(answers.map(visible)).size).to.equal(1);
      expect(answers[0]?.body).to.deep.equal(accepted);
    });

    it('mails a notice without a token to the owner of a confirmed e-mail', async () => {
      const { id, email } = await kind.build();
      await kind.signUp(email, other);
      expect(await mailsTo(id)).to.deep.equal([kind.templates.alreadyRegistered]);
    });

    it('does not change the password of a confirmed e-mail', async () => {
      const { email } = await kind.build();
      await kind.signUp(email, other);
      expect((await kind.signIn(email, password)).status).to.equal(200);
      expect((await kind.signIn(email, other)).status).to.equal(403);
    });

    // Each case is a sequence of passwords in repeated sign-ups. The test then signs in with each of these passwords and with a password
    // that no sign-up used.
    const [A, B] = ['the phrase A of someone', 'the phrase B of someone'];
    for (const offered of [[A], [A, B], [A, A], [A, B, A], [A, B, B]]) {
      it(`answers equally for known and unknown e-mails at a sign-in after sign-ups with the passwords ${offered.map((phrase) => phrase.at(11)).join(', ')}`, async () => {
        const known = await kind.build();
        const unknown = someone();
        for (const email of [known.email, unknown]) for (const phrase of offered) await kind.signUp(email, phrase);
        for (const phrase of [A, B, 'never offered to it']) {
          const [one, two] = [await kind.signIn(known.email, phrase), await kind.signIn(unknown, phrase)];
          expect(visible(one), phrase).to.equal(visible(two));
        }
        expectError(await kind.signIn(known.email, offered.at(-1) ?? ''), 'email_not_verified');
        expectError(await kind.signIn(known.email, 'never offered to it'), 'invalid_credentials');
      });
    }

    it('does not reveal a known e-mail after more than 5 mails an hour and after resends', async () => {
      const known = await kind.build();
      const unknown = someone();
      for (const email of [known.email, unknown]) {
        await kind.signUp(email, other);
        for (let times = 0; times < 5; times++) await kind.resend(email);
        await kind.signUp(email, 'the last offered');
      }
      const [one, two] = [
        await kind.signIn(known.email, 'the last offered'),
        await kind.signIn(unknown, 'the last offered'),
      ];
      expect(visible(one)).to.equal(visible(two));
    });

    it('does not reveal a known e-mail a month later', async () => {
      const known = await kind.build();
      const unknown = someone();
      for (const email of [known.email, unknown]) await kind.signUp(email, other);
      clock.advance(31 * 86_400_000);
      const [one, two] = [await kind.signIn(known.email, other), await kind.signIn(unknown, other)];
      expect(visible(one)).to.equal(visible(two));
    });

    it('removes the password on confirmation if the sign-ups had different passwords', async () => {
      const stranger = 'the phrase of a stranger';
      await eachCase(
        [
          [stranger, other],
          [other, stranger],
        ] as const,
        async ([first, second]) =>
          eachCase(['the first mail', 'the second mail', 'a mail sent again'].entries(), async ([nth, confirmed]) => {
            const email = someone();
            await kind.signUp(email, first);
            const id = await kind.idOf(email);
            const tokens = [await mailedToken(kind.purposes.verify, id)];
            await kind.signUp(email, second);
            tokens.push(await mailedToken(kind.purposes.verify, id));
            await kind.resend(email);
            tokens.push(await mailedToken(kind.purposes.verify, id));

            const token = tokens[nth] ?? '';
            const { status, body } = await kind.verify(token);
            expect(status).to.equal(200);
            expect(body.data[kind.subject].has_password, `${confirmed}, ${first} first`).to.equal(false);
            await eachCase([stranger, other], async (phrase) =>
              expectError(await kind.signIn(email, phrase), 'invalid_credentials'),
            );
            // The links of the other mails are now invalid, so a later click cannot open the account to a stranger.
            await eachCase(
              tokens.filter((one) => one !== token),
              async (rest) => expectError(await kind.verify(rest), 'token_gone'),
            );
          }),
      );
    });

    it('keeps the password of an unconfirmed e-mail if three simultaneous sign-ups use it', async () => {
      const email = someone();
      await Promise.all([1, 2, 3].map(() => kind.signUp(email, other)));
      const { body } = await kind.verify(await mailedToken(kind.purposes.verify, await kind.idOf(email)));
      expect(body.data[kind.subject].has_password).to.equal(true);
    });

    it('keeps the password of an unconfirmed e-mail if repeated sign-ups use it', async () => {
      const email = someone();
      await kind.signUp(email, other);
      await kind.signUp(email, other);
      const token = await mailedToken(kind.purposes.verify, await kind.idOf(email));
      expect((await kind.verify(token)).status).to.equal(200);
      expect((await kind.signIn(email, other)).status).to.equal(200);
    });
  });
}
