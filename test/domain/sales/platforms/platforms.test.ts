import { createHmac } from 'node:crypto';
import { expect } from 'chai';
import type { SalesEvent } from '../../../../domain/sales/platforms/events.ts';
import { salesAdapters } from '../../../../domain/sales/platforms/index.ts';
import { salesPlatforms } from '../../../../entities/sales/values.ts';
import { NoticeRefusal } from '../../../../domain/sales/notices/refusal.ts';
import { hotmartCancellation, hotmartPurchase, kiwifyOrder } from '../../../toolkit/builders/platform-notices.ts';

/** Undefined removes the field. */
function changed(notice: Record<string, unknown>, path: string, value: unknown): Record<string, unknown> {
  const copy = structuredClone(notice);
  const names = path.split('.');
  const last = names.pop() ?? '';
  const holder = names.reduce((inner, name) => inner[name] as Record<string, unknown>, copy);
  if (value === undefined) delete holder[last];
  else holder[last] = value;
  return copy;
}

function refusalOf(platform: (typeof salesPlatforms)[number], body: unknown): Pick<NoticeRefusal, 'code' | 'path'> {
  try {
    salesAdapters[platform].parse(body);
  } catch (error) {
    if (error instanceof NoticeRefusal)
      return { code: error.code, ...(error.path !== undefined && { path: error.path }) };
    throw error;
  }
  throw new Error('The notice was read without a refusal');
}

const only = (events: readonly SalesEvent[]): SalesEvent => {
  const [event, ...others] = events;
  if (!event || others.length > 0) throw new Error(`The notice has ${events.length} events instead of one`);
  return event;
};

