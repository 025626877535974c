import { sqlStateOf } from '../../../platform/infra/postgres/errors.ts';
import { Queries } from '../../../platform/infra/postgres/database.ts';
import { expect } from 'chai';
import fc from 'fast-check';
import { requireFeature, requireStudents } from '../../../domain/billing/allowances.ts';
import { readClubPlan } from '../../../domain/billing/club-plan.ts';
import { turnMonths } from '../../../domain/billing/overages.ts';
import type { PlanName } from '../../../entities/billing/values.ts';
import { plans, type Plan } from '../../../domain/billing/plans.policy.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { findOrOpenAccount, lockForClub } from '../../../domain/identity/accounts/accounts.ts';
import { verifyStudentEmail } from '../../../domain/identity/accounts/student-accounts.ts';
import { unknownClient } from '../../../domain/identity/sessions/sessions.ts';
import { issueToken, tokenText } from '../../../domain/mail/codes/one-time-tokens.ts';
import { createStudent, removeStudent } from '../../../domain/students/students.ts';
import { signUpStudent } from '../../../domain/students/sign-up.ts';
import { overagesOf, studentCounts } from '../../toolkit/assert/billing.ts';
import { buildStudentCount, buildStudents, buildPlan, buildAddOn } from '../../toolkit/builders/billing.ts';
import { buildClub, buildStudent, password } from '../../toolkit/builders/clubs.ts';
import { rowCounts, testDatabase, testDeps, depsOn } from '../../toolkit/stack/database.ts';

const someone = () => `${newId()}@example.com`;
const now = new Date();
const included = (plan: PlanName) => plans[plan].allowances.students.included;

/** `done`, or the refusal's code. */
const ending = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (error: unknown) => (error instanceof DomainError ? error.code : Promise.reject(error as Error)),
  );

const ways: Record<string, (clubId: Id) => Promise<unknown>> = {
  'a sign-up that is confirmed': async (clubId) => confirmPending(await buildPending(clubId)),
  'a purchase by a person with a pending sign-up': async (clubId) => {
    const { email } = await buildPending(clubId);
    const { db, vault } = await testDeps();
    const account = { name: 'Ada', email, openedBy: 'sale', invited: true } as const;
    return db.transaction((tx) => findOrOpenAccount(tx, vault, clubId, account, now));
  },
  'a grant to a pending sign-up': async (clubId) => {
    const { id: studentId } = await buildPending(clubId);
    const { db, vault } = await testDeps();
    return db.transaction((tx) => lockForClub(tx, vault, { clubId, studentId, invited: true }, now));
  },
  'an administrator who creates a student': async (clubId) =>
    createStudent(await testDeps(), clubId, { name: 'Ada', email: someone() }, now),
  'a sale or an import': async (clubId) => {
    const { db, vault } = await testDeps();
    return db.transaction((tx) =>
      findOrOpenAccount(tx, vault, clubId, { name: 'Ada', email: someone(), openedBy: 'sale', invited: true }, now),
    );
  },
};

async function buildPending(clubId: Id): Promise<{ id: Id; email: string; token: string }> {
  const { id, email } = await buildStudent(clubId, { verified: false, openedBy: 'sign_up' });
  const { db, vault } = await testDeps();
  const purpose = 'student_verify_email';
  const tokenId = await db.transaction((tx) => issueToken(tx, vault, { purpose, owner: { studentId: id } }, now));
  return { id, email, token: tokenText(vault, purpose, tokenId) };
}
const confirmPending = async ({ token }: { token: string }) =>
  verifyStudentEmail(await testDeps(), token, unknownClient, now);

