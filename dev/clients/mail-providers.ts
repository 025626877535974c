/**
 * Writes the notices of mail providers as the providers post them, with their signatures. The texts are our own examples of the documented
 * fields.
 */
import { createHmac, createSign, randomBytes, type KeyObject } from 'node:crypto';

export type ReportedKind = 'delivered' | 'bounced' | 'soft_bounced' | 'complained';

export interface ReportedMail {
  kind: ReportedKind;
  at: Date;
  /** The id in the header of the provider; absent for a mail that has no such header. */
  mailId?: string | undefined;
  messageId?: string;
  providerId?: string;
}

export interface PostedNotice {
  raw: string;
  headers: Record<string, string>;
}

const recipient = 'reader@example.com';
const seconds = (time: Date) => Math.floor(time.getTime() / 1_000);
const json = { 'content-type': 'application/json' };

export function postmarkNotice({ kind, at, mailId, providerId = 'none' }: ReportedMail): PostedNotice {
  const types = {
    bounced: 'HardBounce',
    soft_bounced: 'SoftBounce',
    complained: 'SpamComplaint',
    delivered: undefined,
  };
  const isDelivery = kind === 'delivered';
  const record = { delivered: 'Delivery', bounced: 'Bounce', soft_bounced: 'Bounce', complained: 'SpamComplaint' }[
    kind
  ];
  return {
    raw: JSON.stringify({
      RecordType: record,
      MessageStream: 'broadcast',
      MessageID: providerId,
      ...(types[kind] !== undefined && { Type: types[kind] }),
      [isDelivery ? 'Recipient' : 'Email']: recipient,
      [isDelivery ? 'DeliveredAt' : 'BouncedAt']: at.toISOString().replace('Z', '0000+00:00'),
      Metadata: mailId === undefined ? {} : { 'mail-id': mailId },
    }),
    headers: json,
  };
}

export function brevoNotice({ kind, at, mailId, messageId = '<none@relay.example>' }: ReportedMail): PostedNotice {
  const events = { delivered: 'delivered', bounced: 'hard_bounce', soft_bounced: 'soft_bounce', complained: 'spam' };
  return {
    raw: JSON.stringify({
      event: events[kind],
      email: recipient,
      id: 7,
      'message-id': messageId,
      ts: seconds(at),
      ts_event: at.getTime() / 1_000,
      ...(mailId !== undefined && { 'X-Mailin-custom': mailId }),
    }),
    headers: json,
  };
}

/** @param token the token that Mailgun signs; a new one by default */
export function mailgunNotice(
  { kind, at, mailId, messageId = 'none@relay.example' }: ReportedMail,
  signingKey: string,
  { signedAt = new Date(), token = randomBytes(25).toString('hex') }: { signedAt?: Date; token?: string } = {},
): PostedNotice {
  const timestamp = String(seconds(signedAt));
  const words = {
    delivered: { event: 'delivered' },
    bounced: { event: 'failed', severity: 'permanent', reason: 'bounce' },
    soft_bounced: { event: 'failed', severity: 'permanent', reason: 'old' },
    complained: { event: 'complained' },
  };
  const signature = createHmac('sha256', signingKey)
    .update(timestamp + token)
    .digest('hex');
  return {
    raw: JSON.stringify({
      signature: { timestamp, token, signature },
      'event-data': {
        ...words[kind],
        timestamp: at.getTime() / 1_000,
        recipient,
        message: { headers: { 'message-id': messageId.replaceAll(/[<>]/g, '') } },
        'user-variables': mailId === undefined ? {} : { mail_id: mailId },
      },
    }),
    headers: json,
  };
}

