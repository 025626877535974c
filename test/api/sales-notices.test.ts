import { newId } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { noticeRow } from '../toolkit/assert/sales.ts';
import { buildClub } from '../toolkit/builders/clubs.ts';
import {
  buildSalesConnection,
  buildShop,
  noticeOf,
  purchaseNotice,
  type TestSalesConnection,
  type TestShop,
} from '../toolkit/builders/sales.ts';
import { call, expectError, someAddress, visible } from '../toolkit/drive/api.ts';
import { sell, stepNotice, takeNotice } from '../toolkit/drive/sales.ts';
import { secondsToNextMinute, withClockStopped } from '../toolkit/fakes/timers.ts';
import { rowCounts, testDatabase, testDeps } from '../toolkit/stack/database.ts';
import { expect } from 'chai';

const address = ({ platform, token }: TestSalesConnection) => `/webhooks/${platform}/${token}`;

async function noticesOf({ id }: TestSalesConnection) {
  const source = await testDatabase();
  return source.query<{ id: string; body: Buffer; proof: Buffer | null; addresses: string[] }[]>(
    `SELECT id, body, proof, addresses FROM sales_notices WHERE connection_id = $1`,
    [id],
  );
}

describe('POST /webhooks/{platform}/{token}', () => {
  describe('202', () => {
    it('stores the notice byte for byte, and wakes the run that processes the notice', async () => {
      const { connection, club } = await buildShop();
      const raw = '{ "event" : "x",\n "name": "Zoë", "mail":"A@Example.com", "n": 1.0 }';
      expect((await call('POST', address(connection), { raw })).status).to.equal(202);
      const [notice, ...others] = await noticesOf(connection);
      expect(others).to.have.length(0);
      expect(notice?.body.toString('utf8')).to.equal(raw);
      expect(notice?.addresses).to.deep.equal(['a@example.com']);
      const source = await testDatabase();
      const wakes = await source.query(`SELECT workflow_id AS id, club_id AS club FROM wakes WHERE subject_id = $1`, [
        notice?.id,
      ]);
      expect(wakes).to.deep.equal([{ id: `sales-notice/${notice?.id}`, club: club.id }]);
    });

    it('stores a notice of an unknown format, although its processing will fail', async () => {
      const { connection } = await buildShop();
      expect((await call('POST', address(connection), { body: { event: { of: 'no kind' } } })).status).to.equal(202);
      const [notice] = await noticesOf(connection);
      await stepNotice(notice?.id ?? '');
      expect(await noticeRow(notice?.id ?? '')).to.include({
        status: 'failed',
        errorCode: 'bad_shape',
        errorPath: 'event',
      });
    });

    it('accepts unknown query parameters, and stores the notice', async () => {
      const club = await buildClub();
      const { vault } = await testDeps();
      const kiwify = await buildSalesConnection(club.id, 'kiwify', 's');
      const query = 'signature=abc123&attempt=2&%00=%00&page=x&utm_source=a&utm_source=b';
      expect((await call('POST', `${address(kiwify)}?${query}`, { body: {} })).status).to.equal(202);
      const [notice] = await noticesOf(kiwify);
      expect(vault.open(notice?.proof ?? Buffer.alloc(0), notice?.id ?? '')).to.equal('abc123');
    });

    it('encrypts the platform’s proof of origin: a header, or a signature in the address', async () => {
      const club = await buildClub();
      const { vault } = await testDeps();
      const hotmart = await buildSalesConnection(club.id, 'hotmart', 's');
      const kiwify = await buildSalesConnection(club.id, 'kiwify', 's');
      await call('POST', address(hotmart), { body: {}, headers: { 'X-HOTMART-HOTTOK': 'the hottok' } });
      await call('POST', `${address(kiwify)}?signature=abc123`, { body: {} });
      await eachCase(
        [
          [hotmart, 'the hottok'],
          [kiwify, 'abc123'],
        ] as const,
        async ([connection, proof]) => {
          const [notice] = await noticesOf(connection);
          expect(vault.open(notice?.proof ?? Buffer.alloc(0), notice?.id ?? '')).to.equal(proof);
        },
      );
    });
  });

  it('returns 404 with the same bytes for unknown tokens and platforms, and stores nothing', async () => {
    const { connection } = await buildShop();
    const before = await rowCounts();
    const answers = await Promise.all(
      [
        `/webhooks/generic/${newId()}`,
        `/webhooks/hotmart/${connection.token}`,
        `/webhooks/storefront/${connection.token}`,
        `/webhooks/generic/${connection.token}x`,
      ].map((path) => call('POST', path, { body: { event: 'x' } })),
    );
    await eachCase(answers, (answer) => expectError(answer, 'not_found'));
    expect(new Set(answers.map(visible))).to.have.property('size', 1);
    expect(await rowCounts()).to.deep.equal(before);
  });

  it('returns 400 for invalid UTF-8, invalid JSON and JSON that is not an object, and stores nothing', async () => {
    const { connection } = await buildShop();
    const before = await rowCounts();
    await eachCase(['{"event":', '[]', '"text"', '', Buffer.from([0x7b, 0xff, 0x7d])], async (raw) =>
      expectError(await call('POST', address(connection), { raw }), 'malformed_request'),
    );
    expect(await rowCounts()).to.deep.equal(before);
  });

  it('returns 413 for a body of 5 MB, and stores nothing', async () => {
    const { connection } = await buildShop();
    const before = await rowCounts();
    const raw = JSON.stringify({ event: 'x', filler: 'x'.repeat(5_000_000) });
    expectError(await call('POST', address(connection), { raw }), 'body_too_large');
    expect(await rowCounts()).to.deep.equal(before);
  });

  it('returns 415 for a form body', async () => {
    const { connection } = await buildShop();
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    expectError(await call('POST', address(connection), { raw: 'event=x', headers }), 'unsupported_media_type');
  });

  it('stores 600 notices a minute from one IP address, and returns 429 for the next', async function () {
    this.timeout(60_000);
    const { connection } = await buildShop();
    const ip = someAddress();
    const send = () => call('POST', address(connection), { body: { event: 'x' }, ip });
    await withClockStopped(async (now) => {
      const statuses: number[] = [];
      while (statuses.length < 600) {
        const answers = await Promise.all(Array.from({ length: 10 }, send));
        statuses.push(...answers.map(({ status }) => status));
      }
      expect(new Set(statuses)).to.deep.equal(new Set([202]));
      const refused = await send();
      expectError(refused, 'rate_limited');
      expect(Number(refused.headers.get('retry-after'))).to.equal(secondsToNextMinute(now));
    });
    expect(await noticesOf(connection)).to.have.length(600);
  });
});