describe('the seat allocation of a club', () => {
  let clubId: Id;
  beforeEach(async () => {
    clubId = (await buildClub()).id;
  });

  for (const [way, add] of Object.entries(ways)) {
    describe(`for ${way}`, () => {
      it('rejects a request with limit_reached after the last seat', async () => {
        await buildPlan(clubId, 'starter');
        await buildStudents(clubId, included('starter') - 1);
        expect(await ending(add(clubId))).to.equal('done');
        const before = await studentCounts(clubId);
        expect(await ending(add(clubId))).to.equal('limit_reached');
        expect(await studentCounts(clubId)).to.deep.equal(before);
        expect(await overagesOf(clubId)).to.deep.equal([]);
      });

      it('grants exactly two of six concurrent requests for the last two seats', async () => {
        await buildPlan(clubId, 'starter');
        await buildStudents(clubId, included('starter') - 2);
        const endings = await Promise.all(Array.from({ length: 6 }, () => ending(add(clubId))));
        expect(endings.toSorted()).to.deep.equal(['done', 'done', ...Array(4).fill('limit_reached')]);
        expect(await studentCounts(clubId)).to.include({ counted: 100, there: 100 });
      });

      it('accepts all requests if the plan bills overage', async () => {
        await buildPlan(clubId, 'business');
        await buildStudentCount(clubId, included('business') - 1);
        const [, second] = [await ending(add(clubId)), await ending(add(clubId)), await ending(add(clubId))];
        expect(second).to.equal('done');
        expect(await overagesOf(clubId)).to.deep.equal([`students ${now.toISOString().slice(0, 7)}-01 2`]);
      });
    });
  }

  describe('for pending sign-ups (DEC-62)', () => {
    it('uses no seat for a pending sign-up', async () => {
      await buildPlan(clubId, 'starter');
      await buildStudents(clubId, included('starter') - 1);
      const signUp = async (email: string) =>
        ending(signUpStudent(await testDeps(), clubId, { name: 'Ada', email, password }, now));
      for (let times = 0; times < 3; times++) expect(await signUp(someone())).to.equal('done');
      expect(await studentCounts(clubId)).to.include({ counted: included('starter') - 1 });
      const { email } = await buildStudent(clubId);
      const before = await rowCounts();
      expect([await signUp(someone()), await signUp(email)]).to.deep.equal(['limit_reached', 'limit_reached']);
      expect(await rowCounts()).to.deep.equal(before);
    });

    it('keeps a sign-up’s link valid in a full club until a seat is free', async () => {
      await buildPlan(clubId, 'starter');
      const pending = await buildPending(clubId);
      await buildStudents(clubId, included('starter') - 1);
      const { id } = await buildStudent(clubId);
      expect(await ending(confirmPending(pending))).to.equal('limit_reached');
      await removeStudent(await testDeps(), clubId, id, now);
      expect(await ending(confirmPending(pending))).to.equal('done');
      expect(await ending(confirmPending(pending))).to.equal('token_gone');
    });

    it('gives the last seat either to a confirmation or to a purchase', async () => {
      await buildPlan(clubId, 'business');
      await buildStudentCount(clubId, included('business'));
      const { email, token } = await buildPending(clubId);
      const { db, vault } = await testDeps();
      const account = { name: 'Ada', email, openedBy: 'sale', invited: true } as const;
      await Promise.all([
        confirmPending({ token }),
        db.transaction((tx) => findOrOpenAccount(tx, vault, clubId, account, now)),
      ]);
      expect(await overagesOf(clubId)).to.deep.equal([`students ${now.toISOString().slice(0, 7)}-01 1`]);
    });
  });

  it('frees the seat of a removed student', async () => {
    await buildPlan(clubId, 'starter');
    await buildStudents(clubId, included('starter') - 1);
    const { id } = await buildStudent(clubId);
    const { db } = await testDeps();
    expect(await ending(createStudent(await testDeps(), clubId, { name: 'A', email: someone() }, now))).to.equal(
      'limit_reached',
    );
    await removeStudent(depsOn(db), clubId, id, now);
    expect(await ending(createStudent(await testDeps(), clubId, { name: 'A', email: someone() }, now))).to.equal(
      'done',
    );
  });

  it('uses no seat for a student who exists already', async () => {
    await buildPlan(clubId, 'starter');
    await buildStudents(clubId, included('starter') - 1);
    const { id, email } = await buildStudent(clubId);
    const { db, vault } = await testDeps();
    const account = { name: 'Ada', email, openedBy: 'sale', invited: true } as const;
    const found = await db.transaction((tx) => findOrOpenAccount(tx, vault, clubId, account, now));
    expect(found).to.deep.equal({ studentId: id, created: false, takenOver: false });
  });

  it('adds up the excess of concurrent additions in the club’s month', async () => {
    const source = await testDatabase();
    await source.query(`UPDATE clubs SET time_zone = 'Pacific/Auckland' WHERE id = $1`, [clubId]);
    await buildPlan(clubId, 'business');
    await buildStudentCount(clubId, included('business'));
    const lastOfMonth = new Date('2026-03-31T12:00:00Z'); // already April 1 in Auckland
    const { db, vault } = await testDeps();
    const add = () =>
      db.transaction((tx) =>
        findOrOpenAccount(
          tx,
          vault,
          clubId,
          { name: 'Ada', email: someone(), openedBy: 'sale', invited: false },
          lastOfMonth,
        ),
      );
    await Promise.all([add(), add(), add(), add()]);
    expect(await overagesOf(clubId)).to.deep.equal(['students 2026-04-01 4']);
  });

  it('finds the month by Node’s time zone rules, or else in UTC (DEC-154)', async () => {
    const source = await testDatabase();
    await buildPlan(clubId, 'business');
    await buildStudentCount(clubId, included('business'));
    const deps = await testDeps();
    const summer = new Date('2026-03-31T22:30:00Z'); // April in summer time. Postgres reads CET without summer time.
    for (const [zone, turnsAt] of [
      ['CET', '2026-04-30T22:00:00.000Z'],
      ['Mars/Olympus', '2026-04-01T00:00:00.000Z'],
    ]) {
      await source.query(`UPDATE clubs SET time_zone = $2 WHERE id = $1`, [clubId, zone]);
      await createStudent(deps, clubId, { name: 'Ada', email: someone() }, summer);
      const [turn] = await source.query<{ at: Date }[]>(`SELECT turns_at AS at FROM overage_turns WHERE club_id = $1`, [
        clubId,
      ]);
      expect(turn?.at.toISOString()).to.equal(turnsAt);
      await source.query(`DELETE FROM overage_turns WHERE club_id = $1`, [clubId]);
      await readClubPlan(new Queries(source.manager), clubId, summer);
    }
    expect(await overagesOf(clubId)).to.deep.equal(['students 2026-03-01 2', 'students 2026-04-01 1']);
  });

  it('records the highest excess of the month, even if students leave later', async () => {
    await buildPlan(clubId, 'business');
    await buildStudentCount(clubId, included('business'));
    const deps = await testDeps();
    const add = () => createStudent(deps, clubId, { name: 'Ada', email: someone() }, now);
    const added = [await add(), await add(), await add()];
    for (const { id } of added.slice(1)) await removeStudent(deps, clubId, id, now);
    await add();
    expect((await overagesOf(clubId)).map((text) => text.split(' ')[2])).to.deep.equal(['3']);
  });

  describe('when a month begins with an excess (BILL-7)', () => {
    const november = new Date('2026-11-30T23:00:00Z');
    const turning = async (at: Date) => (await turnMonths((await testDeps()).db, at)).turned;
    beforeEach(async () => {
      const source = await testDatabase();
      await source.query(`DELETE FROM overage_turns`);
      await source.query(`UPDATE clubs SET time_zone = 'America/Sao_Paulo' WHERE id = $1`, [clubId]);
      await buildPlan(clubId, 'business');
      await buildStudentCount(clubId, included('business'));
      const { db, vault } = await testDeps();
      const account = { name: 'Ada', email: someone(), openedBy: 'sale', invited: false } as const;
      await db.transaction((tx) => findOrOpenAccount(tx, vault, clubId, account, november));
    });
    const inNovember = 'students 2026-11-01 1';

    it('records the excess once, when the month begins in the club’s time zone', async () => {
      expect(await turning(new Date('2026-12-01T02:59:59Z'))).to.equal(0);
      expect(await overagesOf(clubId)).to.deep.equal([inNovember]);
      const midnight = new Date('2026-12-01T03:00:00Z');
      await Promise.all([turning(midnight), turning(midnight)]);
      expect(await turning(midnight)).to.equal(0);
      expect(await overagesOf(clubId)).to.deep.equal([inNovember, 'students 2026-12-01 1']);
    });

    it('records the excess of a month even if no worker ran in that month', async () => {
      const february = new Date('2027-02-10T00:00:00Z');
      while ((await turning(february)) > 0);
      const months = ['2026-12', '2027-01', '2027-02'].map((month) => `students ${month}-01 1`);
      expect(await overagesOf(clubId)).to.deep.equal([inNovember, ...months]);
    });

    it('records excess storage and excess students', async () => {
      const bytes = plans.business.allowances.storage_bytes.included + 9;
      await (
        await testDatabase()
      ).query(`INSERT INTO club_storage (club_id, kind, bytes) VALUES ($1, 'video', $2)`, [clubId, bytes]);
      await turning(new Date('2026-12-01T03:00:00Z'));
      const december = ['storage_bytes 2026-12-01 9', inNovember, 'students 2026-12-01 1'];
      expect(await overagesOf(clubId)).to.deep.equal(december);
    });

    it('records nothing if the excess has ended, or if the plan does not bill it', async () => {
      await buildAddOn(clubId, { status: 'active', payment_id: 'pi_1', settled_at: november });
      expect(await turning(new Date('2026-12-01T03:00:00Z'))).to.equal(1);
      expect(await turning(new Date('2027-06-01T03:00:00Z'))).to.equal(0);
      expect(await overagesOf(clubId)).to.deep.equal([inNovember]);
    });
  });

  it('opens one account for three requests with one new address', async () => {
    await buildPlan(clubId, 'business');
    await buildStudentCount(clubId, included('business'));
    const { db, vault } = await testDeps();
    const account = { name: 'Ada', email: someone(), openedBy: 'club', invited: false } as const;
    const opened = await Promise.all(
      [1, 2, 3].map(() => db.transaction((tx) => findOrOpenAccount(tx, vault, clubId, account, now))),
    );
    expect(opened.filter(({ created }) => created)).to.have.length(1);
    expect((await overagesOf(clubId)).map((text) => text.split(' ')[2])).to.deep.equal(['1']);
  });

  it('gives an import either seats for all its students or no seat', async () => {
    await buildPlan(clubId, 'starter');
    await buildStudents(clubId, 60);
    const { db } = await testDeps();
    const ask = (more: number) => ending(db.transaction((tx) => requireStudents(tx, clubId, more, now)));
    expect([await ask(40), await ask(41)]).to.deep.equal(['done', 'limit_reached']);
  });

  it('gives seats for an active add-on, but not for an unpaid add-on', async () => {
    const { db } = await testDeps();
    await buildPlan(clubId, 'starter');
    await buildStudents(clubId, included('starter'));
    const ask = () => ending(db.transaction((tx) => requireStudents(tx, clubId, 1, now)));
    const { id: addOnId } = await buildAddOn(clubId, { created_at: now, next_attempt_at: now });
    expect(await ask()).to.equal('limit_reached');
    await db.source.query(`UPDATE add_ons SET status = 'active', payment_id = 'pi_1', settled_at = $2 WHERE id = $1`, [
      addOnId,
      now,
    ]);
    expect(await ask()).to.equal('done');
  });

  describe('the student count', () => {
    it('is exact after any additions, removals and deletions', async function () {
      this.timeout(60_000);
      const { db } = await testDeps();
      const act = fc.constantFrom(
        'add',
        'add many',
        'remove',
        'delete',
        'buy',
        'sign up',
        'confirm',
        'take over',
        'abandon',
      );
      await fc.assert(
        fc.asyncProperty(fc.array(fc.array(act, { minLength: 1, maxLength: 6 }), { maxLength: 6 }), async (rounds) => {
          const club = (await buildClub()).id;
          await buildStudents(club, 5);
          for (const round of rounds) await Promise.all(round.map(async (one, index) => acts[one]?.(club, index)));
          await db.transaction((tx) => requireStudents(tx, club, 0, now)); // adds the changes to the student count
          const { counted, there } = await studentCounts(club);
          expect(counted).to.equal(there);
          const [{ changes } = { changes: -1 }] = await db.source.query<{ changes: number }[]>(
            `SELECT count(*)::int AS changes FROM club_student_changes WHERE club_id = $1`,
            [club],
          );
          expect(changes).to.equal(0);
        }),
        { numRuns: 25 },
      );
    });

    it('does not make a removal wait for a transaction that adds students', async () => {
      const { db } = await testDeps();
      const { id } = await buildStudent(clubId);
      await db.transaction(async (tx) => {
        await requireStudents(tx, clubId, 1, now);
        await removeStudent(depsOn(db), clubId, id, now);
      });
      expect(await studentCounts(clubId)).to.deep.equal({ counted: 0, there: 0 });
    });
  });
});

