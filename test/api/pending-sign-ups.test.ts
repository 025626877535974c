/**
 * Tests unconfirmed sign-ups. A later action of the club, or a sale, takes over such an account. Otherwise the account is removed after a
 * time (DEC-62).
 */
import { expect } from 'chai';
import { retentionActivities } from '../../activities/retention.ts';
import { signUpStudent } from '../../domain/students/sign-up.ts';
import { findOrOpenAccount } from '../../domain/identity/accounts/accounts.ts';
import { verifyStudentEmail } from '../../domain/identity/accounts/student-accounts.ts';
import { unknownClient } from '../../domain/identity/sessions/sessions.ts';
import { pendingSignUpRules } from '../../domain/identity/accounts/pending-sign-ups.policy.ts';
import { Student } from '../../entities/identity/student.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { removeExpired } from '../../platform/engine/sweeper.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { buildAccessDelivery } from '../toolkit/builders/access.ts';
import { buildClub, buildStudent, password, type TestClub } from '../toolkit/builders/clubs.ts';
import { buildShop, purchaseNotice } from '../toolkit/builders/sales.ts';
import { mailedToken, openFurtherSession } from '../toolkit/builders/sessions.ts';
import { studentAccounts } from '../toolkit/drive/accounts.ts';
import { call, clock, expectError, type Answer } from '../toolkit/drive/api.ts';
import { importFile } from '../toolkit/drive/imports.ts';
import { untilWaitingForLocks, withOpenTransaction } from '../toolkit/drive/races.ts';
import { databaseOf } from '../toolkit/fakes/databases.ts';
import { sell } from '../toolkit/drive/sales.ts';
import { columnsHolding, factsOf, mailsTo, rowCounts, testDeps } from '../toolkit/stack/database.ts';
import { testObjectStore } from '../toolkit/stack/storage.ts';

const day = 86_400_000;
const stranger = 'the phrase of a stranger';
const someone = () => `${newId()}@example.com`;
const rowOf = async (id: Id) => (await testDeps()).db.source.manager.findOneByOrFail(Student, { id });

/** Signs up with an address that the person may not own. */
async function signUp(clubId: Id, body: object = {}, ip?: string): Promise<{ id: Id; email: string; link: string }> {
  const email = someone();
  const path = `/v1/clubs/${clubId}/classroom/sign-up`;
  const from = ip === undefined ? {} : { ip };
  const answer = await call('POST', path, { body: { name: 'Mallory', email, password: stranger, ...body }, ...from });
  expect(answer.status).to.equal(202);
  const id = await studentAccounts(clubId).idOf(email);
  return { id, email, link: await mailedToken('student_verify_email', id) };
}

