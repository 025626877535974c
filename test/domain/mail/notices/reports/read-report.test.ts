import { expect } from 'chai';
import { readReport } from '../../../../../domain/mail/notices/reports/read-report.ts';
import { newId } from '../../../../../platform/core/ids.ts';
import { eachCase } from '../../../../toolkit/assert/each-case.ts';
import { deliveryReport, spamReport } from '../../../../toolkit/builders/mail-reports.ts';

const at = new Date('2026-03-02T09:15:07Z');

describe('reports of mail servers (BNC-6)', function () {
  this.timeout(60_000);
  const mailId = newId();
  const returned = [`X-Club-Mail-Id: ${mailId}`, `Message-ID: <${newId()}@platform.example>`];
  const read = (text: string | Buffer) => readReport(Buffer.from(text as string));
  const event = (kind: string) => ({ events: [{ kind, at, mailId, providerId: undefined }] });

  it('say by their status whether the address does not exist, or the mail was refused for another reason', async () => {
    const statuses: Record<string, string> = {
      '5.1.1': 'bounced',
      '5.1.10': 'bounced',
      '5.2.1 (disabled)': 'bounced',
      '5.0.0': 'bounced',
      '5.2.2': 'soft_bounced',
      '5.7.1': 'soft_bounced',
      '4.4.7': 'soft_bounced',
      none: 'soft_bounced',
    };
    await eachCase(Object.entries(statuses), async ([status, kind]) =>
      expect(await read(deliveryReport({ date: at, status, returned }))).to.deep.equal(event(kind)),
    );
  });

  it('are deliveries, or without an event if the server still tries', async () => {
    const of = (action: string) => read(deliveryReport({ date: at, action, status: '2.0.0', returned }));
    expect(await of('delivered')).to.deep.equal(event('delivered'));
    expect(await of('Failed')).to.deep.equal(event('soft_bounced'));
    for (const action of ['delayed', 'relayed', 'expanded', 'unheard'])
      expect(await of(action)).to.deep.equal({ events: [] });
  });

  it('count as the mildest of several recipients, because the others are forwards', async () => {
    const others = [{ action: 'delivered', status: '2.0.0' }];
    expect(await read(deliveryReport({ date: at, others, returned }))).to.deep.equal(event('delivered'));
    expect(
      await read(deliveryReport({ date: at, others: [{ action: 'failed', status: '4.2.2' }], returned })),
    ).to.deep.equal(event('soft_bounced'));
  });

  it('name their mail by header, Message-ID, envelope id or the address of the report', async () => {
    const ways: Parameters<typeof deliveryReport>[0][] = [
      { returned },
      { returned: [`x-club-mail-id:\r\n ${mailId}`] },
      { returned: [`Message-ID: <${mailId}@platform.example>`] },
      { returned, returnedType: 'text/rfc822-headers' },
      { returned, returnedType: 'message/global-headers', statusType: 'message/global-delivery-status' },
      { returned, encoding: 'base64' },
      { envelopeId: mailId },
      { to: `bounces+${mailId}@mail.example.com` },
      { to: `"Bounces" <bounces+${mailId.toUpperCase()}@mail.example.com>`, text: 'N\u00e3o entregue \u{1f6ab}' },
    ];
    await eachCase(ways, async (way) =>
      expect(await read(deliveryReport({ date: at, ...way }))).to.deep.equal(event('bounced')),
    );
  });

  it('belong to the mail of our own header, not to the mail of another id', async () => {
    const report = deliveryReport({
      date: at,
      returned,
      envelopeId: newId(),
      to: `bounces+${newId()}@mail.example.com`,
    });
    expect(await read(report)).to.deep.equal(event('bounced'));
  });

  it('may be cut after the status, as large reports are', async () => {
    const whole = deliveryReport({ date: at, to: `bounces+${mailId}@mail.example.com` });
    expect(await read(whole.slice(0, whole.indexOf('Content-Type: message/rfc822')))).to.deep.equal(event('bounced'));
  });

  it('of spam are complaints', async () => {
    expect(await read(spamReport({ date: at, returned }))).to.deep.equal(event('complained'));
    expect(await read(spamReport({ type: 'not-spam', date: at, returned }))).to.deep.equal({ events: [] });
    expect(await read(spamReport({ type: 'virus', date: at, returned }))).to.deep.equal({ events: [] });
  });

  it('have no event without a time', async () => {
    expect(await read(deliveryReport({ date: 'yesterday', returned }))).to.deep.equal({ events: [] });
  });

  it('are not other messages', async () => {
    const report = deliveryReport({ date: at, returned });
    await eachCase(
      [
        '',
        '\r\n',
        '\0'.repeat(1_000),
        'Subject: Out of office\r\nAuto-Submitted: auto-replied\r\n\r\nI am away.',
        report.replace('multipart/report', 'multipart/mixed'),
        report.replace('message/delivery-status', 'text/plain'),
        report.replace('Action: failed\r\n', ''),
        `Content-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\nContent-Type: message/rfc822\r\n\r\n${report}\r\n--x--`,
        Buffer.from(report, 'utf16le'),
        Buffer.from(Array.from({ length: 4_096 }, (_, index) => (index * 7919) % 256)),
      ],
      async (message) => expect(await read(message)).to.deep.equal({}),
    );
  });

  it('are read within the limits of a thread, even if they are made to be large', async () => {
    const boundaries = Array.from(
      { length: 5_000 },
      (_, depth) => `Content-Type: multipart/report; boundary=b${depth}\r\n\r\n--b${depth}\r\n`,
    );
    const head = 'Content-Type: multipart/report; boundary=x\r\n\r\n';
    const status = '--x\r\nContent-Type: message/delivery-status\r\n\r\n';
    await eachCase(
      [
        boundaries.join('').slice(0, 262_144),
        `${head}${'--x\r\n\r\n'.repeat(37_000)}`,
        `${'X-A: b\r\n'.repeat(32_000)}${head}`,
        `X-A: ${'=?utf-8?q?'.repeat(20_000)}\r\n${head}`,
        `${head}${status}${'A:\r\n '.repeat(40_000)}`,
        `${head}${status}${'Action: failed\r\n\r\n'.repeat(14_000)}`,
        `To: ${'<'.repeat(100_000)}\r\n${head}${status}Action: failed\r\n`,
        `To: ${'(a, '.repeat(60_000)}\r\n${head}${status}Action: failed\r\n`,
        `${head}--x\r\nContent-Type: text/plain; charset=${'x'.repeat(1_000)}\r\nContent-Transfer-Encoding: base64\r\n\r\n${'QUJD'.repeat(50_000)}`,
      ],
      async (message) => {
        const startedAt = performance.now();
        const { events = [] } = await read(message);
        expect(events).to.deep.equal([]);
        expect(performance.now() - startedAt).to.be.below(15_000);
      },
    );
    expect(await read(deliveryReport({ date: at, returned }))).to.deep.equal(event('bounced'));
  });
});