describe('hotmart notices, 2.0.0', () => {
  const parse = (body: unknown) => salesAdapters.hotmart.parse(body);
  const paid = {
    at: new Date(1_763_247_745_737),
    productId: '788921',
    buyer: { email: 'testecomprador271101postman15@example.com', name: 'Teste Comprador' },
    purchaseId: 'HP16015479281022',
    amount: 150_050,
    currency: 'BRL',
    paidAt: new Date(1_511_783_346_000),
    subscription: { id: 'I9OT62C3' },
  };

  for (const event of ['PURCHASE_APPROVED', 'PURCHASE_COMPLETE']) {
    it(`of type ${event} are read as a payment`, () => {
      expect(parse(hotmartPurchase(event))).to.deep.equal([{ kind: 'paid', ...paid }]);
    });
  }
  for (const [event, kind] of [
    ['PURCHASE_REFUNDED', 'refunded'],
    ['PURCHASE_CHARGEBACK', 'chargeback'],
  ] as const) {
    it(`of type ${event} are read as a ${kind} purchase`, () => {
      expect(parse(hotmartPurchase(event))).to.deep.equal([{ kind, ...paid }]);
    });
  }

  it('of type PURCHASE_DELAYED are read as a late payment if they name a subscription', () => {
    const delayed = changed(hotmartPurchase('PURCHASE_DELAYED'), 'data.purchase.recurrence_number', 3);
    expect(only(parse(delayed))).to.include({ kind: 'late', subscriptionId: 'I9OT62C3', key: 'recurrence 3' });
    expect(only(parse(hotmartPurchase('PURCHASE_DELAYED')))).to.include({ key: 'HP16015479281022' });
    expect(parse(changed(delayed, 'data.subscription', undefined))).to.deep.equal([]);
  });

  it('of type SUBSCRIPTION_CANCELLATION are read as a cancellation at the time of the next charge', () => {
    expect(parse(hotmartCancellation)).to.deep.equal([
      {
        kind: 'canceled',
        at: new Date(1_609_181_285_500),
        productId: '788921',
        buyer: { email: 'test@hotmart.com.br', name: 'User name' },
        subscriptionId: '0000aaaa',
        periodEnd: new Date(1_617_105_600_000),
      },
    ]);
  });

  for (const event of ['PURCHASE_PROTEST', 'PURCHASE_EXPIRED', 'PURCHASE_CANCELED', 'CLUB_FIRST_ACCESS', 'toString']) {
    it(`of type ${event} change no access`, () => {
      expect(parse({ ...hotmartPurchase('PURCHASE_APPROVED'), event })).to.deep.equal([]);
    });
  }

  it('are read with an amount in the smallest unit of the currency', () => {
    const yen = changed(hotmartPurchase('PURCHASE_APPROVED'), 'data.purchase.price', {
      value: 1500,
      currency_value: 'JPY',
    });
    expect(only(parse(yen))).to.include({ amount: 1_500, currency: 'JPY' });
  });

  it('are read with the decimals of ISO 4217, if amounts are numbers or decimal text', () => {
    for (const [value, currency, amount] of [
      [149_900, 'COP', 14_990_000],
      ['149900.00', 'COP', 14_990_000],
      [12_990.5, 'HUF', 1_299_050],
      [15.125, 'IQD', 15_125],
      [12_990, 'CLP', 12_990],
      [0.1 + 0.2, 'EUR', 30],
      [1.005, 'EUR', 101],
      [0, 'EUR', 0],
      [1e-7, 'EUR', 0],
    ] as const) {
      const price = { value, currency_value: currency };
      const notice = changed(hotmartPurchase('PURCHASE_APPROVED'), 'data.purchase.price', price);
      expect(only(parse(notice)), `${value} ${currency}`).to.include({ amount, currency });
    }
  });

  it('are refused with the path of an amount that is not a decimal number', () => {
    for (const value of ['1e3', '-1', '1,5', '', ' 5', '0x10', -0.01, 1e15, 1e300, true, [1]])
      expect(
        refusalOf('hotmart', changed(hotmartPurchase('PURCHASE_APPROVED'), 'data.purchase.price.value', value)),
        JSON.stringify(value),
      ).to.deep.equal({ code: 'bad_shape', path: 'data.purchase.price.value' });
  });

  it('are accepted for a partial refund without an amount', () => {
    const part = changed(hotmartPurchase('PURCHASE_REFUNDED'), 'data.purchase.status', 'PARTIALLY_REFUNDED');
    expect(only(parse(part))).to.include({ kind: 'refunded', refunded: 'part' });
  });

  it('are refused with the path of a missing or wrong field', () => {
    const approved = hotmartPurchase('PURCHASE_APPROVED');
    for (const [path, value] of [
      ['version', '1.0.0'],
      ['event', undefined],
      ['data.buyer.email', 'no address'],
      ['data.buyer.email', undefined],
      ['data.product.id', { id: 1 }],
      ['data.purchase.transaction', ''],
      ['data.purchase.price.value', -1],
      ['data.purchase.price.value', 'much'],
      ['data.purchase.approved_date', 'yesterday'],
      ['data.purchase', []],
      ['data', 'text'],
      ['creation_date', 12],
    ] as const) {
      expect(refusalOf('hotmart', changed(approved, path, value)), `${path}: ${JSON.stringify(value)}`).to.deep.equal({
        code: 'bad_shape',
        path,
      });
    }
  });

  it('are refused as unknown_currency if ISO 4217 does not list the currency', () => {
    expect(
      refusalOf('hotmart', changed(hotmartPurchase('PURCHASE_APPROVED'), 'data.purchase.price.currency_value', 'ABC')),
    ).to.deep.equal({
      code: 'unknown_currency',
      path: 'data.purchase.price.currency_value',
    });
  });

  it('are authenticated by the hottok in the header, or else in the body', () => {
    const body = hotmartPurchase('PURCHASE_APPROVED');
    const proven = (proof: string, further = {}) =>
      salesAdapters.hotmart.isProven({ raw: Buffer.alloc(0), body: { ...body, ...further }, proof }, 'the hottok');
    expect(proven('the hottok')).to.equal(true);
    expect(proven('', { hottok: 'the hottok' })).to.equal(true);
    expect(proven('another', { hottok: 'the hottok' })).to.equal(false);
    expect(proven('')).to.equal(false);
  });
});

