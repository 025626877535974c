import { expect } from 'chai';
import { readPostmarkNotice } from '../../../../domain/mail/notices/providers/postmark.ts';
import { readBrevoNotice } from '../../../../domain/mail/notices/providers/brevo.ts';
import { sendgridKeyIn } from '../../../../domain/mail/notices/providers/sendgrid.ts';
import { kindOf, mailProviders, providerWords } from '../../../../domain/mail/notices/providers/words.policy.ts';
import { envelopeSenderOf, identifyingHeaders, mailIdOfAddress } from '../../../../domain/mail/notices/marks.policy.ts';
import { newId } from '../../../../platform/core/ids.ts';
import { providerSettings } from '../../../toolkit/builders/provider-keys.ts';

describe('the words of mail providers (BNC-1)', () => {
  it('have all four meanings for each provider', () => {
    for (const provider of [...mailProviders, 'ses', 'report'] as const)
      expect(Object.values(providerWords[provider]), provider).to.include.members([
        'delivered',
        'bounced',
        'soft_bounced',
        'complained',
      ]);
  });

  it('are read from the longest to the shortest, and ignored if they are unknown', () => {
    expect(kindOf('mailgun', 'failed permanent old', 'failed permanent', 'failed')).to.equal('soft_bounced');
    expect(kindOf('mailgun', 'failed permanent bounce', 'failed permanent', 'failed')).to.equal('bounced');
    expect(kindOf('mailgun', 'failed permanent suppress-complaint', 'failed permanent', 'failed')).to.equal(undefined);
    expect(kindOf('sendgrid', 'dropped Spam Reporting Address', 'dropped')).to.equal(undefined);
    expect(kindOf('postmark', 'Bounce Unheard', 'Bounce')).to.equal(undefined);
    for (const word of ['', 'unheard', 'constructor', '__proto__', 'toString'])
      for (const provider of mailProviders) expect(kindOf(provider, word), word).to.equal(undefined);
  });

  it('leave out events without a time, because a repetition would be a second event', () => {
    const notice = (body: object) => ({ raw: Buffer.from(JSON.stringify(body)), header: () => '', now: new Date() });
    for (const BouncedAt of [undefined, '', 'yesterday', 7, '2026-02-30T00:00:00Z'])
      expect(readPostmarkNotice(notice({ RecordType: 'Bounce', Type: 'SoftBounce', BouncedAt })).events).to.deep.equal(
        [],
      );
    for (const time of [undefined, 0, -1, '1e3', 'NaN', 1e300])
      expect(readBrevoNotice(notice({ event: 'soft_bounce', ts_event: time })).events).to.deep.equal([]);
  });
});

describe('the marks of a mail (BNC-5)', () => {
  const mailId = newId();

  it('are the headers that each configured provider returns', () => {
    expect(identifyingHeaders(mailId, { providers: mailProviders, returnAddress: undefined })).to.deep.equal({
      'X-SES-MESSAGE-TAGS': `mail_id=${mailId}`,
      'X-Club-Mail-Id': mailId,
      'X-PM-Metadata-mail-id': mailId,
      'X-Mailgun-Variables': `{"mail_id":"${mailId}"}`,
      'X-SMTPAPI': `{"unique_args":{"mail_id":"${mailId}"}}`,
      'X-Mailin-custom': mailId,
    });
  });

  it('include a sender of the envelope for each mail, within the limits of SMTP', () => {
    const returnAddress = `${'b'.repeat(27)}@mail.example.com`;
    const sender = envelopeSenderOf(mailId, { providers: [], returnAddress }, 'news@example.com');
    expect(sender).to.equal(`${'b'.repeat(27)}+${mailId}@mail.example.com`);
    expect(sender.indexOf('@')).to.equal(64);
    expect(mailIdOfAddress(sender)).to.equal(mailId);
    expect(mailIdOfAddress(returnAddress)).to.equal(undefined);
    expect(envelopeSenderOf(mailId, { providers: [], returnAddress: undefined }, 'news@example.com')).to.equal(
      'news@example.com',
    );
  });
});

describe('the verification key of SendGrid (BNC-3)', () => {
  it('must be a public key of the curve P-256', () => {
    expect(sendgridKeyIn(providerSettings.SENDGRID_VERIFICATION_KEY)).not.to.equal(undefined);
    for (const key of ['', 'AAAA', providerSettings.SENDGRID_VERIFICATION_KEY.slice(8), 'not base64!'])
      expect(sendgridKeyIn(key), key).to.equal(undefined);
  });
});