/** @param privateKey a private key of the curve P-256 */
export function sendgridNotice(
  mails: readonly ReportedMail[],
  privateKey: KeyObject,
  signedAt = new Date(),
): PostedNotice {
  const words = {
    delivered: { event: 'delivered' },
    bounced: { event: 'bounce', type: 'bounce', status: '5.1.1' },
    soft_bounced: { event: 'bounce', type: 'blocked', status: '4.7.1' },
    complained: { event: 'spamreport' },
  };
  const events = mails.map(({ kind, at, mailId, messageId = '<none@relay.example>', providerId = 'none' }) => ({
    ...words[kind],
    email: recipient,
    timestamp: at.getTime() / 1_000,
    'smtp-id': messageId,
    sg_event_id: randomBytes(12).toString('base64url'),
    sg_message_id: `${providerId}.recvd-5f9-1.0`,
    ...(mailId !== undefined && { mail_id: mailId }),
  }));
  const raw = JSON.stringify(events);
  return { raw, headers: { ...json, ...sendgridSignature(raw, privateKey, signedAt) } };
}

/** @returns the headers with which SendGrid signs a body */
export function sendgridSignature(raw: string, privateKey: KeyObject, signedAt = new Date()): Record<string, string> {
  const timestamp = String(seconds(signedAt));
  return {
    'x-twilio-email-event-webhook-timestamp': timestamp,
    'x-twilio-email-event-webhook-signature': createSign('sha256')
      .update(timestamp)
      .update(raw)
      .sign(privateKey, 'base64'),
  };
}

/** @param secret `whsec_` and a key in base64 */
export function resendNotice(
  { kind, at, mailId, messageId, providerId = 'none' }: ReportedMail,
  secret: string,
  { signedAt = new Date(), id = `msg_${randomBytes(12).toString('hex')}` }: { signedAt?: Date; id?: string } = {},
): PostedNotice {
  const types = {
    delivered: 'email.delivered',
    bounced: 'email.bounced',
    soft_bounced: 'email.bounced',
    complained: 'email.complained',
  };
  const bounce = { bounced: { type: 'Permanent' }, soft_bounced: { type: 'Transient' } };
  const raw = JSON.stringify({
    type: types[kind],
    created_at: at.toISOString(),
    data: {
      email_id: providerId,
      to: [recipient],
      headers: mailId === undefined ? [] : [{ name: 'X-Club-Mail-Id', value: mailId }],
      ...(messageId !== undefined && { message_id: messageId }),
      ...((kind === 'bounced' || kind === 'soft_bounced') && { bounce: bounce[kind] }),
    },
  });
  return { raw, headers: { ...json, ...resendSignature(raw, secret, { signedAt, id }) } };
}

/** @returns the headers with which Resend signs a body */
export function resendSignature(
  raw: string,
  secret: string,
  { signedAt, id }: { signedAt: Date; id: string },
): Record<string, string> {
  const timestamp = String(seconds(signedAt));
  const signature = createHmac('sha256', Buffer.from(secret.slice('whsec_'.length), 'base64'))
    .update(`${id}.${timestamp}.${raw}`)
    .digest('base64');
  return { 'svix-id': id, 'svix-timestamp': timestamp, 'svix-signature': `v1,${signature}` };
}

/**
 * Posts a bounce of one mail as Postmark does, and a signed bounce of another mail as Mailgun does. The tour calls this function.
 * @param service the API, with `MAIL_PROVIDERS=postmark,mailgun` and these secrets
 * @throws Error if a notice is not accepted
 */
export async function postBounces(
  { api, token, signingKey }: { api: string; token: string; signingKey: string },
  mails: Readonly<Record<'postmark' | 'mailgun', string>>,
  at = new Date(),
): Promise<void> {
  const notices = {
    postmark: postmarkNotice({ kind: 'bounced', at, mailId: mails.postmark }),
    mailgun: mailgunNotice({ kind: 'bounced', at, mailId: mails.mailgun }, signingKey),
  };
  for (const [provider, { raw, headers }] of Object.entries(notices)) {
    const answer = await fetch(`${api}/webhooks/mail/${provider}/${token}`, { method: 'POST', headers, body: raw });
    if (answer.status !== 200) throw new Error(`The notice of ${provider} was answered with ${answer.status}`);
  }
}
