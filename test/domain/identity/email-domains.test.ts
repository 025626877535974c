/** Tests which e-mail domains a club may name, and which addresses belong to them (OIDC-8). */
import { expect } from 'chai';
import { emailDomainOf, isInDomains } from '../../../domain/identity/providers/email-domains.ts';

describe('emailDomainOf', () => {
  it('returns a domain in ASCII and lower case', () => {
    expect(emailDomainOf(' Harbour.Example ')).to.equal('harbour.example');
    expect(emailDomainOf('Bücher.example')).to.equal('xn--bcher-kva.example');
    expect(emailDomainOf('mail.harbour.co.uk')).to.equal('mail.harbour.co.uk');
  });

  it('refuses public suffixes, addresses, hosts of one label and other texts', () => {
    const texts = [
      'com',
      'co.uk',
      'github.io',
      'localhost',
      '10.0.0.7',
      '[::1]',
      'a@b.example',
      'https://b.example',
      'b.example/x',
      '',
      'b..example',
      '-',
    ];
    for (const text of texts) expect(emailDomainOf(text), text).to.equal(undefined);
  });
});

describe('isInDomains', () => {
  const domains = ['harbour.example', 'xn--bcher-kva.example'];

  it('accepts addresses of exactly these domains, in any case and spelling', () => {
    for (const email of ['a@harbour.example', 'a@HARBOUR.example', 'a@bücher.example', '"a@b"@harbour.example'])
      expect(isInDomains(email, domains), email).to.equal(true);
  });

  it('refuses subdomains, longer domains and texts without an address', () => {
    for (const email of [
      'a@mail.harbour.example',
      'a@notharbour.example',
      'a@harbour.example.com',
      'harbour.example',
      '',
    ])
      expect(isInDomains(email, domains), email).to.equal(false);
  });
});