describe('kiwify notices', () => {
  const parse = (body: unknown) => salesAdapters.kiwify.parse(body);
  const paid = {
    at: new Date('2026-09-04T23:46:00Z'),
    productId: 'da157a91-80a4-4458-933c-41e965077f6a',
    buyer: { email: 'johndoe@example.com', name: 'John Doe' },
    purchaseId: '3f5d1a9c-6c1e-4a5e-8e7b-0d2c4b6a8f10',
    amount: 6_426,
    currency: 'BRL',
    paidAt: new Date('2026-09-04T23:46:00Z'),
  };
  const subscription = { id: '8b7e6d5c-4b3a-4291-8070-6f5e4d3c2b1a', periodEnd: new Date('2026-10-04T23:46:00Z') };

  it('of type order_approved are read as a payment, with Brazilian time and amounts in centavos', () => {
    expect(parse(kiwifyOrder('order_approved'))).to.deep.equal([{ kind: 'paid', ...paid, subscription }]);
  });

  it('without a subscription are read as a single purchase', () => {
    const order = changed(
      changed(kiwifyOrder('order_approved'), 'Subscription', undefined),
      'subscription_id',
      undefined,
    );
    expect(parse(order)).to.deep.equal([{ kind: 'paid', ...paid }]);
  });

  it('of type subscription_renewed are read like order_approved', () => {
    expect(parse(kiwifyOrder('subscription_renewed'))).to.deep.equal(parse(kiwifyOrder('order_approved')));
  });

  it('of type order_refunded and chargeback are read as a refund and a chargeback', () => {
    const refunded = changed(kiwifyOrder('order_refunded'), 'refunded_at', '2026-09-05 10:00');
    const undone = { ...paid, subscription: { id: subscription.id } };
    expect(parse(refunded)).to.deep.equal([{ kind: 'refunded', ...undone, at: new Date('2026-09-05T13:00:00Z') }]);
    expect(only(parse(kiwifyOrder('chargeback')))).to.deep.include({
      kind: 'chargeback',
      subscription: { id: subscription.id },
    });
  });

  it('of type subscription_late are identified by the end of the paid period, not by the order id', () => {
    const again = changed(kiwifyOrder('subscription_late'), 'order_id', 'another-try');
    for (const notice of [kiwifyOrder('subscription_late'), again]) {
      expect(only(parse(notice)), String(notice['order_id'])).to.include({
        kind: 'late',
        subscriptionId: subscription.id,
        key: '2026-10-04T23:46:00.000Z',
      });
    }
  });

  it('of type subscription_canceled are read as canceled, with access until access_until', () => {
    expect(only(parse(kiwifyOrder('subscription_canceled')))).to.deep.include({
      kind: 'canceled',
      subscriptionId: subscription.id,
      periodEnd: subscription.periodEnd,
    });
  });

  for (const event of ['billet_created', 'pix_created', 'order_rejected', 'constructor']) {
    it(`of type ${event} change no access`, () => expect(parse(kiwifyOrder(event))).to.deep.equal([]));
  }

  it('are refused with the path of a missing field', () => {
    for (const path of [
      'webhook_event_type',
      'order_id',
      'Customer.email',
      'Product.product_id',
      'Commissions.charge_amount',
    ])
      expect(refusalOf('kiwify', changed(kiwifyOrder('order_approved'), path, undefined)), path).to.deep.equal({
        code: 'bad_shape',
        path,
      });
  });

  it('are authenticated by HMAC-SHA1 over the received bytes', () => {
    const raw = Buffer.from('{"a": 1}');
    const proof = createHmac('sha1', 'token').update(raw).digest('hex');
    const proven = (bytes: Buffer, signature: string) =>
      salesAdapters.kiwify.isProven({ raw: bytes, body: {}, proof: signature }, 'token');
    expect(proven(raw, proof)).to.equal(true);
    expect(proven(Buffer.from('{"a":1}'), proof)).to.equal(false);
    expect(proven(raw, '')).to.equal(false);
  });
});

