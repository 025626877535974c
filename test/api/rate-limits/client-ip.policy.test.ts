/** Tests which address is the client's behind trusted proxies, and which addresses a limit "per IP" counts together. */
import { expect } from 'chai';
import * as fc from 'fast-check';
import { addressesCounted, clientIp, networkOf, unknownClient } from '../../../api/rate-limits/client-ip.policy.ts';

describe('client address', () => {
  const proxies = ['10.0.0.0/8', '127.0.0.1/32', 'fd00::/8'];
  /** Each row contains the title, the peer, X-Forwarded-For, the trusted networks, and the expected client. */
  const table: readonly [string, string | undefined, string | undefined, readonly string[], string][] = [
    ['is the peer without the header', '203.0.113.7', undefined, proxies, '203.0.113.7'],
    [
      'is a peer that is not a trusted proxy, for any content of the header',
      '203.0.113.7',
      '198.51.100.1',
      proxies,
      '203.0.113.7',
    ],
    ['is the peer when no proxy is trusted', '10.0.0.1', '198.51.100.1', [], '10.0.0.1'],
    ['is a trusted proxy that sends no header', '10.0.0.1', undefined, proxies, '10.0.0.1'],
    ['is a trusted proxy that sends an empty header', '10.0.0.1', '', proxies, '10.0.0.1'],
    ['is the hop that a trusted proxy names', '10.0.0.1', '198.51.100.1', proxies, '198.51.100.1'],
    [
      'is the last untrusted address, because the client may forge all earlier addresses',
      '10.0.0.1',
      '1.1.1.1, 198.51.100.1',
      proxies,
      '198.51.100.1',
    ],
    [
      'is the hop behind a chain of trusted proxies',
      '10.0.0.1',
      '1.1.1.1, 198.51.100.1,10.9.9.9 , 10.0.0.2',
      proxies,
      '198.51.100.1',
    ],
    ['is the farthest hop when all are trusted', '10.0.0.1', '10.0.0.3, 10.0.0.2', proxies, '10.0.0.3'],
    ['is the last hop before an invalid entry', '10.0.0.1', '198.51.100.1, garbage, 10.0.0.2', proxies, '10.0.0.2'],
    ['is the peer when the nearest entry is invalid', '10.0.0.1', '198.51.100.1, unknown', proxies, '10.0.0.1'],
    ['is the peer when the nearest entry is empty', '10.0.0.1', '198.51.100.1,', proxies, '10.0.0.1'],
    ['is the peer when the nearest entry has a port', '10.0.0.1', '198.51.100.1:443', proxies, '10.0.0.1'],
    ['is the peer when the nearest entry is a shortened IPv4 address', '10.0.0.1', '10.2', proxies, '10.0.0.1'],
    [
      'is the peer when the nearest entry is an octal IPv4 address',
      '10.0.0.1',
      '0x7f.0.0.1, 012.0.0.1',
      proxies,
      '10.0.0.1',
    ],
    ['is the peer when the nearest entry is a number', '10.0.0.1', '2130706433', proxies, '10.0.0.1'],
    [
      'is the hop behind a trusted peer in IPv4-mapped form',
      '::ffff:10.0.0.1',
      '198.51.100.1',
      proxies,
      '198.51.100.1',
    ],
    ['is the IPv4 address of a hop in IPv4-mapped form', '10.0.0.1', '::ffff:198.51.100.1', proxies, '198.51.100.1'],
    [
      'is the IPv4 address of a peer in hexadecimal IPv4-mapped form',
      '::ffff:cb00:7107',
      undefined,
      proxies,
      '203.0.113.7',
    ],
    ['is an IPv6 client behind an IPv6 proxy', 'fd00::1', '2001:DB8:0:0::1', proxies, '2001:db8::1'],
    [
      'is an IPv6 peer when only IPv4 networks are trusted',
      '2001:db8::1',
      '198.51.100.1',
      ['0.0.0.0/0'],
      '2001:db8::1',
    ],
    ['is a link-local peer address without its zone', 'fe80::1%eth0', undefined, proxies, 'fe80::1'],
    [
      'is unknown if the connection has no peer address',
      undefined,
      '198.51.100.1',
      ['0.0.0.0/0', '::/0'],
      unknownClient,
    ],
    ['is unknown when the peer has no IP address', '', '198.51.100.1', ['0.0.0.0/0', '::/0'], unknownClient],
  ];
  for (const [title, peer, header, trusted, client] of table) {
    it(title, () => {
      expect(clientIp(peer, header, trusted)).to.equal(client);
    });
  }

  it('does not depend on values that the client itself writes into X-Forwarded-For', () => {
    const claim = fc.oneof(
      fc.string(),
      fc.ipV4(),
      fc.ipV6(),
      fc.constantFrom('10.0.0.9', '127.0.0.1', ',', ' ', 'fd00::2'),
    );
    fc.assert(
      fc.property(fc.array(claim), (claims) => {
        const header = [...claims, '198.51.100.1', '10.0.0.2'].join(',');
        expect(clientIp('10.0.0.1', header, proxies)).to.equal('198.51.100.1');
        expect(clientIp('198.51.100.1', header, proxies)).to.equal('198.51.100.1');
      }),
    );
  });
});