/** A concurrent change may already have removed the student. */
async function unlessGone(act: Promise<unknown> | undefined): Promise<unknown> {
  return act?.catch((error: unknown) => {
    const wasTaken = error instanceof DomainError && ['token_gone', 'not_found'].includes(error.code);
    if (!wasTaken && sqlStateOf(error) !== '23503') throw error;
  });
}

/** Removals and deletions act on the first students that they find. */
const acts: Record<string, (clubId: Id, index: number) => Promise<unknown>> = {
  add: (clubId) => ways['an administrator who creates a student']?.(clubId) ?? Promise.resolve(),
  buy: (clubId) => ways['a sale or an import']?.(clubId) ?? Promise.resolve(),
  'sign up': (clubId) => unlessGone(buildPending(clubId)),
  confirm: (clubId) => unlessGone(ways['a sign-up that is confirmed']?.(clubId)),
  'take over': (clubId) => unlessGone(ways['a purchase by a person with a pending sign-up']?.(clubId)),
  'add many': (clubId) => buildStudents(clubId, 7),
  remove: async (clubId, index) => {
    const { db } = await testDeps();
    const [student] = await db.source.query<{ id: Id }[]>(
      `SELECT id FROM students WHERE club_id = $1 AND removed_at IS NULL ORDER BY id OFFSET $2 LIMIT 1`,
      [clubId, index],
    );
    if (student) await ending(removeStudent(depsOn(db), clubId, student.id, now));
  },
  delete: async (clubId, index) => {
    const source = await testDatabase();
    await source.query(
      `DELETE FROM students WHERE id = (SELECT id FROM students WHERE club_id = $1 ORDER BY id DESC OFFSET $2 LIMIT 1)`,
      [clubId, index],
    );
  },
  abandon: async (clubId) => {
    const { db } = await testDeps();
    const rollback = new Error('The test rolls back');
    await db
      .transaction(async (tx) => {
        await requireStudents(tx, clubId, 3, now);
        await tx.manager.query(
          `INSERT INTO students (id, club_id, name, email, created_at) VALUES ($1, $2, 'A', $3, $4)`,
          [newId(), clubId, someone(), now],
        );
        throw rollback;
      })
      .catch((error: unknown) => expect(error).to.equal(rollback));
  },
};

