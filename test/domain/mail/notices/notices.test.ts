import { expect } from 'chai';
import { mailIdIn, providerIdIn } from '../../../../domain/mail/notices/mail-event.policy.ts';
import { identifyingHeaders } from '../../../../domain/mail/notices/marks.policy.ts';
import { readSesReport } from '../../../../domain/mail/notices/ses.policy.ts';
import { createSnsGuard, readSnsMessage } from '../../../../domain/mail/notices/sns.ts';
import { DomainError } from '../../../../platform/core/errors.ts';
import { newId } from '../../../../platform/core/ids.ts';
import { eachCase } from '../../../toolkit/assert/each-case.ts';
import { fakeSns, sesReport, snsTopic, type FakeSns } from '../../../toolkit/fakes/sns.ts';

const now = new Date();
const day = 86_400_000;

describe('the identification of a mail in a notice (CAMP-15)', () => {
  const mailId = newId();

  it('uses the first valid id', () => {
    expect(mailIdIn(mailId.toUpperCase())).to.equal(mailId);
    expect(mailIdIn(undefined, `<${mailId}@news.example>`)).to.equal(mailId);
    expect(mailIdIn(` ${mailId}@news.example `)).to.equal(mailId);
    expect(mailIdIn('x', newId(), mailId)).not.to.equal(mailId);
    for (const none of ['', 'x', `${mailId}0`, `x${mailId}@news.example`, `<${mailId}>x`])
      expect(mailIdIn(none), none).to.equal(undefined);
  });

  it('is sent as a tag for SES, and as a header for other providers', () => {
    expect(identifyingHeaders(mailId, { providers: [], returnAddress: undefined })).to.deep.equal({
      'X-SES-MESSAGE-TAGS': `mail_id=${mailId}`,
      'X-Club-Mail-Id': mailId,
    });
  });

  it('reads the id in the reply of the mail server', () => {
    const replies: Record<string, string | undefined> = {
      '250 Ok 0102018f5e8a1b2c-3d4e5f60-1111-2222-3333-444455556666-000000':
        '0102018f5e8a1b2c-3d4e5f60-1111-2222-3333-444455556666-000000',
      '250 2.0.0 Ok: queued as 4F5C11A2B3': '4F5C11A2B3',
      '250 2.0.0 OK  1758530000 d2e1a72fcca58-77f2d3f8a11si123456b3a.12 - gsmtp': undefined,
      '250 OK id=1rABCD-0001xy-2z': '1rABCD-0001xy-2z',
      '250 Ok <4F5C11A2B3> ': '4F5C11A2B3',
      '250 Ok 4F5C11A2B3/2': undefined,
      '451 4.4.2 no 250 Ok 4F5C11A2B3': undefined,
      '250 ok': undefined,
      '250 Message accepted': undefined,
    };
    for (const [reply, id] of Object.entries(replies)) expect(providerIdIn(reply), reply).to.equal(id);
  });
});

describe('reports of SES (CAMP-15)', () => {
  const mailId = newId();
  const at = new Date('2026-03-02T09:15:00.123Z');

  it('identify the mail by tag, header or Message-ID', () => {
    for (const by of ['tag', 'header', 'message-id'] as const)
      expect(readSesReport(sesReport('Delivery', at, { mailId, providerId: 'ses-1', by }), now)).to.deep.equal({
        kind: 'delivered',
        at,
        mailId,
        providerId: by === 'message-id' ? 'ses-1' : undefined,
      });
  });

  it('ignore headers and ids that are not texts', () => {
    const headers = [{ name: 3, value: mailId }, { value: mailId }, null, { name: 'X-Club-Mail-Id', value: mailId }];
    const report = { eventType: 'Delivery', mail: { headers, messageId: 7 } };
    expect(readSesReport(JSON.stringify(report), now)).to.deep.equal({
      kind: 'delivered',
      at: now,
      mailId,
      providerId: undefined,
    });
  });

  it('become a bounce, a soft bounce or a complaint, depending on their type', () => {
    const kindOf = (bounceType: string) => readSesReport(sesReport('Bounce', at, { mailId, bounceType }), now)?.kind;
    expect(['Permanent', 'Transient', 'Undetermined'].map(kindOf)).to.deep.equal([
      'bounced',
      'soft_bounced',
      'soft_bounced',
    ]);
    expect(readSesReport(sesReport('Complaint', at, { mailId }), now)?.kind).to.equal('complained');
  });

  it('are ignored if they are invalid or report an opening', () => {
    expect(readSesReport(sesReport('Open', at, { mailId }), now)).to.equal(undefined);
    for (const none of [
      '',
      'Successfully validated SNS topic',
      'null',
      '[]',
      '{"eventType":"toString"}',
      '{"eventType":3}',
    ])
      expect(readSesReport(none, now), none).to.equal(undefined);
    expect(readSesReport('{"eventType":"Delivery"}', now)).to.deep.equal({
      kind: 'delivered',
      at: now,
      mailId: undefined,
      providerId: undefined,
    });
  });
});