describe('generic notices, as in docs/reference/sales-notices.md', () => {
  const parse = (body: unknown) => salesAdapters.generic.parse(body);
  const notice = {
    event: 'purchase.paid',
    occurred_at: '2026-03-02T09:15:00Z',
    product: { id: 'knots-101' },
    buyer: { email: 'Ada@Example.com', name: '  Ada   Example ' },
    purchase: { id: 'HP-1042', amount: 4900, currency: 'EUR', paid_at: '2026-03-02T09:14:40Z' },
    subscription: { id: 'SUB-77', current_period_end: '2026-04-02T09:14:40Z' },
  };

  it('are accepted if they equal the example of the page', () => {
    expect(parse(notice)).to.deep.equal([
      {
        kind: 'paid',
        at: new Date('2026-03-02T09:15:00Z'),
        productId: 'knots-101',
        buyer: { email: 'ada@example.com', name: 'Ada Example' },
        purchaseId: 'HP-1042',
        amount: 4_900,
        currency: 'EUR',
        paidAt: new Date('2026-03-02T09:14:40Z'),
        subscription: { id: 'SUB-77', periodEnd: new Date('2026-04-02T09:14:40Z') },
      },
    ]);
  });

  it('have defaults for name and paid_at', () => {
    const short = changed(
      changed(changed(notice, 'buyer.name', undefined), 'purchase.paid_at', undefined),
      'product.id',
      7,
    );
    expect(only(parse(short))).to.deep.include({
      buyer: { email: 'ada@example.com', name: 'ada' },
      paidAt: new Date('2026-03-02T09:15:00Z'),
      productId: '7',
    });
  });

  it('are refused with the path of an invalid amount', () => {
    for (const amount of [
      49.5,
      -1,
      Number.MAX_SAFE_INTEGER + 1,
      'x',
      null,
      '49.00',
      '49.90',
      '4900',
      Infinity,
      [4_900],
    ])
      expect(refusalOf('generic', changed(notice, 'purchase.amount', amount)), String(amount)).to.deep.equal({
        code: 'bad_shape',
        path: 'purchase.amount',
      });
  });

  it('are refused with the path of an address that the contract does not accept', () => {
    for (const email of ['a@b', 'ü@exämple.com', '"q"@example.com', 'a,b@example.com', 'a<script>@b.com', 'x y@z.com'])
      expect(refusalOf('generic', changed(notice, 'buyer.email', email)), email).to.deep.equal({
        code: 'bad_shape',
        path: 'buyer.email',
      });
  });

  it('are refused if the refunded total is a text instead of a number', () => {
    const refund = { ...notice, event: 'purchase.refunded' };
    expect(only(parse(changed(refund, 'purchase.refunded_amount', 1_000)))).to.include({
      amount: 4_900,
      refunded: 1_000,
    });
    expect(only(parse(refund))).to.not.have.property('refunded');
    expect(refusalOf('generic', changed(refund, 'purchase.refunded_amount', '1000'))).to.deep.equal({
      code: 'bad_shape',
      path: 'purchase.refunded_amount',
    });
  });

  it('are refused with the path subscription.lateness if a late payment has no key', () => {
    expect(refusalOf('generic', { ...notice, event: 'subscription.past_due' })).to.deep.equal({
      code: 'bad_shape',
      path: 'subscription.lateness',
    });
  });

  it('are refused with the path of an invalid or distant time', () => {
    for (const time of [
      '2026-13-45T00:00:00Z',
      '02/03/2026',
      '0001-01-01T00:00:00Z',
      3,
      true,
      '2026-02-30T10:00:00Z',
      '2027-02-29T10:00:00Z',
      '2026-04-31 10:00',
      '2026-11-20',
      '20261120',
    ])
      expect(refusalOf('generic', { ...notice, occurred_at: time }), String(time)).to.deep.equal({
        code: 'bad_shape',
        path: 'occurred_at',
      });
  });

  it('are refused as bad_shape on every platform if the body contains no event', () => {
    for (const platform of salesPlatforms)
      for (const body of [{}, { event: null }, { event: [] }, { event: 'x'.repeat(2_000) }, { data: 1 }])
        expect(refusalOf(platform, body).code, `${platform}: ${JSON.stringify(body).slice(0, 40)}`).to.equal(
          'bad_shape',
        );
  });
});

