import { expect } from 'chai';
import {
  dkimState,
  dmarcNames,
  dmarcState,
  recordsOf,
  spfState,
} from '../../../../domain/mail/domains/records.policy.ts';

describe('the records of a mail domain (CAMP-40)', () => {
  const own = { domain: 'mail.knots.example', selector: 'k1', publicKey: 'AAAA' };

  it('are a DKIM key, a DMARC policy, and an SPF record if the platform names its mail servers', () => {
    expect(recordsOf(own, 'spf.platform.example')).to.deep.equal([
      { kind: 'dkim', name: 'k1._domainkey.mail.knots.example', value: 'v=DKIM1; k=rsa; p=AAAA' },
      { kind: 'spf', name: 'mail.knots.example', value: 'v=spf1 include:spf.platform.example ~all' },
      { kind: 'dmarc', name: '_dmarc.mail.knots.example', value: 'v=DMARC1; p=none' },
    ]);
    expect(recordsOf(own, undefined).map(({ kind }) => kind)).to.deep.equal(['dkim', 'dmarc']);
  });

  for (const [texts, state] of [
    [[], 'missing'],
    [['google-site-verification=x'], 'missing'],
    [['v=DKIM1; k=rsa; p=AAAA'], 'ok'],
    [['p=AA  AA'], 'ok'],
    [['v=DKIM1; p=AAAA; px;'], 'ok'],
    [['v=DKIM2; p=AAAA'], 'missing'],
    [['v=DKIM1;h=sha1:sha256;s=email;t=s;p=AAAA'], 'ok'],
    [['v=DKIM1; p='], 'wrong'],
    [['v=DKIM1; p=BBBB'], 'wrong'],
    [['v=DKIM1; k=ed25519; p=AAAA'], 'wrong'],
    [['v=DKIM1; h=sha1; p=AAAA'], 'wrong'],
    [['v=DKIM1; s=tlsrpt; p=AAAA'], 'wrong'],
    [['v=DKIM1; t=y; p=AAAA'], 'wrong'],
    [['v=DKIM1; p=AAAA', 'v=DKIM1; p=BBBB'], 'wrong'],
  ] as const)
    it(`contain a key with the state ${state} if the texts are ${JSON.stringify(texts)}`, () =>
      expect(dkimState(texts, 'AAAA')).to.equal(state));

  for (const [texts, state] of [
    [[], 'missing'],
    [['v=spf10 include:spf.platform.example'], 'missing'],
    [['not v=spf1 include:spf.platform.example'], 'missing'],
    [['v=spf1'], 'wrong'],
    [['v=spf1  include:other.example include:spf.platform.example -all'], 'ok'],
    [['V=SPF1 +include:SPF.platform.example'], 'ok'],
    [['v=spf1 redirect=spf.platform.example'], 'ok'],
    [['v=spf1 -include:spf.platform.example ~all'], 'wrong'],
    [['v=spf1 include:spf.platform.example.evil ~all'], 'wrong'],
    [['v=spf1 include:spf.platform.example', 'v=spf1 -all'], 'wrong'],
  ] as const)
    it(`contain a list of servers with the state ${state} if the texts are ${JSON.stringify(texts)}`, () =>
      expect(spfState(texts, 'spf.platform.example')).to.equal(state));

  for (const [texts, state] of [
    [[], 'missing'],
    [['v=DMARC10; p=none'], 'missing'],
    [['p=none; v=DMARC1'], 'missing'],
    [['v=DMARC1'], 'wrong'],
    [['v = DMARC1 ; p = none'], 'ok'],
    [['v=DMARC1; p=reject; adkim=s'], 'ok'],
    [['v=DMARC1;p=none'], 'ok'],
    [['v=DMARC1; sp=none'], 'wrong'],
    [['v=DMARC1; p=all'], 'wrong'],
    [['v=DMARC1; p=none', 'v=DMARC1; p=none'], 'wrong'],
  ] as const)
    it(`contain a policy with the state ${state} if the texts are ${JSON.stringify(texts)}`, () =>
      expect(dmarcState(texts)).to.equal(state));

  it('include a policy of the domain or of any parent, except the top-level domain', () => {
    expect(dmarcNames('mail.knots.example')).to.deep.equal(['_dmarc.mail.knots.example', '_dmarc.knots.example']);
  });
});