describe('the counter key of a limit per IP', () => {
  const subjectsOf = (ip: string) => addressesCounted(ip).map(({ subject, times }) => `${subject} x${times}`);

  it('is each IPv4 address alone', () => {
    expect(subjectsOf('203.0.113.7')).to.deep.equal(['203.0.113.7 x1']);
    expect(subjectsOf('203.0.113.8')).to.deep.equal(['203.0.113.8 x1']);
  });

  it('is the /64 network of an IPv6 address, and the /48 network with ten times the limit (DEC-30)', () => {
    const networks = ['2001:db8:1:2::/64 x1', '2001:db8:1::/48 x10'];
    expect(subjectsOf('2001:db8:1:2:3:4:5:6')).to.deep.equal(networks);
    expect(subjectsOf('2001:db8:1:2:ffff::1')).to.deep.equal(networks);
    expect(subjectsOf('2001:db8:1:3::1')).to.deep.equal(['2001:db8:1:3::/64 x1', '2001:db8:1::/48 x10']);
    expect(subjectsOf('2001:db8:2:2::1')).to.deep.equal(['2001:db8:2:2::/64 x1', '2001:db8:2::/48 x10']);
    expect(subjectsOf('fe80::1%eth0')).to.deep.equal(subjectsOf('fe80::2%eth1'));
  });

  it('is the IPv4 address of an IPv4-mapped IPv6 address', () => {
    expect(subjectsOf('::ffff:203.0.113.7')).to.deep.equal(['203.0.113.7 x1']);
    expect(subjectsOf('::ffff:cb00:7107')).to.deep.equal(['203.0.113.7 x1']);
  });

  it('is one value for all clients without a readable address', () => {
    expect(subjectsOf(unknownClient)).to.deep.equal([`${unknownClient} x1`]);
  });
});

describe('networkOf', () => {
  it('returns the /24 of an IPv4 address and the /48 of an IPv6 address', () => {
    expect(networkOf('203.0.113.7')).to.equal('203.0.113.0/24');
    expect(networkOf('203.0.113.255')).to.equal('203.0.113.0/24');
    expect(networkOf('203.0.114.0')).to.equal('203.0.114.0/24');
    expect(networkOf('2001:db8:1:ffff::9')).to.equal('2001:db8:1::/48');
    expect(networkOf('2001:db8:2::1')).to.equal('2001:db8:2::/48');
    expect(networkOf('fe80::1%eth0')).to.equal('fe80::/48');
  });

  it('returns the network of the IPv4 address that an IPv6 address contains', () => {
    expect(networkOf('::ffff:203.0.113.7')).to.equal('203.0.113.0/24');
  });

  it('returns a text unchanged if it is not an address', () => {
    expect(networkOf(unknownClient)).to.equal(unknownClient);
  });
});