describe('a pending sign-up', () => {
  /** Each function lets the club or a sale take over the account. It returns the new value of `openedBy`. */
  const ways: Record<string, (club: TestClub, student: { id: Id; email: string }) => Promise<'club' | 'sale'>> = {
    'an invitation': async ({ id, owner }, { email }) => {
      const body = { name: 'Ada Example', email: email.toUpperCase() };
      expect((await call('POST', `/v1/clubs/${id}/students`, { token: owner.token, body })).status).to.equal(201);
      return 'club';
    },
    'an import that invites': async (club, { email }) => {
      const { created } = await importFile(club, `email,name\n${email},Ada\n`, 'invite=true');
      expect(created).to.equal(0);
      return 'club';
    },
    'a grant by hand': async ({ id, owner }, student) => {
      const delivery = await buildAccessDelivery(id);
      const body = { student_id: student.id, delivery_id: delivery.id };
      const granted = await call('POST', `/v1/clubs/${id}/enrollments`, { token: owner.token, body });
      expect(granted.status).to.equal(201);
      return 'club';
    },
    'a purchase': async (club, { email }) => {
      const { db, vault } = await testDeps();
      const account = { name: 'Ada', email, openedBy: 'sale', invited: true } as const;
      await db.transaction((tx) => findOrOpenAccount(tx, vault, club.id, account, new Date()));
      return 'sale';
    },
  };
  for (const [what, meet] of Object.entries(ways)) {
    it(`loses its password after ${what}, and the student gets one invitation`, async () => {
      const club = await buildClub();
      const students = studentAccounts(club.id);
      const student = await signUp(club.id);
      const by = await meet(club, student);
      expect(await rowOf(student.id)).to.include({ openedBy: by, passwordHash: null, verifiedAt: null });
      expect(await mailsTo(student.id)).to.deep.equal(['student_verify_email', 'student_invitation']);
      // A sign-in gets the same answer after every sign-up. A person who signed up with someone else's address therefore learns nothing.
      expectError(await students.signIn(student.email, stranger), 'email_not_verified');
      expectError(await students.signIn(student.email, 'any other phrase'), 'invalid_credentials');
    });

    it(`is confirmed without a password after ${what}, even by the link of a sign-up mail`, async () => {
      const club = await buildClub();
      const students = studentAccounts(club.id);
      for (const purpose of ['student_verify_email', 'student_invitation'] as const) {
        const student = await signUp(club.id);
        await meet(club, student);
        await students.signUp(student.email, stranger); // the stranger signs up again afterwards
        const { status, body } = await students.verify(await mailedToken(purpose, student.id));
        expect(status).to.equal(200);
        expect(body.data.student).to.include({ id: student.id, verified: true, has_password: false });
        expectError(await students.signIn(student.email, stranger), 'invalid_credentials');

        const { token } = body.data;
        const chosen = await call('POST', '/v1/auth/password', { token, body: { password } });
        expect(chosen.body.data).to.include({ id: student.id, has_password: true });
        expect((await students.signIn(student.email, password)).status).to.equal(200);
      }
    });
  }

  it('keeps its id after an invitation, and gets the name that the club entered', async () => {
    const club = await buildClub();
    const student = await signUp(club.id);
    const body = { name: 'Ada Example', email: student.email };
    const { body: answer } = await call('POST', `/v1/clubs/${club.id}/students`, { token: club.owner.token, body });
    expect(answer.data).to.include({ id: student.id, name: 'Ada Example', verified: false, has_password: false });
    const types = (await factsOf(club.id)).map(({ type }) => type);
    expect(types).to.deep.equal(['student.created', 'student.updated']);
    const again = await call('POST', `/v1/clubs/${club.id}/students`, { token: club.owner.token, body });
    expectError(again, 'email_taken');
  });

  it('loses its password after an import without invitations, and the student gets no mail', async () => {
    const club = await buildClub();
    const student = await signUp(club.id);
    await importFile(club, `email,name\n${student.email},Ada\n`);
    expect(await rowOf(student.id)).to.include({ openedBy: 'club', passwordHash: null });
    expect(await mailsTo(student.id)).to.deep.equal(['student_verify_email']);
  });

  it('counts as an account of the club if the club corrects its address', async () => {
    const club = await buildClub();
    const student = await signUp(club.id);
    const path = `/v1/clubs/${club.id}/students/${student.id}`;
    await call('PATCH', path, { token: club.owner.token, body: { email: someone() } });
    expect(await rowOf(student.id)).to.include({ openedBy: 'club', passwordHash: null });
  });

  it('keeps its password after a purchase if the account was confirmed before', async () => {
    const shop = await buildShop();
    const students = studentAccounts(shop.club.id);
    const student = await signUp(shop.club.id);
    await students.verify(student.link);
    await sell(shop, purchaseNotice({ ...shop, email: student.email }, 'paid'));
    expect(await rowOf(student.id)).to.include({ openedBy: 'sign_up' });
    expect(await mailsTo(student.id)).to.deep.equal(['student_verify_email']);
    expect((await students.signIn(student.email, stranger)).status).to.equal(200);
    // The purchase causes no mail. The sign-in is from a new device.
    expect(await mailsTo(student.id)).to.deep.equal(['student_verify_email', 'student_new_device']);
  });

  describe('a simultaneous purchase and confirmation', () => {
    const meetings: Record<string, { first: 'purchase' | 'confirmation'; keepsPassword: boolean }> = {
      'removes the password if the purchase is first': { first: 'purchase', keepsPassword: false },
      'keeps the password if the confirmation is first': { first: 'confirmation', keepsPassword: true },
    };
    for (const [title, { first, keepsPassword }] of Object.entries(meetings)) {
      it(title, async () => {
        const club = await buildClub();
        const students = studentAccounts(club.id);
        const student = await signUp(club.id);
        const { db, vault } = await testDeps();
        const account = { name: 'Ada', email: student.email, openedBy: 'sale', invited: true } as const;
        const buy = (on = db) => on.transaction((tx) => findOrOpenAccount(tx, vault, club.id, account, new Date()));
        const deps = await testDeps();
        let confirmation: Promise<Answer | undefined> = Promise.resolve(undefined);
        let purchase: Promise<unknown> = Promise.resolve();
        // The second transaction begins after all writes of the first transaction, but before its commit.
        await withOpenTransaction(
          (tx) =>
            first === 'purchase'
              ? buy(databaseOf(tx))
              : verifyStudentEmail({ ...deps, db: databaseOf(tx) }, student.link, unknownClient, new Date()),
          async () => {
            if (first === 'purchase') confirmation = students.verify(student.link);
            else purchase = buy();
            await untilWaitingForLocks(1);
          },
        );
        await purchase;
        const session = await confirmation;
        if (session) expect(session.body.data.student.has_password).to.equal(false);
        expect(await rowOf(student.id)).to.include({ openedBy: first === 'purchase' ? 'sale' : 'sign_up' });
        const signedIn = await students.signIn(student.email, stranger);
        expect(signedIn.status).to.equal(keepsPassword ? 200 : 401);
      });
    }
  });

  describe('the removal of a pending sign-up', () => {
    const { removedAfterMs } = pendingSignUpRules;
    const removeAll = async (at: Date) => {
      const { retain } = retentionActivities({ ...(await testDeps()), storage: await testObjectStore() });
      while ((await retain(at.getTime())).more);
    };
    const removed = async (ids: readonly Id[]) =>
      Promise.all(ids.map(async (id) => (await rowOf(id)).removedAt !== null));

    it('happens after 7 days, unless the student, the club or a sale took over the account', async () => {
      const club = await buildClub();
      const students = studentAccounts(club.id);
      const [unconfirmed, confirmed, adopted, invited] = [
        await signUp(club.id),
        await signUp(club.id),
        await signUp(club.id),
        await buildStudent(club.id, { verified: false }),
      ];
      await students.verify(confirmed.link);
      await ways['a purchase']?.(club, adopted);
      const { createdAt } = await rowOf(unconfirmed.id);
      expect(removedAfterMs).to.equal(7 * day);
      const ids = [unconfirmed.id, confirmed.id, adopted.id, invited.id];
      await removeAll(new Date(createdAt.getTime() + removedAfterMs));
      expect(await removed(ids)).to.deep.equal([false, false, false, false]);
      await removeAll(new Date(Date.now() + removedAfterMs + day));
      expect(await removed(ids)).to.deep.equal([true, false, false, false]);
      expect(await rowOf(unconfirmed.id)).to.include({ email: null, passwordHash: null });
      expect((await factsOf(club.id)).filter(({ studentId }) => studentId === unconfirmed.id).at(-1)?.type).to.equal(
        'student.removed',
      );
      expectError(await students.verify(unconfirmed.link), 'token_gone');
    });

    it('gives the use of its registration link back', async () => {
      const { id: clubId, owner } = await buildClub();
      const delivery = await buildAccessDelivery(clubId);
      const body = { name: 'Launch', delivery_ids: [delivery.id], max_uses: 1 };
      const link = (await call('POST', `/v1/clubs/${clubId}/registration-links`, { token: owner.token, body })).body
        .data;
      const student = await signUp(clubId, { registration_code: link.code });
      const usesLeft = async (token: string) =>
        (await call('GET', `/v1/clubs/${clubId}/registration-links/${link.id}`, { token })).body.data.uses;
      expect(await usesLeft(owner.token)).to.equal(1);
      await removeAll(new Date(Date.now() + removedAfterMs + day));
      expect(await removed([student.id])).to.deep.equal([true]);
      const later = await openFurtherSession('admin', owner.id); // The removal also deletes the first session, which has already expired.
      expect(await usesLeft(later)).to.equal(0);
    });

    it('does not happen if the account is confirmed while the removal waits for its lock', async () => {
      const club = await buildClub();
      const student = await signUp(club.id);
      let removal: Promise<unknown> = Promise.resolve();
      await withOpenTransaction(
        (tx) => tx.run(sql`UPDATE students SET verified_at = now() WHERE id = ${student.id}`),
        async () => {
          removal = removeAll(new Date(Date.now() + removedAfterMs + day));
          await untilWaitingForLocks(1);
        },
      );
      await removal;
      expect(await removed([student.id])).to.deep.equal([false]);
    });
  });

  it('is refused with 429 above the club’s hourly limit, until the hour ends or a person confirms', async () => {
    const club = await buildClub();
    const { db } = await testDeps();
    const insert = (count: number, at: Date) =>
      db.run(sql`INSERT INTO students (id, club_id, name, email, opened_by, created_at)
        SELECT gen_random_uuid(), ${club.id}, 'Bot', gen_random_uuid() || '@example.com', 'sign_up', ${at} FROM generate_series(1, ${count}::int)`);
    await insert(1, new Date(clock.now().getTime() - 3_590_000));
    await insert(pendingSignUpRules.anHour - 1, clock.now());
    const known = await buildStudent(club.id);
    const before = await rowCounts();
    const students = studentAccounts(club.id);
    const answers = [await students.signUp(someone(), password), await students.signUp(known.email, password)];
    for (const answer of answers) {
      expectError(answer, 'rate_limited');
      expect(Number(answer.headers.get('retry-after'))).to.be.within(1, 10);
    }
    expect(await rowCounts()).to.deep.equal(before);
    expect((await students.signIn(known.email, password)).status).to.equal(200);
    await db.run(
      sql`UPDATE students SET verified_at = now() WHERE id = (SELECT id FROM students WHERE club_id = ${club.id} AND opened_by = 'sign_up' LIMIT 1)`,
    );
    await signUpStudent(await testDeps(), club.id, { name: 'Ada', email: someone(), password }, clock.now());
    await db.run(sql`DELETE FROM students WHERE club_id = ${club.id} AND name = 'Bot'`);
  });

  describe('pending sign-ups of one network', () => {
    /** Creates this number of pending sign-ups, all just now and from the network of this address. */
    const fill = async (clubId: Id, count: number, ip: string) => {
      const deps = await testDeps();
      const { email, id } = await signUp(clubId, {}, ip);
      const { db } = deps;
      await db.run(sql`
        WITH made AS (
          INSERT INTO students (id, club_id, name, email, opened_by, created_at)
          SELECT gen_random_uuid(), ${clubId}, 'Bot', gen_random_uuid() || '@example.com', 'sign_up', ${clock.now()} FROM generate_series(2, ${count}::int)
          RETURNING id)
        INSERT INTO sign_up_networks (student_id, club_id, network_key, created_at)
        SELECT made.id, ${clubId}, origin.network_key, ${clock.now()} FROM made, sign_up_networks origin WHERE origin.student_id = ${id}`);
      return { email, id };
    };
    const attempt = (clubId: Id, ip: string, body: object = {}) =>
      call('POST', `/v1/clubs/${clubId}/classroom/sign-up`, {
        body: { name: 'Ada', email: someone(), password, ...body },
        ip,
      });
    const { anHourOfNetwork } = pendingSignUpRules;

    for (const { family, first, neighbor, outside } of [
      { family: 'a /24 of IPv4', first: '203.0.113.7', neighbor: '203.0.113.250', outside: '203.0.114.7' },
      { family: 'a /48 of IPv6', first: '2001:db8:1:1::1', neighbor: '2001:db8:1:ffff::9', outside: '2001:db8:2:1::1' },
    ]) {
      it(`are limited to a tenth of the club’s hourly limit, for ${family}`, async () => {
        expect(anHourOfNetwork).to.equal(pendingSignUpRules.anHour / 10);
        const club = await buildClub();
        await fill(club.id, anHourOfNetwork - 1, first);
        expect((await attempt(club.id, neighbor)).status).to.equal(202);
        const known = await buildStudent(club.id);
        const before = await rowCounts();
        for (const email of [someone(), known.email]) {
          const refused = await attempt(club.id, neighbor, { email });
          expectError(refused, 'rate_limited');
          expect(Number(refused.headers.get('retry-after'))).to.be.within(3_500, 3_600);
        }
        expect(await rowCounts()).to.deep.equal(before);
        expect((await attempt(club.id, outside)).status).to.equal(202);
        expect((await attempt((await buildClub()).id, neighbor)).status).to.equal(202);
      });
    }

    it('stop counting towards the limit when they are confirmed or after an hour', async () => {
      const club = await buildClub();
      const ip = '198.51.100.1';
      const { id } = await fill(club.id, anHourOfNetwork, ip);
      expectError(await attempt(club.id, ip), 'rate_limited');
      await studentAccounts(club.id).verify(await mailedToken('student_verify_email', id));
      expect((await attempt(club.id, ip)).status).to.equal(202);
      expectError(await attempt(club.id, ip), 'rate_limited');
      clock.advance(3_600_000 + 1_000);
      expect((await attempt(club.id, ip)).status).to.equal(202);
    });

    it('are counted by a hash of the network that differs in each club and stays at most an hour', async () => {
      const { db } = await testDeps();
      const clubs = [await buildClub(), await buildClub()];
      const ip = '192.0.2.77';
      const signUps = [await signUp(clubs[0]?.id ?? '', {}, ip), await signUp(clubs[1]?.id ?? '', {}, ip)];
      const keysOf = async () => {
        const rows = await db.rows<{ key: Buffer }>(
          sql`SELECT network_key AS key FROM sign_up_networks WHERE student_id = ANY (${signUps.map(({ id }) => id)}::uuid[])`,
        );
        return rows.map(({ key }) => key.toString('hex'));
      };
      expect(new Set(await keysOf()).size).to.equal(2);
      expect(await columnsHolding('192.0.2')).to.deep.equal([]);
      const path = `/v1/clubs/${clubs[0]?.id}/students/${signUps[0]?.id}`;
      expect((await call('DELETE', path, { token: clubs[0]?.owner.token ?? '' })).status).to.equal(204);
      expect(await keysOf()).to.have.length(1);
      await removeExpired(db, new Date(clock.now().getTime() + 3_590_000));
      expect(await keysOf()).to.have.length(1);
      await removeExpired(db, new Date(clock.now().getTime() + 3_601_000));
      expect(await keysOf()).to.deep.equal([]);
    });

    it('do not block sign-ups with a valid registration code', async () => {
      const club = await buildClub();
      const delivery = await buildAccessDelivery(club.id);
      const path = `/v1/clubs/${club.id}/registration-links`;
      const link = { name: 'Launch', delivery_ids: [delivery.id] };
      const { code } = (await call('POST', path, { token: club.owner.token, body: link })).body.data;
      const ip = '198.51.100.9';
      await fill(club.id, pendingSignUpRules.anHour - 1, ip);
      expect((await attempt(club.id, ip, { registration_code: code })).status).to.equal(202);
      expect((await attempt(club.id, '203.0.113.9')).status).to.equal(202); // the 500th sign-up without a code
      expectError(await attempt(club.id, '203.0.113.10'), 'rate_limited');
      expectError(await attempt(club.id, ip, { registration_code: 'NO-SUCH-CODE' }), 'not_found');
      const email = someone();
      expect((await attempt(club.id, ip, { registration_code: code, email })).status).to.equal(202);
      expect((await attempt(club.id, ip, { registration_code: code, email })).status).to.equal(202); // the address of the previous request
    });
  });
});

describe('POST /v1/auth/password', () => {
  it('returns 409 password_exists if the account has a password, even if a simultaneous request set it', async () => {
    const club = await buildClub();
    const choose = (token: string, phrase: string) =>
      call('POST', '/v1/auth/password', { token, body: { password: phrase } });
    const student = await buildStudent(club.id);
    expectError(await choose(student.token, 'another phrase'), 'password_exists');
    const { db } = await testDeps();
    await db.run(sql`UPDATE students SET password_hash = NULL WHERE id = ${student.id}`);
    const answers = await Promise.all([
      choose(student.token, 'the first phrase'),
      choose(student.token, 'the second phrase'),
    ]);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).to.deep.equal([200, 409]);
  });
});
