import { createHmac } from 'node:crypto';
import { expect } from 'chai';
import { plans } from '../../../../domain/billing/plans.policy.ts';
import { processNotice } from '../../../../domain/sales/notices/processing.ts';
import { retainNotices } from '../../../../domain/sales/retention.ts';
import { rescueOverdue } from '../../../../platform/engine/sweeper.ts';
import { replayNotice } from '../../../../domain/sales/notices/notices.ts';
import { factTypes } from '../../../toolkit/assert/facts.ts';
import { noticeRow, salesStateOf } from '../../../toolkit/assert/sales.ts';
import { buildStudents, buildPlan } from '../../../toolkit/builders/billing.ts';
import {
  buildSalesConnection,
  buildProduct,
  buildShop,
  purchaseNotice,
  type TestShop,
} from '../../../toolkit/builders/sales.ts';
import { SalesNotice } from '../../../../entities/sales/sales-notice.ts';
import { lockStudentCount } from '../../../../domain/billing/allowances.ts';
import { isConflict } from '../../../../platform/infra/postgres/database.ts';
import { withOpenTransaction } from '../../../toolkit/drive/races.ts';
import { impatient } from '../../../toolkit/fakes/databases.ts';
import { rowCounts, testDeps } from '../../../toolkit/stack/database.ts';
import { alter } from '../../../toolkit/drive/alter.ts';
import { noticeDeps, stepNotice, takeNotice } from '../../../toolkit/drive/sales.ts';

const day = 86_400_000;
const euros = (id: string) => ({ purchase: { id, amount: 1, currency: 'EUR' } });

describe('a notice that cannot be applied', () => {
  for (const [what, further, left] of [
    ['an unknown product', { product: { id: 'nobody-knows' } }, { errorCode: 'unknown_product', errorPath: null }],
    ['an invalid address', { buyer: { email: 'none' } }, { errorCode: 'bad_shape', errorPath: 'buyer.email' }],
    [
      'an unknown currency',
      { purchase: { id: '1', amount: 1, currency: 'QQQ' } },
      { errorCode: 'unknown_currency', errorPath: 'purchase.currency' },
    ],
  ] as const) {
    it(`changes no other row if it names ${what}`, async () => {
      const shop = await buildShop();
      const id = await takeNotice(shop.connection, purchaseNotice(shop, 'paid', further));
      const before = await rowCounts();
      expect(await stepNotice(id)).to.deep.equal({ done: true, outcome: 'failed' });
      expect(await noticeRow(id)).to.include({ status: 'failed', attemptCount: 1, ...left });
      expect(await rowCounts()).to.deep.equal(before);
    });
  }

  it('fails with limit_reached if no seat is free, but can be replayed later', async () => {
    const shop = await buildShop();
    await buildPlan(shop.club.id, 'starter');
    await buildStudents(shop.club.id, plans.starter.allowances.students.included);
    const id = await takeNotice(shop.connection, purchaseNotice(shop, 'paid'));
    await stepNotice(id);
    expect(await noticeRow(id)).to.include({ status: 'failed', errorCode: 'limit_reached' });
    expect(await factTypes(shop.club.id)).to.deep.equal([]);
    await buildPlan(shop.club.id, 'professional');
    await replayNotice(await testDeps(), shop.club.id, id, new Date());
    expect(await stepNotice(id)).to.deep.equal({ done: true, outcome: 'processed' });
  });

  it('succeeds if it is replayed after its product was created, and is applied once', async () => {
    const shop = await buildShop();
    const id = await takeNotice(shop.connection, purchaseNotice(shop, 'paid', { product: { id: 'to-come' } }));
    await stepNotice(id);
    await buildProduct(shop.club.id, { externalId: 'to-come' });
    await replayNotice(await testDeps(), shop.club.id, id, new Date());
    await stepNotice(id);
    expect(await noticeRow(id)).to.include({ status: 'processed', errorCode: null, attemptCount: 2 });
    expect((await factTypes(shop.club.id)).filter((type) => type === 'purchase.paid')).to.have.length(1);
  });

  it('fails with proof_refused if its signature is not valid and its connection has a secret', async () => {
    const shop = await buildShop();
    const guarded = await buildSalesConnection(shop.club.id, 'generic', 'a key');
    const body = purchaseNotice(shop, 'paid');
    const signed = createHmac('sha256', 'a key').update(JSON.stringify(body)).digest('hex');
    for (const [name, proof, outcome] of [
      ['no signature', '', 'failed'],
      ['a wrong signature', '0'.repeat(64), 'failed'],
      ['a long text', 'x'.repeat(600), 'failed'],
      ['the signature', signed, 'processed'],
    ] as const) {
      const id = await takeNotice(guarded, body, proof);
      expect(await stepNotice(id), name).to.deep.equal({ done: true, outcome });
      expect((await noticeRow(id)).errorCode, name).to.equal(outcome === 'failed' ? 'proof_refused' : null);
    }
  });
});

