import { createHmac } from 'node:crypto';
import { expect } from 'chai';
import { plans } from '../../../domain/billing/plans.policy.ts';
import { processNotice } from '../../../domain/sales/processing.ts';
import { retain } from '../../../domain/webhooks/retention.ts';
import { rescueOverdue } from '../../../domain/facts/upkeep.ts';
import { replayNotice } from '../../../domain/sales/notices.ts';
import { factTypes } from '../../toolkit/assert/facts.ts';
import { noticeRow, salesStateOf } from '../../toolkit/assert/sales.ts';
import { buildStudents, buildPlan } from '../../toolkit/builders/billing.ts';
import { buildSalesConnection, buildProduct, buildShop, purchaseNotice } from '../../toolkit/builders/sales.ts';
import { rowCounts, testPlatform } from '../../toolkit/stack/database.ts';
import { alter } from '../../toolkit/drive/alter.ts';
import { noticePlatform, stepNotice, takeNotice } from '../../toolkit/drive/sales.ts';

const day = 86_400_000;
const euros = (id: string) => ({ purchase: { id, amount: 1, currency: 'EUR' } });

describe('a notice that cannot be carried out', () => {
  for (const [what, further, left] of [
    ['an unknown product', { product: { id: 'nobody-knows' } }, { errorCode: 'unknown_product', errorPath: null }],
    ['a bad shape', { buyer: { email: 'none' } }, { errorCode: 'bad_shape', errorPath: 'buyer.email' }],
    [
      'an unknown currency',
      { purchase: { id: '1', amount: 1, currency: 'QQQ' } },
      { errorCode: 'unknown_currency', errorPath: 'purchase.currency' },
    ],
  ] as const) {
    it(`${what}: fails with a code, and leaves nothing else behind`, async () => {
      const shop = await buildShop();
      const id = await takeNotice(shop.connection, purchaseNotice(shop, 'paid', further));
      const before = await rowCounts();
      expect(await stepNotice(id)).to.deep.equal({ done: true, outcome: 'failed' });
      expect(await noticeRow(id)).to.include({ status: 'failed', attemptCount: 1, ...left });
      expect(await rowCounts()).to.deep.equal(before);
    });
  }

  it('no place for another student: fails as limit_reached; with a place its replay goes through', async () => {
    const shop = await buildShop();
    await buildPlan(shop.club.id, 'starter');
    await buildStudents(shop.club.id, plans.starter.allowances.students.included);
    const id = await takeNotice(shop.connection, purchaseNotice(shop, 'paid'));
    await stepNotice(id);
    expect(await noticeRow(id)).to.include({ status: 'failed', errorCode: 'limit_reached' });
    expect(await factTypes(shop.club.id)).to.deep.equal([]);
    await buildPlan(shop.club.id, 'professional');
    await replayNotice((await testPlatform()).database, shop.club.id, id, new Date());
    expect(await stepNotice(id)).to.deep.equal({ done: true, outcome: 'processed' });
  });

  it('after the product was created its replay goes through, once', async () => {
    const shop = await buildShop();
    const id = await takeNotice(shop.connection, purchaseNotice(shop, 'paid', { product: { id: 'to-come' } }));
    await stepNotice(id);
    await buildProduct(shop.club.id, { externalId: 'to-come' });
    await replayNotice((await testPlatform()).database, shop.club.id, id, new Date());
    await stepNotice(id);
    expect(await noticeRow(id)).to.include({ status: 'processed', errorCode: null, attemptCount: 2 });
    expect((await factTypes(shop.club.id)).filter((type) => type === 'purchase.paid')).to.have.length(1);
  });

  it('a notice that is not proven: refused where the connection has a secret, and nowhere else', async () => {
    const shop = await buildShop();
    const guarded = await buildSalesConnection(shop.club.id, 'generic', 'a key');
    const body = purchaseNotice(shop, 'paid');
    const signed = createHmac('sha256', 'a key').update(JSON.stringify(body)).digest('hex');
    for (const [proof, outcome] of [
      ['', 'failed'],
      ['0'.repeat(64), 'failed'],
      ['x'.repeat(600), 'failed'],
      [signed, 'processed'],
    ] as const) {
      const id = await takeNotice(guarded, body, proof);
      expect(await stepNotice(id)).to.deep.equal({ done: true, outcome });
      expect((await noticeRow(id)).errorCode).to.equal(outcome === 'failed' ? 'proof_refused' : null);
    }
  });
});