describe('names of buyers', () => {
  const genericNotice = {
    event: 'purchase.paid',
    occurred_at: '2026-03-02T09:15:00Z',
    product: { id: 'knots-101' },
    buyer: { email: 'Bea.Buyer@example.com', name: 'Bea' },
    purchase: { id: 'HP-1042', amount: 4900, currency: 'EUR' },
  };
  const notices = {
    generic: { of: (name: unknown) => changed(genericNotice, 'buyer.name', name) },
    hotmart: {
      of: (name: unknown) => changed(hotmartPurchase('PURCHASE_APPROVED'), 'data.buyer.name', name),
    },
    kiwify: {
      of: (name: unknown) => changed(kiwifyOrder('order_approved'), 'Customer.full_name', name),
    },
  } as const;

  for (const platform of salesPlatforms) {
    const nameFor = (name: unknown) => only(salesAdapters[platform].parse(notices[platform].of(name))).buyer.name;
    const ofAddress = nameFor(undefined);

    it(`come from the address if the notice contains no readable name (${platform})`, () => {
      expect(ofAddress).to.match(/^[a-z0-9. ]+$/);
      for (const name of [
        '',
        '   ',
        '\n\t',
        42,
        true,
        {},
        ['Bea'],
        '\ud800',
        '\0',
        '\u200b\u3164\u00ad',
        '\u202e',
        'evil.com',
      ])
        expect(nameFor(name), JSON.stringify(name)).to.equal(ofAddress);
    });

    it(`are repaired if a part of the name is readable (${platform})`, () => {
      for (const [name, repaired] of [
        ['Be\ud800a', 'Bea'],
        ['Bea\0Buyer', 'Bea Buyer'],
        ['  Bea \r\n  Buyer ', 'Bea Buyer'],
        ['\u202eBea', 'Bea'],
        ['x'.repeat(5_000), 'x'.repeat(120)],
        ['😀'.repeat(600), '😀'.repeat(60)],
        [`a${'😀'.repeat(600)}`, `a${'😀'.repeat(59)}`],
        ['José', 'José'],
        ['李', '李'],
      ] as const)
        expect(nameFor(name), JSON.stringify(name).slice(0, 40)).to.equal(repaired);
    });
  }

  it('contain no web address if they come from the part before the @', () => {
    const notice = changed(changed(genericNotice, 'buyer.name', undefined), 'buyer.email', 'evil.com@example.com');
    expect(only(salesAdapters.generic.parse(notice)).buyer.name).to.equal('evil com');
  });
});

describe('times in the notices of every platform', () => {
  const timed = {
    generic: [
      {
        event: 'purchase.paid',
        product: { id: '1' },
        buyer: { email: 'a@example.com' },
        purchase: { id: '1', amount: 1, currency: 'EUR' },
        occurred_at: '',
      },
      'occurred_at',
    ],
    hotmart: [hotmartPurchase('PURCHASE_APPROVED'), 'creation_date'],
    kiwify: [kiwifyOrder('order_approved'), 'approved_date'],
  } as const;

  for (const platform of salesPlatforms) {
    const [notice, path] = timed[platform];
    it(`are refused with their path if the day does not exist (${platform})`, () => {
      for (const time of ['2026-02-30T10:00:00Z', '2027-02-29 10:00', '20260431T100000Z', '2026-06-31T00:00:00+00'])
        expect(refusalOf(platform, changed(notice, path, time)), time).to.deep.equal({ code: 'bad_shape', path });
    });

    it(`are accepted in the formats of ISO 8601 (${platform})`, () => {
      for (const time of [
        '2026-11-20T10:00:00+00',
        '20261120T100000Z',
        '2026-11-20t10:00:00,000z',
        '2026-11-20T07:00-03',
      ])
        expect(only(salesAdapters[platform].parse(changed(notice, path, time))).at, time).to.deep.equal(
          new Date('2026-11-20T10:00:00Z'),
        );
    });
  }
});