describe('the bytes of a stored notice', () => {
  const mark = Buffer.from([0xef, 0xbb, 0xbf]);
  const stored = async (shop: TestShop, bytes: Buffer) => {
    const id = await takeNotice(shop.connection, {});
    await alter('sales_notices', id, { body: bytes });
    return id;
  };

  it('are accepted with a byte-order mark, even in a refund', async () => {
    const shop = await buildShop();
    const paid = purchaseNotice(shop, 'paid', euros('marked'));
    for (const body of [paid, { ...paid, event: 'purchase.refunded' }]) {
      const id = await stored(shop, Buffer.concat([mark, Buffer.from(JSON.stringify(body))]));
      expect(await stepNotice(id)).to.deep.equal({ done: true, outcome: 'processed' });
    }
    expect((await factTypes(shop.club.id)).filter((type) => type.startsWith('purchase.'))).to.deep.equal([
      'purchase.paid',
      'purchase.refunded',
    ]);
  });

  it('are accepted on the next try if an old release refused their byte-order mark', async () => {
    const shop = await buildShop();
    const body = Buffer.from(JSON.stringify(purchaseNotice(shop, 'paid')));
    const id = await stored(shop, Buffer.concat([mark, body]));
    await alter('sales_notices', id, { attempt_count: 7, error_code: 'internal_error' });
    expect(await stepNotice(id)).to.deep.equal({ done: true, outcome: 'processed' });
    expect(await noticeRow(id)).to.include({ errorCode: null, attemptCount: 8 });
  });

  for (const [what, bytes] of [
    ['no JSON', Buffer.from('{"event":')],
    ['UTF-16 with a byte-order mark', Buffer.from('\uFEFF{}', 'utf16le')],
    ['broken UTF-8', Buffer.from([0x7b, 0xff, 0x7d])],
    ['nothing', Buffer.alloc(0)],
    ['65 levels', Buffer.from(`{"event":${'['.repeat(64)}${']'.repeat(64)}}`)],
    ['10,001 values', Buffer.from(JSON.stringify({ event: Array.from({ length: 10_001 }, () => 1) }))],
  ] as const) {
    it(`fail as bad_shape and can be replayed: ${what}`, async () => {
      const shop = await buildShop();
      const id = await stored(shop, bytes);
      expect(await stepNotice(id)).to.deep.equal({ done: true, outcome: 'failed' });
      expect(await noticeRow(id)).to.include({ status: 'failed', errorCode: 'bad_shape', errorPath: null });
      await replayNotice(await testDeps(), shop.club.id, id, new Date());
      await alter('sales_notices', id, { body: Buffer.from(JSON.stringify(purchaseNotice(shop, 'paid'))) });
      expect(await stepNotice(id)).to.deep.equal({ done: true, outcome: 'processed' });
    });
  }

  it('fail as bad_shape if a number is too large for a double', async () => {
    const shop = await buildShop();
    const text = JSON.stringify(
      purchaseNotice(shop, 'paid', { purchase: { id: '1', amount: 4_900, currency: 'EUR' } }),
    );
    const id = await stored(shop, Buffer.from(text.replace('4900', '1e999')));
    await stepNotice(id);
    expect(await noticeRow(id)).to.include({ errorCode: 'bad_shape', errorPath: 'purchase.amount' });
  });
});