describe('GET /v1/clubs/{clubId}/sales-notices', () => {
  const list = ({ club }: TestShop, query = '') =>
    call('GET', `/v1/clubs/${club.id}/sales-notices${query}`, { token: club.owner.token });

  it('lists notices newest first, with status and error, without bodies', async () => {
    const shop = await buildShop();
    await sell(
      shop,
      purchaseNotice(shop, 'paid'),
      purchaseNotice(shop, 'paid', { product: { id: 'x' }, purchase: { id: '2', amount: 1, currency: 'EUR' } }),
      { event: 'other' },
    );
    await takeNotice(shop.connection, {});
    const { body, text } = await list(shop);
    expect(body.total).to.equal(4);
    expect(body.data.map((one: { status: string; error?: object }) => [one.status, one.error])).to.deep.equal([
      ['pending', undefined],
      ['ignored', { code: 'event_without_meaning' }],
      ['failed', { code: 'unknown_product' }],
      ['processed', undefined],
    ]);
    expect(body.data[3]).to.have.property('student_id');
    expect(text).not.to.contain(shop.email);
  });

  it('filters the club’s notices by status and by connection', async () => {
    const shop = await buildShop();
    await sell(shop, purchaseNotice(shop, 'paid'));
    const second = await buildSalesConnection(shop.club.id);
    const failed = await takeNotice(second, { event: 3 });
    await stepNotice(failed);
    expect((await list(shop, '?status=failed')).body).to.have.property('total', 1);
    expect((await list(shop, `?connection_id=${second.id}`)).body.data[0].id).to.equal(failed);
    expect((await list(shop, `?connection_id=${second.id}&status=processed`)).body.total).to.equal(0);
    expect((await list(await buildShop())).body.total).to.equal(0);
    expectError(await list(shop, '?status=lost'), 'invalid_request');
  });
});