describe('messages of SNS (CAMP-15)', () => {
  let sns: FakeSns;
  before(async () => {
    sns = await fakeSns();
  });
  const guard = () => createSnsGuard(snsTopic, sns.getText);
  const verify = (text: string, at = now) => guard().verify(readSnsMessage(Buffer.from(text)), at);
  const refusal = async (work: Promise<unknown>) => {
    try {
      await work;
    } catch (error) {
      return error instanceof DomainError ? error.code : 'another error';
    }
    return 'believed';
  };

  it('are accepted with both versions of the signature', async () => {
    for (const SignatureVersion of ['1', '2'] as const)
      for (const Type of ['Notification', 'SubscriptionConfirmation', 'UnsubscribeConfirmation'] as const)
        expect(await refusal(verify(sns.post({ Type, SignatureVersion }))), `${Type} ${SignatureVersion}`).to.equal(
          'believed',
        );
    expect(
      await refusal(verify(sns.post({ Subject: 'Amazon SES Email Event Notification', Message: 'é\n{}' }))),
    ).to.equal('believed');
  });

  it('need only one fetch of the certificate for three messages', async () => {
    const one = guard();
    sns.asked.length = 0;
    for (let count = 0; count < 3; count++) await one.verify(readSnsMessage(Buffer.from(sns.post({}))), now);
    expect(sns.asked).to.deep.equal([sns.certificateUrl]);
  });

  it('are refused if any signed value was changed', async () => {
    const changes: Record<string, string>[] = [
      { Message: '{"eventType":"Bounce"}' },
      { MessageId: 'other' },
      { Timestamp: '2026-01-01T00:00:00.000Z' },
      { SignatureVersion: '1' },
      { Signature: '' },
      { Signature: '%%%' },
    ];
    const good = JSON.parse(sns.post({})) as object;
    await eachCase(changes, async (change) => {
      expect(await refusal(verify(JSON.stringify({ ...good, ...change })))).to.equal('signature_invalid');
    });
  });

  it('are refused for another topic, even with a valid signature', async () => {
    expect(await refusal(verify(sns.post({ TopicArn: `${snsTopic}2` })))).to.equal('signature_invalid');
  });

  it('are refused with a certificate that has expired or is not valid yet', async () => {
    expect(await refusal(verify(sns.post({}), new Date(now.getTime() + 3 * day)))).to.equal('signature_invalid');
    expect(await refusal(verify(sns.post({}), new Date(now.getTime() - 3 * day)))).to.equal('signature_invalid');
  });

  it('are refused before any fetch if an address does not belong to SNS', async () => {
    sns.asked.length = 0;
    const file = '/SimpleNotificationService-0.pem';
    for (const SigningCertURL of [
      `http://sns.eu-west-1.amazonaws.com${file}`,
      `https://sns.eu-west-1.amazonaws.com.evil.example${file}`,
      `https://evil.example${file}`,
      `https://sns.eu-west-1.amazonaws.com:8443${file}`,
      `https://me@sns.eu-west-1.amazonaws.com${file}`,
      `https://sns.eu-west-1.amazonaws.com@evil.example${file}`,
      `https://sns.a.b.amazonaws.com${file}`,
      `https://bucket.s3.amazonaws.com${file}`,
      'https://sns.eu-west-1.amazonaws.com/other.pem',
      'https://sns.eu-west-1.amazonaws.com/?x=/SimpleNotificationService-0.pem',
      '127.0.0.1',
    ])
      expect(await refusal(verify(sns.post({ SigningCertURL }))), SigningCertURL).to.equal('signature_invalid');
    for (const SubscribeURL of [
      'https://evil.example/?Action=ConfirmSubscription&Token=1',
      'https://sns.eu-west-1.amazonaws.com/?Action=Publish&x=1',
    ])
      expect(
        await refusal(
          guard().confirm(readSnsMessage(Buffer.from(sns.post({ Type: 'SubscriptionConfirmation', SubscribeURL })))),
        ),
        SubscribeURL,
      ).to.equal('signature_invalid');
    expect(sns.asked).to.deep.equal([]);
  });

  it('are malformed if a signed value is missing', () => {
    const good = JSON.parse(sns.post({ Type: 'SubscriptionConfirmation' })) as Record<string, unknown>;
    const bad = [
      '',
      'null',
      '[]',
      '{}',
      ...Object.keys(good).map((name) => JSON.stringify({ ...good, [name]: undefined })),
      JSON.stringify({ ...good, SignatureVersion: '3' }),
      JSON.stringify({ ...good, Type: 'Other' }),
    ];
    for (const text of bad)
      expect(() => readSnsMessage(Buffer.from(text)), text)
        .to.throw(DomainError)
        .with.property('code', 'malformed_request');
  });
});