describe('a step of a notice', () => {
  it('rolls back and records internal_error after an internal error', async () => {
    const shop = await buildShop();
    const id = await takeNotice(shop.connection, purchaseNotice(shop, 'paid'));
    const before = await rowCounts();
    const deps = await noticeDeps();
    const broken = {
      ...deps,
      vault: {
        ...deps.vault,
        derive: () => {
          throw new Error('The vault is broken');
        },
      },
    };
    const error: unknown = await processNotice(broken, id, Date.now()).catch((thrown: unknown) => thrown);
    expect(error).to.be.an.instanceOf(Error);
    expect(await noticeRow(id)).to.include({ status: 'pending', errorCode: 'internal_error', attemptCount: 1 });
    expect(await rowCounts()).to.deep.equal(before);
    expect(await stepNotice(id)).to.deep.equal({ done: true, outcome: 'processed' });
    expect(await noticeRow(id)).to.include({ errorCode: null, attemptCount: 2 });
  });

  it('waits for the lease of a worker that died after the claim', async () => {
    const shop = await buildShop();
    const id = await takeNotice(shop.connection, purchaseNotice(shop, 'paid'));
    const dead = await noticeDeps({
      failpoint: async (name) => {
        if (name === 'notice_claimed') throw new Error('The worker died');
      },
    });
    await processNotice(dead, id, Date.now()).catch(() => undefined);
    const waiting = await stepNotice(id);
    expect(waiting).to.include({ done: false, attempt: 2 });
    await alter('sales_notices', id, { lease_until: new Date(Date.now() - 1) });
    expect(await stepNotice(id)).to.deep.equal({ done: true, outcome: 'processed' });
    expect((await factTypes(shop.club.id)).filter((type) => type === 'purchase.paid')).to.have.length(1);
  });

  it('returns the recorded outcome if the previous worker died after the commit', async () => {
    const shop = await buildShop();
    const id = await takeNotice(shop.connection, purchaseNotice(shop, 'paid'));
    const dead = await noticeDeps({
      failpoint: async (name) => {
        if (name === 'notice_recorded') throw new Error('The worker died');
      },
    });
    await processNotice(dead, id, Date.now()).catch(() => undefined);
    const facts = await factTypes(shop.club.id);
    expect(await stepNotice(id)).to.deep.equal({ done: true, outcome: 'processed' });
    expect(await factTypes(shop.club.id)).to.deep.equal(facts);
  });

  it('records nothing if another step claims the notice during this step', async () => {
    const shop = await buildShop();
    const id = await takeNotice(shop.connection, purchaseNotice(shop, 'paid'));
    const overtaken = await noticeDeps({
      failpoint: async (name) => {
        if (name === 'notice_claimed') await alter('sales_notices', id, { fence: 7, lease_until: null });
      },
    });
    expect(await processNotice(overtaken, id, Date.now())).to.include({ done: false });
    expect(await factTypes(shop.club.id)).to.deep.equal([]);
    expect(await stepNotice(id)).to.deep.equal({ done: true, outcome: 'processed' });
  });
});

describe('concurrent notices', () => {
  it('record one purchase and one fact even if ten notices report one sale', async () => {
    const shop = await buildShop();
    const ids: string[] = [];
    while (ids.length < 10) ids.push(await takeNotice(shop.connection, purchaseNotice(shop, 'paid')));
    const steps = await Promise.all(ids.map((id) => stepNotice(id)));
    expect(steps).to.deep.equal(ids.map(() => ({ done: true, outcome: 'processed' })));
    expect(await factTypes(shop.club.id)).to.deep.equal(['student.created', 'purchase.paid', 'access.granted']);
  });

  it('are claimed once when ten steps process one notice', async () => {
    const shop = await buildShop();
    const id = await takeNotice(shop.connection, purchaseNotice(shop, 'paid'));
    await Promise.all(Array.from({ length: 10 }, () => stepNotice(id)));
    expect(await noticeRow(id)).to.include({ status: 'processed', attemptCount: 1 });
    expect(await factTypes(shop.club.id)).to.have.length(3);
  });

  it('record one fact for refunds and chargebacks of one sale', async () => {
    const shop = await buildShop();
    await stepNotice(await takeNotice(shop.connection, purchaseNotice(shop, 'paid')));
    const ids: string[] = [];
    while (ids.length < 8)
      ids.push(
        await takeNotice(shop.connection, purchaseNotice(shop, ids.length % 2 === 0 ? 'refunded' : 'chargeback')),
      );
    await Promise.all(ids.map((id) => stepNotice(id)));
    const types = (await factTypes(shop.club.id)).filter(
      (type) => type === 'purchase.refunded' || type === 'access.revoked',
    );
    expect(types).to.deep.equal(['purchase.refunded', 'access.revoked']);
    expect(await salesStateOf(shop.club.id)).to.have.nested.property('purchases[0].status', 'chargeback');
  });

  it('open one account for two purchases by one new buyer', async () => {
    const shop = await buildShop();
    const ids = [
      await takeNotice(shop.connection, purchaseNotice(shop, 'paid', euros('a'))),
      await takeNotice(shop.connection, purchaseNotice(shop, 'paid', euros('b'))),
    ];
    await Promise.all(ids.map((id) => stepNotice(id)));
    expect((await factTypes(shop.club.id)).filter((type) => type === 'student.created')).to.have.length(1);
  });
});