describe('GET /v1/clubs/{clubId}/sales-notices/{noticeId}', () => {
  it('shows the received body until the body is purged', async () => {
    const shop = await buildShop();
    const notice = noticeOf(shop, 'other');
    const id = await takeNotice(shop.connection, notice);
    const read = () => call('GET', `/v1/clubs/${shop.club.id}/sales-notices/${id}`, { token: shop.club.owner.token });
    expect((await read()).body.data).to.include({ body: JSON.stringify(notice), payload_purged: false });
    await (await testDatabase()).query(`UPDATE sales_notices SET body = NULL WHERE id = $1`, [id]);
    expect((await read()).body.data)
      .to.include({ payload_purged: true })
      .and.not.have.property('body');
  });

  it('returns 404 for a notice of another club, as POST …/replay does', async () => {
    const [shop, other] = [await buildShop(), await buildShop()];
    const id = await takeNotice(other.connection, {});
    await eachCase(
      [
        ['GET', ''],
        ['POST', '/replay'],
      ] as const,
      async ([method, rest]) =>
        expectError(
          await call(method, `/v1/clubs/${shop.club.id}/sales-notices/${id}${rest}`, { token: shop.club.owner.token }),
          'not_found',
        ),
    );
  });
});

describe('POST /v1/clubs/{clubId}/sales-notices/{noticeId}/replay', () => {
  const replay = ({ club }: TestShop, id: string) =>
    call('POST', `/v1/clubs/${club.id}/sales-notices/${id}/replay`, { token: club.owner.token });

  it('sets a failed notice to pending, and wakes the run that processes the notice', async () => {
    const shop = await buildShop();
    const id = await takeNotice(shop.connection, purchaseNotice(shop, 'paid', { product: { id: 'x' } }));
    await stepNotice(id);
    await (await testDatabase()).query(`DELETE FROM wakes WHERE subject_id = $1`, [id]);
    expect((await replay(shop, id)).status).to.equal(202);
    expect(await noticeRow(id)).to.include({ status: 'pending', errorCode: null });
    expect(await (await testDatabase()).query(`SELECT 1 FROM wakes WHERE subject_id = $1`, [id])).to.have.length(1);
  });

  it('returns 409 notice_not_failed for a notice that is pending, processed or ignored', async () => {
    const shop = await buildShop();
    const [pending, processed, ignored] = [
      await takeNotice(shop.connection, {}),
      await takeNotice(shop.connection, purchaseNotice(shop, 'paid')),
      await takeNotice(shop.connection, { event: 'other' }),
    ];
    for (const id of [processed, ignored]) await stepNotice(id);
    await eachCase([pending, processed, ignored], async (id) =>
      expectError(await replay(shop, id), 'notice_not_failed'),
    );
  });
});

describe('GET /v1/clubs/{clubId}/purchases and /subscriptions', () => {
  it('lists purchases and subscriptions that notices created, and filters them by student and status', async () => {
    const shop = await buildShop();
    const subscription = { id: 'sub-1', current_period_end: '2026-04-02T00:00:00Z' };
    const charge = {
      purchase: { id: 'charge', amount: 900, currency: 'JPY', paid_at: '2026-03-02T00:00:00Z' },
      subscription,
    };
    await sell(shop, purchaseNotice(shop, 'refunded'), purchaseNotice(shop, 'paid', charge));
    const list = (what: string) => call('GET', `/v1/clubs/${shop.club.id}/${what}`, { token: shop.club.owner.token });
    const { body: subscriptions } = await list('subscriptions');
    expect(subscriptions.total).to.equal(1);
    const [sub] = subscriptions.data;
    expect(sub).to.deep.include({
      product: { id: shop.product.id, name: 'Knots' },
      platform: 'generic',
      external_id: 'sub-1',
      status: 'active',
      current_period_end: '2026-04-02T00:00:00.000Z',
    });
    const { body: purchases } = await list('purchases');
    expect(
      purchases.data.map((one: Record<string, unknown>) => [
        one['external_id'],
        one['status'],
        one['amount'],
        one['currency'],
      ]),
    ).to.deep.equal([
      ['charge', 'paid', 900, 'JPY'],
      ['sale-1', 'refunded', 4_900, 'EUR'],
    ]);
    expect(purchases.data[0].subscription_id).to.equal(sub.id);
    expect((await list('purchases?status=refunded')).body.total).to.equal(1);
    expect((await list(`purchases?student_id=${sub.student_id}`)).body.total).to.equal(2);
    expect((await list(`subscriptions?student_id=${newId()}`)).body.total).to.equal(0);
    expect((await list('subscriptions?status=canceled')).body.total).to.equal(0);
  });
});