describe('plan features', () => {
  for (const [name, plan] of Object.entries<Plan>(plans)) {
    it(`are allowed if the ${name} plan has them, and otherwise refused with feature_not_in_plan`, async () => {
      const { manager } = (await testDeps()).db.source;
      const { id } = await buildClub();
      await buildPlan(id, name as PlanName);
      const outcomes: Record<string, string> = {};
      const expected: Record<string, string> = {};
      for (const feature of plans.professional.features) {
        outcomes[feature] = await ending(requireFeature(new Queries(manager), id, feature));
        expected[feature] = plan.features.includes(feature) ? 'done' : 'feature_not_in_plan';
      }
      expect(outcomes).to.deep.equal(expected);
    });
  }

  it('are the features of professional for a new club', async () => {
    const { manager } = (await testDeps()).db.source;
    const { id } = await buildClub();
    expect(await ending(requireFeature(new Queries(manager), id, 'imports'))).to.equal('done');
  });

  it('are named to an administrator, with the required plan', async () => {
    const { source } = (await testDeps()).db;
    const { id } = await buildClub();
    await buildPlan(id, 'starter');
    const messageFor = (addressee: 'administrator' | 'person') =>
      requireFeature(new Queries(source.manager), id, 'imports', addressee).then(
        () => 'none',
        (error: Error) => error.message,
      );
    expect(await messageFor('administrator')).to.include('imports');
    expect(await messageFor('person')).to.not.match(/plan|imports/i);
  });
});