describe('a fault of ours', () => {
  it('leaves the notice to be tried again, says so, and rolls everything back', async () => {
    const shop = await buildShop();
    const id = await takeNotice(shop.connection, purchaseNotice(shop, 'paid'));
    const before = await rowCounts();
    const platform = await noticePlatform();
    const broken = {
      ...platform,
      vault: {
        ...platform.vault,
        derive: () => {
          throw new Error('the vault is broken');
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

  it('a step that died after its claim: the next one waits for the lease, then does it', async () => {
    const shop = await buildShop();
    const id = await takeNotice(shop.connection, purchaseNotice(shop, 'paid'));
    const dead = await noticePlatform({
      failpoint: async (name) => {
        if (name === 'notice_claimed') throw new Error('dead');
      },
    });
    await processNotice(dead, id, Date.now()).catch(() => undefined);
    const waiting = await stepNotice(id);
    expect(waiting).to.include({ done: false, attempt: 2 });
    await alter('sales_notices', id, { lease_until: new Date(Date.now() - 1) });
    expect(await stepNotice(id)).to.deep.equal({ done: true, outcome: 'processed' });
    expect((await factTypes(shop.club.id)).filter((type) => type === 'purchase.paid')).to.have.length(1);
  });

  it('a step that died after its commit: the next one finds what was recorded', async () => {
    const shop = await buildShop();
    const id = await takeNotice(shop.connection, purchaseNotice(shop, 'paid'));
    const dead = await noticePlatform({
      failpoint: async (name) => {
        if (name === 'notice_recorded') throw new Error('dead');
      },
    });
    await processNotice(dead, id, Date.now()).catch(() => undefined);
    const facts = await factTypes(shop.club.id);
    expect(await stepNotice(id)).to.deep.equal({ done: true, outcome: 'processed' });
    expect(await factTypes(shop.club.id)).to.deep.equal(facts);
  });

  it('who has lost the claim records nothing', async () => {
    const shop = await buildShop();
    const id = await takeNotice(shop.connection, purchaseNotice(shop, 'paid'));
    const overtaken = await noticePlatform({
      failpoint: async (name) => {
        if (name === 'notice_claimed') await alter('sales_notices', id, { fence: 7, lease_until: null });
      },
    });
    expect(await processNotice(overtaken, id, Date.now())).to.include({ done: false });
    expect(await factTypes(shop.club.id)).to.deep.equal([]);
    expect(await stepNotice(id)).to.deep.equal({ done: true, outcome: 'processed' });
  });
});

describe('many at once', () => {
  it('the same notice ten times: one purchase, one fact', async () => {
    const shop = await buildShop();
    const ids: string[] = [];
    while (ids.length < 10) ids.push(await takeNotice(shop.connection, purchaseNotice(shop, 'paid')));
    const steps = await Promise.all(ids.map((id) => stepNotice(id)));
    expect(steps).to.deep.equal(ids.map(() => ({ done: true, outcome: 'processed' })));
    expect(await factTypes(shop.club.id)).to.deep.equal(['student.created', 'purchase.paid', 'access.granted']);
  });

  it('one notice, ten steps: one of them does it', async () => {
    const shop = await buildShop();
    const id = await takeNotice(shop.connection, purchaseNotice(shop, 'paid'));
    await Promise.all(Array.from({ length: 10 }, () => stepNotice(id)));
    expect(await noticeRow(id)).to.include({ status: 'processed', attemptCount: 1 });
    expect(await factTypes(shop.club.id)).to.have.length(3);
  });

  it('refunds and chargebacks of a sale that stands, at once: one fact, and the chargeback wins', async () => {
    const shop = await buildShop();
    await stepNotice(await takeNotice(shop.connection, purchaseNotice(shop, 'paid')));
    const ids: string[] = [];
    while (ids.length < 8)
      ids.push(
        await takeNotice(shop.connection, purchaseNotice(shop, ids.length % 2 === 0 ? 'refunded' : 'chargeback')),
      );
    await Promise.all(ids.map((id) => stepNotice(id)));
    const told = (await factTypes(shop.club.id)).filter(
      (type) => type === 'purchase.refunded' || type === 'access.revoked',
    );
    expect(told).to.deep.equal(['purchase.refunded', 'access.revoked']);
    expect(await salesStateOf(shop.club.id)).to.have.nested.property('purchases[0].status', 'chargeback');
  });

  it('two purchases of one stranger: one account', async () => {
    const shop = await buildShop();
    const ids = [
      await takeNotice(shop.connection, purchaseNotice(shop, 'paid', euros('a'))),
      await takeNotice(shop.connection, purchaseNotice(shop, 'paid', euros('b'))),
    ];
    await Promise.all(ids.map((id) => stepNotice(id)));
    expect((await factTypes(shop.club.id)).filter((type) => type === 'student.created')).to.have.length(1);
  });
});

describe('upkeep of notices', () => {
  it('one that nobody works on for two minutes is found by the sweeper', async () => {
    const shop = await buildShop();
    const id = await takeNotice(shop.connection, purchaseNotice(shop, 'paid'));
    const { database } = await testPlatform();
    await database.source.query(`DELETE FROM wakes WHERE subject_id = $1`, [id]);
    const woken = async () => database.source.query<unknown[]>(`SELECT 1 FROM wakes WHERE subject_id = $1`, [id]);
    await rescueOverdue(database, new Date(Date.now() + 119_000));
    expect(await woken()).to.have.length(0);
    await rescueOverdue(database, new Date(Date.now() + 121_000));
    expect(await woken()).to.have.length(1);
  });

  it('bodies go after 90 days, with the addresses in them; a failed one then cannot be replayed', async () => {
    const shop = await buildShop();
    const kept = await takeNotice(shop.connection, purchaseNotice(shop, 'paid', { product: { id: 'unknown' } }));
    const old = await takeNotice(shop.connection, purchaseNotice(shop, 'paid', { product: { id: 'unknown' } }));
    for (const id of [kept, old]) await stepNotice(id);
    await alter('sales_notices', kept, { received_at: new Date(Date.now() - 90 * day + 60_000) });
    await alter('sales_notices', old, { received_at: new Date(Date.now() - 90 * day) });
    const { database } = await testPlatform();
    expect((await retain(database, new Date())).notices).to.be.at.least(1);
    expect((await noticeRow(kept)).body).not.to.equal(null);
    expect(await noticeRow(old)).to.include({ body: null, status: 'failed' });
    const error: unknown = await replayNotice(database, shop.club.id, old, new Date()).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).to.have.property('code', 'payload_purged');
  });

  it('a body that was gone before it was processed: failed as payload_purged', async () => {
    const shop = await buildShop();
    const id = await takeNotice(shop.connection, purchaseNotice(shop, 'paid'));
    await alter('sales_notices', id, { body: null });
    await stepNotice(id);
    expect(await noticeRow(id)).to.include({ status: 'failed', errorCode: 'payload_purged' });
  });
});
