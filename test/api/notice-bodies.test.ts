/**
 * Tests operations that receive notices of other services. On every path they check the sender before they read the body, and check the
 * size of the body before they parse the body.
 */
import { expect } from 'chai';
import { isUtf8 } from 'node:buffer';
import { createHmac } from 'node:crypto';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { createSnsGuard } from '../../domain/mail/notices/sns.ts';
import { newId } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { noticeRow } from '../toolkit/assert/sales.ts';
import { billingEvents } from '../toolkit/builders/billing-events.ts';
import { buildClub } from '../toolkit/builders/clubs.ts';
import { buildSalesConnection, buildShop, purchaseNotice } from '../toolkit/builders/sales.ts';
import { callAt, expectError, type Answer, type Call } from '../toolkit/drive/api.ts';
import { signatureOf, webhookSecret } from '../toolkit/drive/billing.ts';
import { stepNotice } from '../toolkit/drive/sales.ts';
import { fakeSns, sesReport, snsTopic, type FakeSns } from '../toolkit/fakes/sns.ts';
import { serveApp, type ServedApp } from '../toolkit/stack/app.ts';
import { rowCounts, testDatabase } from '../toolkit/stack/database.ts';

const mailToken = 'a-token-of-the-operator';
const largest = 262_144;
const mark = Buffer.from([0xef, 0xbb, 0xbf]);
const marked = (text: string) => Buffer.concat([mark, Buffer.from(text)]);

