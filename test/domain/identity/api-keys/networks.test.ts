import { expect } from 'chai';
import { networkIn } from '../../../../domain/identity/api-keys/networks.policy.ts';

describe('the networks of an API key', () => {
  it('are stored in CIDR notation, without host bits', () => {
    const spellings = {
      '203.0.113.7': '203.0.113.7/32',
      '203.0.113.7/24': '203.0.113.0/24',
      '0.0.0.0/0': '0.0.0.0/0',
      '2001:DB8::1': '2001:db8::1/128',
      '2001:db8:1:2::/48': '2001:db8:1::/48',
      '::/0': '::/0',
    };
    for (const [text, network] of Object.entries(spellings)) expect(networkIn(text), text).to.equal(network);
  });

  it('are refused in other spellings', () => {
    const texts = ['', 'crm', '203.0.113', '203.0.113.7/33', '203.0.113.7/', '0xcb.0.113.7', '203.0.113.7/24/8', '1/8'];
    for (const text of [...texts, '2001:db8::/129', 'fe80::1%eth0', '010.0.0.1', '203.0.113.7/-1', ' 203.0.113.7'])
      expect(networkIn(text), text).to.equal(undefined);
  });
});
