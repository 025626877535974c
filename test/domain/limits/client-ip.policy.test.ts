/** The client's address behind trusted proxies, and what a limit "per IP" counts. */
import { expect } from 'chai';
import * as fc from 'fast-check';
import { addressCounted, clientIp, unknownClient } from '../../../domain/limits/client-ip.policy.ts';

describe('the client address', () => {
  const proxies = ['10.0.0.0/8', '127.0.0.1/32', 'fd00::/8'];
  /** [title, peer, X-Forwarded-For, trusted networks, client] */
  const table: readonly [string, string | undefined, string | undefined, readonly string[], string][] = [
    ['the peer, without the header', '203.0.113.7', undefined, proxies, '203.0.113.7'],
    [
      'the peer, when it is no trusted proxy, whatever it claims',
      '203.0.113.7',
      '198.51.100.1',
      proxies,
      '203.0.113.7',
    ],
    ['the peer, when no proxy is trusted', '10.0.0.1', '198.51.100.1', [], '10.0.0.1'],
    ['a trusted proxy without the header is the client', '10.0.0.1', undefined, proxies, '10.0.0.1'],
    ['a trusted proxy with an empty header is the client', '10.0.0.1', '', proxies, '10.0.0.1'],
    ['the hop that a trusted proxy names', '10.0.0.1', '198.51.100.1', proxies, '198.51.100.1'],
    [
      'the rightmost hop that is not trusted; the left is the client’s own claim',
      '10.0.0.1',
      '1.1.1.1, 198.51.100.1',
      proxies,
      '198.51.100.1',
    ],
    [
      'a chain of trusted proxies is walked',
      '10.0.0.1',
      '1.1.1.1, 198.51.100.1,10.9.9.9 , 10.0.0.2',
      proxies,
      '198.51.100.1',
    ],
    ['only trusted hops: the farthest', '10.0.0.1', '10.0.0.3, 10.0.0.2', proxies, '10.0.0.3'],
    ['garbage ends the walk', '10.0.0.1', '198.51.100.1, garbage, 10.0.0.2', proxies, '10.0.0.2'],
    ['garbage next to the peer leaves the peer', '10.0.0.1', '198.51.100.1, unknown', proxies, '10.0.0.1'],
    ['an empty entry is garbage', '10.0.0.1', '198.51.100.1,', proxies, '10.0.0.1'],
    ['an entry with a port is garbage', '10.0.0.1', '198.51.100.1:443', proxies, '10.0.0.1'],
    ['shortened IPv4 is garbage', '10.0.0.1', '10.2', proxies, '10.0.0.1'],
    ['octal and hexadecimal IPv4 are garbage', '10.0.0.1', '0x7f.0.0.1, 012.0.0.1', proxies, '10.0.0.1'],
    ['a number is garbage', '10.0.0.1', '2130706433', proxies, '10.0.0.1'],
    ['a peer as IPv4-mapped IPv6 is the IPv4 proxy', '::ffff:10.0.0.1', '198.51.100.1', proxies, '198.51.100.1'],
    ['a hop as IPv4-mapped IPv6 is the IPv4 address', '10.0.0.1', '::ffff:198.51.100.1', proxies, '198.51.100.1'],
    ['IPv4-mapped in hexadecimal too', '::ffff:cb00:7107', undefined, proxies, '203.0.113.7'],
    ['an IPv6 proxy and an IPv6 client', 'fd00::1', '2001:DB8:0:0::1', proxies, '2001:db8::1'],
    ['an IPv4 network does not contain an IPv6 address', '2001:db8::1', '198.51.100.1', ['0.0.0.0/0'], '2001:db8::1'],
    ['the zone of a link-local peer is left out', 'fe80::1%eth0', undefined, proxies, 'fe80::1'],
    ['no peer', undefined, '198.51.100.1', ['0.0.0.0/0', '::/0'], unknownClient],
    ['a peer that is no address', '', '198.51.100.1', ['0.0.0.0/0', '::/0'], unknownClient],
  ];
  for (const [title, peer, header, trusted, client] of table) {
    it(title, () => {
      expect(clientIp(peer, header, trusted)).to.equal(client);
    });
  }

  it('nothing that a client writes into the header changes who it is', () => {
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

describe('what a limit per IP counts', () => {
  it('an IPv4 address', () => {
    expect(addressCounted('203.0.113.7')).to.equal('203.0.113.7');
    expect(addressCounted('203.0.113.8')).to.equal('203.0.113.8');
  });

  it('the /64 of an IPv6 address', () => {
    expect(addressCounted('2001:db8:1:2:3:4:5:6')).to.equal('2001:db8:1:2::/64');
    expect(addressCounted('2001:db8:1:2:ffff::1')).to.equal('2001:db8:1:2::/64');
    expect(addressCounted('2001:db8:1:3::1')).to.equal('2001:db8:1:3::/64');
    expect(addressCounted('fe80::1%eth0')).to.equal(addressCounted('fe80::2%eth1'));
  });

  it('IPv4-mapped IPv6 as the IPv4 address', () => {
    expect(addressCounted('::ffff:203.0.113.7')).to.equal('203.0.113.7');
    expect(addressCounted('::ffff:cb00:7107')).to.equal('203.0.113.7');
  });

  it('clients without a readable address together', () => {
    expect(addressCounted(unknownClient)).to.equal(unknownClient);
  });
});
