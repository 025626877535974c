import { expect } from 'chai';
import * as fc from 'fast-check';
import { isHostName } from '../../../../platform/infra/egress/egress.ts';

describe('the syntax of a host name', () => {
  const pattern =
    /^(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*$/;
  const same = (host: string): void => {
    expect(isHostName(host), host).to.equal(pattern.test(host));
  };

  it('matches a pattern', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('a', '1', '_', '-', '.', 'A', '\n'), maxLength: 8 }), same),
    );
  });

  it('allows at most 63 characters in a label, and 253 in total', () => {
    const label = (length: number) => 'a'.repeat(length);
    for (const length of [1, 62, 63, 64]) same(`${label(length)}.example`);
    for (const last of [60, 61, 62]) same([label(63), label(63), label(63), label(last)].join('.'));
  });
});
