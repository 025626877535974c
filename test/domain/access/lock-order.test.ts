/**
 * Tests the order of locks (ENG-6, docs/explanation/architecture.md#locks): the club's count of students, then students by id, then all
 * other rows.
 */
import { expect } from 'chai';
import { lockSeats, lockStudentCount } from '../../../domain/billing/allowances.ts';
import { StaleRead, Transaction } from '../../../platform/infra/postgres/database.ts';
import { findOrOpenAccount } from '../../../domain/identity/accounts/accounts.ts';
import { findOrOpenAccounts } from '../../../domain/identity/accounts/many-accounts.ts';
import { signUpStudent } from '../../../domain/students/sign-up.ts';
import { createStudent, removeStudent } from '../../../domain/students/students.ts';
import { processNotice } from '../../../domain/sales/notices/processing.ts';
import { noticeRow } from '../../toolkit/assert/sales.ts';
import { buildClub, buildStudent, password } from '../../toolkit/builders/clubs.ts';
import { testDatabase, testDeps, depsOn } from '../../toolkit/stack/database.ts';
import { buildShop, purchaseNotice } from '../../toolkit/builders/sales.ts';
import { importDeps, readImport, runImport, upload } from '../../toolkit/drive/imports.ts';
import { withOpenTransaction, untilWaitingForLocks } from '../../toolkit/drive/races.ts';
import { noticeDeps, takeNotice } from '../../toolkit/drive/sales.ts';
import { recordingEnds } from '../../toolkit/fakes/databases.ts';

const header = 'email,name\n';
const fileOf = (emails: readonly string[]) => header + emails.map((email) => `${email},N\n`).join('');

