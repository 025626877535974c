/** Tests how the setting of identity providers is read (OIDC-3). */
import { expect } from 'chai';
import { deploymentProviderId, isIssuer, parseProviders } from '../../../../platform/infra/openid/settings.ts';

const provider = {
  key: 'group',
  name: 'Harbour Group',
  issuer: 'https://login.example.com',
  client_id: 'club-learning',
  client_secret: 'a secret',
};
const parse = (...providers: unknown[]) => parseProviders(JSON.stringify(providers));

describe('parseProviders', () => {
  it('reads a provider with its usual scopes, and keeps the secret out of texts', () => {
    const { value, mistake } = parse(provider);
    expect(mistake).to.equal(undefined);
    expect(value[0]).to.include({
      id: deploymentProviderId('group', 'https://login.example.com'),
      scopes: 'openid email profile',
    });
    expect(JSON.stringify(value)).not.to.include('a secret');
    expect(value[0]?.clientSecret.reveal()).to.equal('a secret');
  });

  it('names each mistake without a value', () => {
    const mistakes: readonly [string, string][] = [
      ['{', 'must be JSON'],
      ['{}', 'must be a list of at most 20 providers'],
      [JSON.stringify([null]), 'must contain objects (provider 1)'],
      [
        JSON.stringify([{ ...provider, client_secret: '' }]),
        'must have texts as key, name, issuer, client_id, client_secret (provider 1)',
      ],
      [
        JSON.stringify([{ ...provider, more: 1 }]),
        'must have no fields but key, name, issuer, client_id, client_secret and scopes (provider 1)',
      ],
      [
        JSON.stringify([{ ...provider, key: 'A B' }]),
        'must have a key of lower-case letters, digits and hyphens (provider 1)',
      ],
      [
        JSON.stringify([{ ...provider, issuer: 'http://login.example.com' }]),
        'must have an https issuer without a query or a fragment (provider 1)',
      ],
      [
        JSON.stringify([{ ...provider, scopes: 'email' }]),
        'must have scopes with openid, separated by blanks (provider 1)',
      ],
      [JSON.stringify([provider, provider]), 'must not name a provider twice (provider 2)'],
    ];
    for (const [text, mistake] of mistakes) expect(parseProviders(text)).to.deep.equal({ value: [], mistake });
  });
});

describe('deploymentProviderId', () => {
  it('is a uuid that depends on the key and the issuer alone', () => {
    const id = deploymentProviderId('group', 'https://login.example.com');
    expect(id).to.match(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(deploymentProviderId('group', 'https://login.example.com')).to.equal(id);
    expect(deploymentProviderId('other', 'https://login.example.com')).not.to.equal(id);
    expect(deploymentProviderId('group', 'https://other.example.com')).not.to.equal(id);
  });
});

describe('isIssuer', () => {
  it('accepts only https without user, query, fragment and blanks', () => {
    const texts = [
      'https://a.example',
      'https://a.example/realms/x',
      'http://a.example',
      'https://a@b.example',
      'https://a.example?x',
      'https://a.example#x',
      'https://a.example/ x',
      'a',
    ];
    expect(texts.map(isIssuer)).to.deep.equal([true, true, false, false, false, false, false, false]);
  });
});