describe('a notice of a new buyer', () => {
  it('releases its lease early while an import locks the student count', async () => {
    const shop = await buildShop();
    const id = await takeNotice(shop.connection, purchaseNotice(shop, 'paid'));
    const { db } = await testDeps();
    const deps = await noticeDeps({ db: impatient(db, 50) });
    await withOpenTransaction(
      (tx) => lockStudentCount(tx, shop.club.id),
      async () => {
        for (const tries of [1, 2]) {
          const error: unknown = await processNotice(deps, id, Date.now()).catch((thrown: unknown) => thrown);
          expect(isConflict(error)).to.equal(true);
          expect(await noticeRow(id)).to.include({ status: 'pending', attemptCount: tries });
          const { leaseUntil } = await db.manager.findOneByOrFail(SalesNotice, { id });
          expect(leaseUntil).to.equal(null);
        }
      },
    );
    expect(await stepNotice(id)).to.deep.equal({ done: true, outcome: 'processed' });
  });
});

describe('upkeep of notices', () => {
  it('wakes a notice after two minutes without a step', async () => {
    const shop = await buildShop();
    const id = await takeNotice(shop.connection, purchaseNotice(shop, 'paid'));
    const { db } = await testDeps();
    await db.source.query(`DELETE FROM wakes WHERE subject_id = $1`, [id]);
    const woken = async () => db.source.query<unknown[]>(`SELECT 1 FROM wakes WHERE subject_id = $1`, [id]);
    await rescueOverdue(db, new Date(Date.now() + 119_000));
    expect(await woken()).to.have.length(0);
    await rescueOverdue(db, new Date(Date.now() + 121_000));
    expect(await woken()).to.have.length(1);
  });

  it('deletes bodies and their addresses after 90 days, and then refuses a replay', async () => {
    const shop = await buildShop();
    const recentNotice = await takeNotice(
      shop.connection,
      purchaseNotice(shop, 'paid', { product: { id: 'unknown' } }),
    );
    const old = await takeNotice(shop.connection, purchaseNotice(shop, 'paid', { product: { id: 'unknown' } }));
    for (const id of [recentNotice, old]) await stepNotice(id);
    await alter('sales_notices', recentNotice, { received_at: new Date(Date.now() - 90 * day + 60_000) });
    await alter('sales_notices', old, { received_at: new Date(Date.now() - 90 * day) });
    const { db } = await testDeps();
    expect((await retainNotices(db, new Date())).rows.notices).to.be.at.least(1);
    expect((await noticeRow(recentNotice)).body).not.to.equal(null);
    expect(await noticeRow(old)).to.include({ body: null, status: 'failed' });
    const error: unknown = await replayNotice({ db }, shop.club.id, old, new Date()).catch((thrown: unknown) => thrown);
    expect(error).to.have.property('code', 'payload_purged');
  });

  it('marks a notice as failed with payload_purged if its body was deleted before the processing', async () => {
    const shop = await buildShop();
    const id = await takeNotice(shop.connection, purchaseNotice(shop, 'paid'));
    await alter('sales_notices', id, { body: null });
    await stepNotice(id);
    expect(await noticeRow(id)).to.include({ status: 'failed', errorCode: 'payload_purged' });
  });
});
