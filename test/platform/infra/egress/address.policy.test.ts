import { expect } from 'chai';
import * as fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { classifyAddress, isAllowed } from '../../../../platform/infra/egress/address.policy.ts';

const addresses: readonly (readonly [string, string])[] = [
  // The first and the last IPv4 address of each range.
  ['0.0.0.0', 'unspecified'],
  ['0.255.255.255', 'unspecified'],
  ['1.0.0.0', 'public'],
  ['1.1.1.1', 'public'],
  ['8.8.8.8', 'public'],
  ['9.255.255.255', 'public'],
  ['10.0.0.0', 'private'],
  ['10.255.255.255', 'private'],
  ['11.0.0.0', 'public'],
  ['100.63.255.255', 'public'],
  ['100.64.0.0', 'carrierGradeNat'],
  ['100.127.255.255', 'carrierGradeNat'],
  ['100.128.0.0', 'public'],
  ['126.255.255.255', 'public'],
  ['127.0.0.0', 'loopback'],
  ['127.0.0.1', 'loopback'],
  ['127.255.255.255', 'loopback'],
  ['128.0.0.0', 'public'],
  ['169.253.255.255', 'public'],
  ['169.254.0.0', 'linkLocal'],
  ['169.254.255.255', 'linkLocal'],
  ['169.255.0.0', 'public'],
  ['172.15.255.255', 'public'],
  ['172.16.0.0', 'private'],
  ['172.31.255.255', 'private'],
  ['172.32.0.0', 'public'],
  ['192.0.0.0', 'reserved'],
  ['192.0.2.0', 'reserved'],
  ['192.0.2.255', 'reserved'],
  ['192.31.196.1', 'as112'],
  ['192.52.193.1', 'amt'],
  ['192.88.99.1', 'reserved'],
  ['192.167.255.255', 'public'],
  ['192.168.0.0', 'private'],
  ['192.168.255.255', 'private'],
  ['192.175.48.1', 'as112'],
  ['198.17.255.255', 'public'],
  ['198.18.0.0', 'reserved'],
  ['198.19.255.255', 'reserved'],
  ['198.20.0.0', 'public'],
  ['198.51.100.7', 'reserved'],
  ['203.0.113.7', 'reserved'],
  ['223.255.255.255', 'public'],
  ['224.0.0.0', 'multicast'],
  ['239.255.255.255', 'multicast'],
  ['240.0.0.0', 'reserved'],
  ['255.255.255.254', 'reserved'],
  ['255.255.255.255', 'broadcast'],
  // IPv6
  ['::', 'unspecified'],
  ['::1', 'loopback'],
  ['0:0:0:0:0:0:0:1', 'loopback'],
  ['2606:4700:4700::1111', 'public'],
  ['2a00:1450:4001:80b::200e', 'public'],
  ['2001:4860:4860::8888', 'public'],
  ['100::1', 'discard'],
  ['1fff:ffff::1', 'outsideGlobalUnicast'],
  ['2000::1', 'public'],
  ['4000::1', 'outsideGlobalUnicast'],
  ['5f00::1', 'segmentRouting'],
  ['fc00::1', 'uniqueLocal'],
  ['fdff:ffff::1', 'uniqueLocal'],
  ['fe80::1', 'linkLocal'],
  ['febf::1', 'linkLocal'],
  ['fec0::1', 'deprecatedSiteLocal'],
  ['ff02::1', 'multicast'],
  ['2001:db8::1', 'reserved'],
  ['3fff::1', 'reserved'],
  ['2001:2::1', 'benchmarking'],
  ['2001:20::1', 'orchid2'],
  // These forms embed an IPv4 address, each a private and a public one.
  ['::ffff:127.0.0.1', 'ipv4Mapped'],
  ['::ffff:7f00:1', 'ipv4Mapped'],
  ['::ffff:8.8.8.8', 'ipv4Mapped'],
  ['::ffff:0:127.0.0.1', 'rfc6145'],
  ['::127.0.0.1', 'ipv4Mapped'],
  ['::7f00:1', 'outsideGlobalUnicast'],
  ['::808:808', 'outsideGlobalUnicast'],
  ['64:ff9b::7f00:1', 'rfc6052'],
  ['64:ff9b::808:808', 'rfc6052'],
  ['64:ff9b:1::7f00:1', 'rfc6052'],
  ['2002:7f00:1::', '6to4'],
  ['2002:808:808::1', '6to4'],
  ['2001::7f00:1', 'teredo'],
  ['2001:0:4136:e378:8000:63bf:3fff:fdd2', 'teredo'],
  ['169.254.169.254', 'cloudMetadata'],
  ['169.254.170.2', 'cloudMetadata'],
  ['100.100.100.200', 'cloudMetadata'],
  ['168.63.129.16', 'cloudMetadata'],
  ['192.0.0.192', 'cloudMetadata'],
  ['fd00:ec2::254', 'cloudMetadata'],
  ['fd00:0ec2:0:0:0:0:0:254', 'cloudMetadata'],
  ['fd20:ce::254', 'cloudMetadata'],
  // Not canonical text
  ['127.1', 'invalid'],
  ['2130706433', 'invalid'],
  ['0x7f000001', 'invalid'],
  ['0177.0.0.1', 'invalid'],
  ['08.8.8.8', 'invalid'],
  ['8.8.8.8 ', 'invalid'],
  ['8.8.8', 'invalid'],
  ['256.8.8.8', 'invalid'],
  ['[::1]', 'invalid'],
  ['fe80::1%eth0', 'invalid'],
  ['2606:4700::1%eth0', 'invalid'],
  ['1::2::3', 'invalid'],
  ['localhost', 'invalid'],
  ['', 'invalid'],
];

