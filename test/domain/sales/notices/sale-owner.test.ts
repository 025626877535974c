/** Tests that the owner of a notice's sale never changes. */
import { expect } from 'chai';
import { removeStudent, updateStudent } from '../../../../domain/students/students.ts';
import { assembleBody } from '../../../toolkit/drive/facts.ts';
import { newId } from '../../../../platform/core/ids.ts';
import { factTypes } from '../../../toolkit/assert/facts.ts';
import { noticeRow, salesStateOf } from '../../../toolkit/assert/sales.ts';
import { buildStudent } from '../../../toolkit/builders/clubs.ts';
import { call } from '../../../toolkit/drive/api.ts';
import { columnsHolding, rowCounts, testDatabase, testDeps } from '../../../toolkit/stack/database.ts';
import {
  buildSalesConnection,
  buildProduct,
  buildShop,
  purchaseNotice,
  type TestShop,
} from '../../../toolkit/builders/sales.ts';
import { sell, stepNotice, takeNotice } from '../../../toolkit/drive/sales.ts';
import type { FactToTell } from '../../../../platform/engine/facts.ts';

const charged = (id: string) => ({ purchase: { id, amount: 100, currency: 'EUR' } });

async function studentOf({ club, email }: TestShop): Promise<string> {
  const source = await testDatabase();
  const [row] = await source.query<{ id: string }[]>(`SELECT id FROM students WHERE club_id = $1 AND email = $2`, [
    club.id,
    email,
  ]);
  return row?.id ?? '';
}

/** Facts of a purchase, subscription or enrollment that belongs to another student. */
async function strayFacts(clubId: string): Promise<unknown[]> {
  const source = await testDatabase();
  return source.query<unknown[]>(
    `SELECT fact.type FROM facts fact
       JOIN (SELECT id, student_id FROM purchases UNION ALL SELECT id, student_id FROM subscriptions
              UNION ALL SELECT id, student_id FROM enrollments) record ON record.id = fact.subject_id
      WHERE fact.club_id = $1 AND fact.student_id <> record.student_id`,
    [clubId],
  );
}

describe('two concurrent notices that name different buyers of one sale', () => {
  for (const known of [false, true]) {
    it(`give the sale to only one of two ${known ? 'existing students' : 'new buyers'}`, async function () {
      this.timeout(60_000);
      for (let round = 0; round < 6; round++) {
        const shop = await buildShop();
        const other = { ...shop, email: `x${shop.email}` };
        if (known) for (const { email } of [shop, other]) await buildStudent(shop.club.id, { email });
        const ids = [
          await takeNotice(shop.connection, purchaseNotice(shop, 'paid')),
          await takeNotice(shop.connection, purchaseNotice(other, 'refunded')),
        ];
        const steps = await Promise.all(ids.map((id) => stepNotice(id)));
        expect(steps, `round ${round}`).to.deep.equal(ids.map(() => ({ done: true, outcome: 'processed' })));
        expect(await strayFacts(shop.club.id), `round ${round}`).to.deep.equal([]);
        const state = await salesStateOf(shop.club.id);
        expect(state['students'], `round ${round}`).to.have.length(known ? 2 : 1);
        expect(state['enrollments'], `round ${round}`).to.have.length(1);
        expect((await factTypes(shop.club.id)).toSorted(), `round ${round}`).to.deep.equal(
          [
            ...(known ? [] : ['student.created']),
            'purchase.paid',
            'access.granted',
            'purchase.refunded',
            'access.revoked',
          ].toSorted(),
        );
      }
    });
  }

  it('give both charges of one subscription to only one of the buyers', async () => {
    const shop = await buildShop();
    const other = { ...shop, email: `x${shop.email}` };
    const subscription = { id: 'sub-1' };
    const ids = [
      await takeNotice(shop.connection, purchaseNotice(shop, 'paid', { ...charged('one'), subscription })),
      await takeNotice(shop.connection, purchaseNotice(other, 'paid', { ...charged('two'), subscription })),
    ];
    const steps = await Promise.all(ids.map((id) => stepNotice(id)));
    expect(steps).to.deep.equal(ids.map(() => ({ done: true, outcome: 'processed' })));
    expect(await strayFacts(shop.club.id)).to.deep.equal([]);
    expect((await salesStateOf(shop.club.id))['students']).to.have.length(1);
  });
});