describe('lock order (ENG-6)', () => {
  it('aborts no transaction when imports, sign-ups, sales and removals run at the same time', async function () {
    this.timeout(120_000);
    const usual = await testDeps();
    const db = recordingEnds(usual.db);
    const deps = { ...usual, db };
    const imports = await importDeps(() => ({ db }));
    const sales = await noticeDeps({ db });
    for (let round = 0; round < 4; round++) {
      const shop = await buildShop();
      const { club, product } = shop;
      const known = Array.from({ length: 24 }, (_, at) => `known-${at}@example.com`);
      const bought = Array.from({ length: 6 }, (_, at) => `bought-${at}@example.com`);
      const leaving = Array.from({ length: 8 }, (_, at) => `leaving-${at}@example.com`);
      for (const email of known) await buildStudent(club.id, { email });
      const leavers = await Promise.all(leaving.map((email) => buildStudent(club.id, { email })));
      const everyone = [...known, ...bought, ...leaving];
      const files = [everyone, everyone.toReversed(), known].map((emails, at) =>
        fileOf(at === 2 ? emails : [...emails, `new-${at}@example.com`]),
      );
      const uploads = await Promise.all(
        files.map((file) => upload(club, file, `delivery_ids=${product.deliveryIds[0]}`)),
      );
      const ids: string[] = uploads.map(({ body }) => body.data.id);
      const notices = await Promise.all(
        bought.flatMap((email) =>
          [1, 2].map((times) => {
            const purchase = { id: `${email}-${times}`, amount: 1, currency: 'EUR' };
            return takeNotice(shop.connection, purchaseNotice({ ...shop, email }, 'paid', { purchase }));
          }),
        ),
      );
      const signUp = (email: string) => signUpStudent(deps, club.id, { name: 'N', email, password }, new Date());
      await Promise.all([
        ...ids.map((id) => runImport(id, imports)),
        ...notices.map((id) => processNotice(sales, id, Date.now())),
        ...known.map(signUp),
        ...Array.from({ length: 6 }, (_, at) => signUp(`unknown-${at}@example.com`)),
        ...leavers.map(({ id }) => removeStudent(depsOn(db), club.id, id, new Date())),
      ]);
      for (const id of ids) expect(await readImport(club, id), `import ${id}`).to.include({ status: 'completed' });
      for (const id of notices) expect(await noticeRow(id), `notice ${id}`).to.include({ status: 'processed' });
    }
    expect(db.ends).to.deep.equal([]);
  });

  it('makes an import of new students lock the student count first', async () => {
    const club = await buildClub();
    const student = await buildStudent(club.id);
    const { body } = await upload(club, fileOf([student.email, 'new@example.com']));
    const source = await testDatabase();
    let running: Promise<unknown> = Promise.resolve();
    await withOpenTransaction(
      (tx) => lockStudentCount(tx, club.id),
      async () => {
        running = runImport(body.data.id);
        await untilWaitingForLocks(1);
        await source.query(`SELECT FROM students WHERE id = $1 FOR UPDATE NOWAIT`, [student.id]);
      },
    );
    await running;
    expect(await readImport(club, body.data.id)).to.include({ status: 'completed', created: 1, existing: 1 });
  });

  it('makes an import of existing students skip the lock on the student count', async () => {
    const club = await buildClub();
    const { email } = await buildStudent(club.id);
    const { body } = await upload(club, fileOf([email]));
    await withOpenTransaction(
      (tx) => lockStudentCount(tx, club.id),
      async () => void (await runImport(body.data.id)),
    );
    expect(await readImport(club, body.data.id)).to.include({ status: 'completed', existing: 1 });
  });

  describe('an account search without a lock', () => {
    const person = { name: 'N', email: 'leaving@example.com', openedBy: 'club' } as const;
    const ways: Record<string, (clubId: string) => (tx: Transaction) => Promise<unknown>> = {
      'one account': (clubId) => async (tx) =>
        findOrOpenAccount(tx, (await testDeps()).vault, clubId, { ...person, invited: false }, new Date()),
      'many accounts': (clubId) => async (tx) =>
        findOrOpenAccounts(tx, (await testDeps()).vault, clubId, [person], async () => 1, new Date()),
    };
    for (const [what, way] of Object.entries(ways)) {
      it(`is retried when another transaction removes the student (${what})`, async () => {
        const club = await buildClub();
        const student = await buildStudent(club.id, person);
        const { db } = await testDeps();
        let tries = 0;
        let finding: Promise<unknown> = Promise.resolve();
        await withOpenTransaction(
          (tx) => tx.manager.query(`UPDATE students SET email = NULL, removed_at = now() WHERE id = $1`, [student.id]),
          async () => {
            finding = db.transaction(async (tx) => {
              tries += 1;
              return way(club.id)(tx);
            });
            await untilWaitingForLocks(1);
          },
        );
        await finding;
        expect(tries).to.equal(2);
        const source = await testDatabase();
        const rows = await source.query<unknown[]>(`SELECT 1 FROM students WHERE club_id = $1 AND email = $2`, [
          club.id,
          person.email,
        ]);
        expect(rows).to.have.length(1);
      });

      it(`throws StaleRead in a transaction that cannot be retried (${what})`, async () => {
        const club = await buildClub();
        const student = await buildStudent(club.id, person);
        let finding: Promise<unknown> = Promise.resolve();
        await withOpenTransaction(
          (tx) => tx.manager.query(`UPDATE students SET email = NULL, removed_at = now() WHERE id = $1`, [student.id]),
          async () => {
            finding = (await testDatabase())
              .transaction((manager) => way(club.id)(new Transaction(manager)))
              .catch((error: unknown) => error);
            await untilWaitingForLocks(1);
          },
        );
        expect(await finding).to.be.an.instanceOf(StaleRead);
      });
    }
  });

  it('lets a transaction remove two students and then reserve seats, without a deadlock', async () => {
    const club = await buildClub();
    const [first, second] = [await buildStudent(club.id), await buildStudent(club.id)];
    const usual = await testDeps();
    const db = recordingEnds(usual.db);
    let other: Promise<unknown> = Promise.resolve();
    await db.transaction(async (tx) => {
      await lockSeats(tx, club.id, 1);
      await removeStudent(usual, club.id, first.id, new Date());
      await removeStudent(usual, club.id, second.id, new Date());
      other = createStudent({ ...usual, db }, club.id, { name: 'N', email: 'new@example.com' }, new Date());
      await untilWaitingForLocks(1);
      await lockSeats(tx, club.id, 1);
    });
    await other;
    expect(db.ends).to.deep.equal([]);
  });
});