describe('bodies of notices', () => {
  let api: ServedApp;
  let sns: FakeSns;
  before(async () => {
    sns = await fakeSns();
    api = await serveApp({
      env: { MAIL_NOTICE_TOKEN: mailToken, STRIPE_WEBHOOK_SECRET: webhookSecret },
      deps: (usual) => {
        const mailNotices = { ...usual.deps.mailNotices, sns: createSnsGuard(snsTopic, sns.getText) };
        return { ...usual, deps: { ...usual.deps, mailNotices } };
      },
    });
  });
  after(() => api.close());

  const post = (path: string, options: Call) => callAt(api.base, 'POST', path, options);
  const sign = (raw: string | Buffer, secret = webhookSecret) => {
    const at = Math.floor(Date.now() / 1_000);
    const hmac = createHmac('sha256', secret).update(`${at}.`).update(raw).digest('hex');
    return { 'stripe-signature': `t=${at},v1=${hmac}` };
  };
  const event = () =>
    JSON.stringify(billingEvents.checkout({ customer: `cus_${newId()}`, subscription: `sub_${newId()}` }));
  const mailEvents = JSON.stringify({ events: [{ kind: 'delivered', at: '2026-03-02T09:15:02Z', mail_id: newId() }] });
  /** For each path: a function that sends a body as a known sender. */
  const known: Record<string, (raw: string | Buffer) => Promise<Answer>> = {
    async sales(raw) {
      const { platform, token } = await buildSalesConnection((await buildClub()).id);
      return post(`/webhooks/${platform}/${token}`, { raw });
    },
    billing: (raw) => post('/webhooks/billing', { raw, headers: sign(raw) }),
    mail: (raw) => post(`/webhooks/mail/${mailToken}`, { raw }),
    ses: (raw) => post(`/webhooks/ses/${mailToken}`, { raw, headers: { 'content-type': 'text/plain' } }),
  };
  const good: Record<string, () => string> = {
    sales: () => '{"event":"x"}',
    billing: event,
    mail: () => mailEvents,
    ses: () => sns.post({ Message: sesReport('Delivery', new Date(), {}) }),
  };

  for (const path of Object.keys(known)) {
    const send = (raw: string | Buffer) => known[path]?.(raw) ?? Promise.reject(new Error(`Unknown path ${path}`));
    const fits = () => good[path]?.() ?? '';

    it(`may begin with a byte-order mark: ${path}`, async () => {
      expect((await send(marked(fits()))).status).to.equal(202);
    });

    it(`may have 262,144 bytes, but not one byte more: ${path}`, async () => {
      expect((await send(fits().padEnd(largest, ' '))).status).to.equal(202);
      const before = path === 'sales' ? undefined : await rowCounts();
      expectError(await send(fits().padEnd(largest + 1, ' ')), 'body_too_large');
      if (before) expect(await rowCounts()).to.deep.equal(before);
    });

    it(`cause malformed_request if their JSON is unreadable: ${path}`, async () => {
      const text = fits();
      await eachCase(
        [
          text.slice(0, -1),
          Buffer.from(text, 'utf16le'),
          Buffer.from(`\uFEFF${text}`, 'utf16le'),
          Buffer.from([0x7b, 0xff, 0x7d]),
          '['.repeat(largest),
          `{"a":${'['.repeat(64)}${']'.repeat(64)}}`,
          `{"a":[${'1,'.repeat(10_000)}1]}`,
          `{${Array.from({ length: 10_002 }, (_, index) => `"${index}":1`).join(',')}}`,
          '[]',
          'null',
        ],
        async (raw) => {
          // The payment processor signs only text. Bytes that are not valid text therefore have no valid signature.
          const isText = typeof raw === 'string' || isUtf8(raw);
          expectError(await send(raw), path === 'billing' && !isText ? 'signature_invalid' : 'malformed_request');
        },
      );
    });
  }

  it('are returned by the API without the byte-order mark of the sender', async () => {
    const shop = await buildShop();
    const text = JSON.stringify(purchaseNotice(shop, 'paid'));
    await post(`/webhooks/generic/${shop.connection.token}`, { raw: marked(text) });
    const source = await testDatabase();
    const [row] = await source.query<{ id: string }[]>(`SELECT id FROM sales_notices WHERE connection_id = $1`, [
      shop.connection.id,
    ]);
    await stepNotice(row?.id ?? '');
    expect(await noticeRow(row?.id ?? '')).to.include({ status: 'processed', errorCode: null, attemptCount: 1 });
    const answer = await callAt(api.base, 'GET', `/v1/clubs/${shop.club.id}/sales-notices/${row?.id}`, {
      token: shop.club.owner.token,
    });
    expect(answer.body.data.body).to.equal(text);
  });

  it('have no valid billing signature if a byte-order mark is added after the signature', async () => {
    const text = event();
    expectError(
      await post('/webhooks/billing', { raw: marked(text), headers: { 'stripe-signature': signatureOf(text) } }),
      'signature_invalid',
    );
  });

  describe('bodies of an unknown sender', () => {
    const strangers = {
      'an unknown token of a sales platform': ['/webhooks/generic/nobody', 'not_found', 'application/json'],
      'another platform': ['/webhooks/nowhere/nobody', 'not_found', 'application/json'],
      'a wrong token of mail events': ['/webhooks/mail/wrong', 'not_found', 'application/json'],
      'a wrong token of SES': ['/webhooks/ses/wrong', 'not_found', 'text/plain'],
    } as const;

    for (const [who, [path, code, type]] of Object.entries(strangers)) {
      it(`get the same answer for any content: ${who}`, async () => {
        const before = await rowCounts();
        await eachCase(
          ['{', '['.repeat(largest), ' '.repeat(2 * largest), '{"event":"x"}', gzipSync('x')],
          async (raw) => expectError(await post(path, { raw, headers: { 'content-type': type } }), code),
        );
        expect(await rowCounts()).to.deep.equal(before);
      });

      it(`get an answer before the whole body has arrived: ${who}`, async () => {
        const { hostname, port } = new URL(api.base);
        const socket = connect(Number(port), hostname);
        const answer = new Promise<string>((resolve, reject) => {
          socket.once('data', (chunk) => resolve(chunk.toString('latin1')));
          socket.once('error', reject);
          socket.setTimeout(5_000, () => reject(new Error('No answer arrived within 5 s')));
        });
        socket.write(
          `POST ${path} HTTP/1.1\r\nHost: ${hostname}\r\nContent-Type: ${type}\r\nContent-Length: 200000\r\n\r\n{`,
        );
        expect(await answer).to.match(/^HTTP\/1\.1 404 /);
        socket.destroy();
      });
    }

    it('are refused by billing with signature_invalid before they are parsed', async () => {
      await eachCase(['{', '['.repeat(largest), '{"a":1}', Buffer.from([0xff])], async (raw) =>
        expectError(await post('/webhooks/billing', { raw, headers: sign(raw, 'whsec_another') }), 'signature_invalid'),
      );
    });
  });
});