describe('body of a fact about a sale', () => {
  it('is not built if the sale belongs to another student than the fact', async () => {
    const shop = await buildShop();
    await sell(shop, purchaseNotice(shop, 'paid'));
    const { db } = await testDeps();
    const [sale] = await db.source.query<{ id: string }[]>(`SELECT id FROM purchases WHERE club_id = $1`, [
      shop.club.id,
    ]);
    const student = await buildStudent(shop.club.id);
    const fact: FactToTell = {
      id: newId(),
      clubId: shop.club.id,
      type: 'purchase.paid',
      studentId: student.id,
      subjectId: sale?.id ?? '',
      details: null,
      occurredAt: new Date(),
    };
    const subject = { id: student.id, name: 'S', email: null, verified: false, createdAt: new Date(), removed: false };
    const failure: unknown = await assembleBody(db, fact, subject, new Date()).catch((error: unknown) => error);
    expect(failure)
      .to.be.an.instanceOf(Error)
      .and.have.property('message', 'The record of the fact purchase.paid does not exist');
  });
});

describe('a notice of an existing sale', () => {
  it('fails as sale_mismatch and changes nothing if the product and the buyer both differ', async () => {
    const shop = await buildShop();
    await sell(shop, purchaseNotice(shop, 'paid'));
    const product = await buildProduct(shop.club.id);
    const second = { ...shop, product, connection: await buildSalesConnection(shop.club.id), email: `x${shop.email}` };
    const id = await takeNotice(second.connection, purchaseNotice(second, 'refunded'));
    const before = await rowCounts();
    expect(await stepNotice(id)).to.deep.equal({ done: true, outcome: 'failed' });
    expect(await noticeRow(id)).to.include({ errorCode: 'sale_mismatch', studentId: null });
    expect(await rowCounts()).to.deep.equal(before);
    const { body } = await call('GET', `/v1/clubs/${shop.club.id}/sales-notices?status=failed`, {
      token: shop.club.owner.token,
    });
    expect(body.data[0].error).to.deep.equal({ code: 'sale_mismatch' });
  });

  it('is applied to the sale if only the product or only the buyer differs', async () => {
    const shop = await buildShop();
    const product = await buildProduct(shop.club.id);
    await sell(shop, purchaseNotice(shop, 'paid'));
    expect(
      await sell(
        shop,
        purchaseNotice({ ...shop, product }, 'paid'),
        purchaseNotice({ ...shop, email: 'other@example.com' }, 'refunded'),
      ),
    ).to.deep.equal(['processed', 'processed']);
    expect((await factTypes(shop.club.id)).slice(-2)).to.deep.equal(['purchase.refunded', 'access.revoked']);
  });

  it('fails as sale_mismatch if sale and subscription belong to different students', async () => {
    const shop = await buildShop();
    const other = { ...shop, email: `x${shop.email}` };
    const subscription = { id: 'sub-1' };
    await sell(shop, purchaseNotice(shop, 'paid', charged('one')));
    await sell(other, purchaseNotice(other, 'paid', { ...charged('two'), subscription }));
    const id = await takeNotice(shop.connection, purchaseNotice(shop, 'paid', { ...charged('one'), subscription }));
    await stepNotice(id);
    expect((await noticeRow(id)).errorCode).to.equal('sale_mismatch');
  });
});