describe('classification of addresses (only public addresses are allowed)', () => {
  for (const [address, expected] of addresses) {
    it(`finds that ${address || '(empty)'} is ${expected}`, () => {
      expect(classifyAddress(address)).to.equal(expected);
      expect(isAllowed(address, [])).to.equal(expected === 'public');
    });
  }

  it('considers no IPv6 address outside 2000::/3 public', () => {
    const parts = fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: 8, maxLength: 8 });
    fc.assert(
      fc.property(parts, (words) => {
        fc.pre((words[0] ?? 0) >> 13 !== 1);
        expect(classifyAddress(new ipaddr.IPv6(words).toString())).to.not.equal('public');
      }),
    );
  });

  it('considers no IPv6 form of an IPv4 address public', () => {
    const prefixes = ['::ffff:', '::', '64:ff9b::', '::ffff:0:'];
    fc.assert(
      fc.property(fc.ipV4(), fc.constantFrom(...prefixes), (v4, prefix) => {
        expect(classifyAddress(prefix + v4)).to.not.equal('public');
      }),
    );
  });
});

describe('networks that an operator allows', () => {
  const cases: readonly (readonly [string, readonly string[], boolean])[] = [
    ['127.0.0.1', [], false],
    ['127.0.0.1', ['127.0.0.0/8'], true],
    ['127.0.0.1', ['127.0.0.1/32'], true],
    ['127.0.0.2', ['127.0.0.1/32'], false],
    ['10.1.2.3', ['127.0.0.0/8', '10.0.0.0/8'], true],
    ['::1', ['127.0.0.0/8'], false],
    ['::1', ['::1/128'], true],
    ['::ffff:127.0.0.1', ['127.0.0.0/8'], false],
    ['8.8.8.8', ['127.0.0.0/8'], true],
    ['100.100.100.1', ['100.64.0.0/10'], true],
    ['100.100.100.200', ['100.64.0.0/10'], false],
    ['169.254.169.254', ['0.0.0.0/0'], false],
    ['fd00:ec2::254', ['fd00::/8'], false],
    ['127.1', ['0.0.0.0/0'], false],
  ];
  for (const [address, networks, expected] of cases) {
    it(`make ${address} ${expected ? 'allowed' : 'refused'}: [${networks.join(', ')}]`, () => {
      expect(isAllowed(address, networks)).to.equal(expected);
    });
  }
});
