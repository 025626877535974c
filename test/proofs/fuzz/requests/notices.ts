/**
 * Makes bodies of notices: valid notices of each platform, and notices with one corrupted part. The schema of notices cannot be used,
 * because it allows any object.
 */
import { hotmartCancellation, hotmartPurchase, kiwifyOrder } from '../../../toolkit/builders/platform-notices.ts';
import { billingEvents } from '../../../toolkit/builders/billing-events.ts';
import { deliveryReport } from '../../../toolkit/builders/mail-reports.ts';
import type { Draw } from './draw.ts';
import type { Pool } from './pool.ts';
import { isRecord, type Json, type JsonRecord } from './step.ts';

const corruptValues: readonly Json[] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e300,
  '',
  ' ',
  'x',
  '0000-00-00T00:00:00Z',
  '9999-12-31T23:59:59Z',
  '2026-02-30T00:00:00Z',
  '99999999999999999999',
  'a\u0000b',
  '\ud800',
  'x'.repeat(300),
  [],
  {},
  [[]],
  { id: { id: {} } },
];

export function salesNotice(draw: Draw, pool: Pool): Json {
  const notice = draw.weighted<() => JsonRecord>([
    [6, () => genericNotice(draw, pool)],
    [
      2,
      () => hotmartPurchase(draw.pick(['PURCHASE_APPROVED', 'PURCHASE_REFUNDED', 'PURCHASE_CHARGEBACK'])) as JsonRecord,
    ],
    [1, () => hotmartCancellation as JsonRecord],
    [2, () => kiwifyOrder(draw.pick(['order_approved', 'order_refunded', 'subscription_canceled'])) as JsonRecord],
  ])();
  return draw.chance(0.35) ? withOneCorruption(draw, notice) : notice;
}

/** Makes an event of the payment processor. world.ts signs the event. */
export function billingNotice(draw: Draw): Json {
  const clubId = draw.pick(['{{own.club}}', '{{other.club}}', '{{uuid:7}}', 'no club']);
  const about = { clubId, customer: `cus_{{own.club}}`, subscription: 'sub_{{own.club}}', at: 1_790_000_000 };
  const plan = draw.pick(['starter', 'professional', 'professional', 'business', 'unheard-of']);
  const event = draw.weighted<() => object>([
    [2, () => billingEvents.checkout(about)],
    [3, () => billingEvents.subscription(draw.pick(['created', 'updated', 'deleted']), { ...about, plan })],
    [1, () => billingEvents.invoice(draw.pick(['paid', 'payment_failed']), about)],
  ])();
  const notice = { ...(JSON.parse(JSON.stringify(event)) as JsonRecord), id: `evt_{{salt}}_${draw.below(200)}` };
  return draw.chance(0.35) ? withOneCorruption(draw, notice) : notice;
}

/**
 * Makes a notice of a mail provider. The body has the fields of all providers, because each provider reads only its own. world.ts signs
 * the notices of SendGrid and Resend; the notices of Mailgun have no valid signature.
 */
export function providerNotice(draw: Draw): Json {
  const mailId = draw.pick(['{{own.sent_mail}}', '{{own.sent_mail}}', '{{other.sent_mail}}', '{{uuid:9}}', 'no id']);
  const at = draw.pick(['{{now:-60}}', '{{now:-60}}', '{{now:3600}}', '2019-01-01T00:00:00Z', 'yesterday']);
  const seconds = draw.pick([1_790_000_000, 1_790_000_001.5, -1, 0]);
  const notice: JsonRecord = {
    RecordType: draw.pick(['Delivery', 'Bounce', 'SpamComplaint', 'Open']),
    Type: draw.pick(['HardBounce', 'SoftBounce', 'Unheard']),
    MessageID: `provider-${draw.below(3)}`,
    BouncedAt: at,
    Metadata: { 'mail-id': mailId },
    event: draw.pick(['delivered', 'hard_bounce', 'soft_bounce', 'bounce', 'spam', 'spamreport', 'click']),
    timestamp: seconds,
    ts_event: seconds,
    mail_id: mailId,
    'X-Mailin-custom': mailId,
    'message-id': `<${mailId}@platform.example>`,
    type: draw.pick(['email.delivered', 'email.bounced', 'email.complained', 'bounce', 'blocked']),
    created_at: at,
    data: {
      email_id: 'provider-1',
      headers: [{ name: 'X-Club-Mail-Id', value: mailId }],
      bounce: { type: 'Transient' },
    },
    signature: { timestamp: String(seconds), token: `token-${draw.below(3)}`, signature: 'x' },
    'event-data': { event: 'failed', severity: 'permanent', timestamp: seconds },
  };
  return draw.chance(0.35) ? withOneCorruption(draw, notice) : notice;
}

/** Makes a delivery report, or a message that only resembles one. */
export function mailReport(draw: Draw): string {
  const mailId = draw.pick(['{{own.sent_mail}}', '{{other.sent_mail}}', '{{uuid:9}}', 'no id']);
  const report = deliveryReport({
    date: draw.pick(['Mon, 02 Mar 2026 09:15:07 +0000', 'yesterday']),
    action: draw.pick(['failed', 'delivered', 'delayed', 'unheard']),
    status: draw.pick(['5.1.1', '5.7.1', '4.4.7', 'none']),
    returned: [`X-Club-Mail-Id: ${mailId}`],
  });
  return draw.chance(0.3) ? report.slice(0, draw.below(report.length)) : report;
}

function genericNotice(draw: Draw, pool: Pool): JsonRecord {
  const subscription = { id: `subscription-${draw.below(3)}`, lateness: 'the second month' };
  return {
    event: draw.pick([
      'purchase.paid',
      'purchase.paid',
      'purchase.refunded',
      'purchase.chargeback',
      'subscription.past_due',
      'subscription.canceled',
      'unheard.of',
    ]),
    occurred_at: '{{now:-60}}',
    product: { id: draw.pick(['{{own.product.external_id}}', 'unknown product']) },
    buyer: { email: draw.pick([`buyer-${draw.below(5)}@example.com`, '{{own.student.email}}']), name: 'Bea Buyer' },
    purchase: { id: `sale-${draw.below(5)}`, amount: 4_900, currency: 'EUR' },
    ...(draw.chance(0.4) && { subscription }),
    ...(draw.chance(0.1) && { canary: pool.living('canary')[0]?.template ?? '' }),
  };
}

function withOneCorruption(draw: Draw, whole: JsonRecord): JsonRecord {
  const names = Object.keys(whole);
  if (names.length === 0) return whole;
  const name = draw.pick(names);
  const part = whole[name];
  if (isRecord(part) && draw.chance(0.75)) return { ...whole, [name]: withOneCorruption(draw, part) };
  const { [name]: _, ...rest } = whole;
  return draw.chance(0.3) ? rest : { ...rest, [name]: draw.pick(corruptValues) };
}