describe('removal of a student from notices', () => {
  const unknown = { product: { id: 'nope' }, ...charged('failing') };
  const remove = async (shop: TestShop, id: string) => removeStudent(await testDeps(), shop.club.id, id, new Date());

  it('deletes the body of a failed notice whose address has an apostrophe', async () => {
    const shop = { ...(await buildShop()), email: `zz.o'malley-${newId()}@example.com` };
    await sell(shop, purchaseNotice(shop, 'paid'), purchaseNotice(shop, 'paid', unknown));
    await remove(shop, await studentOf(shop));
    expect(await columnsHolding(shop.email)).to.deep.equal([]);
  });

  it('deletes the bodies of notices that contain a former address of the student', async () => {
    const shop = await buildShop();
    await sell(shop, purchaseNotice(shop, 'paid'), purchaseNotice(shop, 'paid', unknown));
    const ignored = await takeNotice(shop.connection, { event: 'other', who: shop.email });
    const pending = await takeNotice(shop.connection, purchaseNotice(shop, 'paid', charged('waiting')));
    const id = await studentOf(shop);
    await updateStudent(
      await testDeps(),
      shop.club.id,
      id,
      { email: `new-${newId()}@example.com` },
      'owner',
      new Date(),
    );
    await stepNotice(ignored);
    await remove(shop, id);
    expect(await columnsHolding(shop.email)).to.deep.equal([]);
    expect(await noticeRow(pending)).to.include({ status: 'ignored', errorCode: 'student_removed', studentId: id });
    await stepNotice(pending);
    expect(await factTypes(shop.club.id)).to.deep.equal([
      'student.created',
      'purchase.paid',
      'access.granted',
      'student.updated',
      'student.removed',
    ]);
  });

  it('deletes the bodies of failed notices that name the sale, but another address', async () => {
    const shop = await buildShop();
    const third = { ...shop, email: `third-${newId()}@example.net` };
    const broken = { purchase: { id: 'sale-1', amount: -1, currency: 'EUR' } };
    await sell(shop, purchaseNotice(shop, 'paid'));
    const id = await studentOf(shop);
    const failed = await takeNotice(shop.connection, purchaseNotice(third, 'paid', broken));
    await stepNotice(failed);
    expect(await noticeRow(failed)).to.include({ status: 'failed', errorCode: 'bad_shape', studentId: id });
    const after = await takeNotice(shop.connection, purchaseNotice(third, 'paid', broken));
    await remove(shop, id);
    expect(await stepNotice(after)).to.deep.equal({ done: true, outcome: 'ignored' });
    expect(await noticeRow(after)).to.include({ errorCode: 'student_removed', studentId: id, body: null });
    expect(await columnsHolding(third.email)).to.deep.equal([]);
  });

  it('keeps notices that were assigned to another student', async () => {
    const shop = await buildShop();
    const other = await buildStudent(shop.club.id);
    const otherNotice = await takeNotice(shop.connection, { ...purchaseNotice(shop, 'paid'), producer: other.email });
    await stepNotice(otherNotice);
    await updateStudent(
      await testDeps(),
      shop.club.id,
      other.id,
      { email: `n-${newId()}@example.com` },
      'owner',
      new Date(),
    );
    await remove(shop, other.id);
    expect((await noticeRow(otherNotice)).body).not.to.equal(null);
  });

  it('finds the notices through an index of Postgres', async () => {
    const source = await testDatabase();
    const plan = await source.transaction(async (tx) => {
      await tx.query('SET LOCAL enable_seqscan = off');
      return tx.query<Record<string, string>[]>(
        `EXPLAIN SELECT id FROM sales_notices WHERE addresses @> ARRAY['ada@example.com'::text]`,
      );
    });
    expect(JSON.stringify(plan)).to.contain('sales_notices_addresses');
  });
});

describe('a notice with text that Postgres cannot store', () => {
  for (const [what, name, repaired] of [
    ['half a surrogate pair', String.raw`x\ud800y`, 'xy'],
    ['a NUL', String.raw`Be\u0000a`, 'Be a'],
  ] as const) {
    it(`is stored unchanged, but the buyer’s name is repaired: ${what}`, async () => {
      const shop = await buildShop();
      const raw = JSON.stringify(purchaseNotice(shop, 'paid')).replace('Bea Buyer', name);
      expect((await call('POST', `/webhooks/generic/${shop.connection.token}`, { raw })).status).to.equal(202);
      const source = await testDatabase();
      const [row] = await source.query<{ id: string; body: Buffer; addresses: string[] }[]>(
        `SELECT id, body, addresses FROM sales_notices WHERE connection_id = $1`,
        [shop.connection.id],
      );
      expect(row?.body.toString('utf8')).to.equal(raw);
      expect(row?.addresses).to.deep.equal([shop.email]);
      expect(await stepNotice(row?.id ?? '')).to.deep.equal({ done: true, outcome: 'processed' });
      const students = await source.query<{ name: string }[]>(`SELECT name FROM students WHERE club_id = $1`, [
        shop.club.id,
      ]);
      expect(students).to.deep.equal([{ name: repaired }]);
    });

    it(`is processed if ${what} is in an ignored field, in a field’s name, or in an address`, async () => {
      const shop = await buildShop();
      const raw = JSON.stringify({ ...purchaseNotice(shop, 'paid'), NAME: 'NAME b@example.com', note: 'NAME@x.com' });
      const text = raw.replaceAll('NAME', name);
      expect((await call('POST', `/webhooks/generic/${shop.connection.token}`, { raw: text })).status).to.equal(202);
      const source = await testDatabase();
      const [row] = await source.query<{ id: string }[]>(`SELECT id FROM sales_notices WHERE connection_id = $1`, [
        shop.connection.id,
      ]);
      expect(await stepNotice(row?.id ?? '')).to.deep.equal({ done: true, outcome: 'processed' });
    });
  }
});
