import { expect } from 'chai';
import { askedPart, type AskedPart } from '../../../domain/repositories/ranges.policy.ts';

describe('requested parts of an archive (REPO-7)', () => {
  const whole: AskedPart = { from: 0, length: 100, isWhole: true };
  const part = (from: number, length: number): AskedPart => ({ from, length, isWhole: false });
  const table: readonly (readonly [range: string, ifRange: string, expected: AskedPart])[] = [
    ['', '', whole],
    ['bytes=0-', '', part(0, 100)],
    ['bytes=40-', '"a"', part(40, 60)],
    ['bytes=40-49', '', part(40, 10)],
    ['bytes=40-400', '', part(40, 60)],
    ['bytes=-10', '', part(90, 10)],
    ['bytes=-400', '', part(0, 100)],
    ['Bytes=99-99', '', part(99, 1)],
    ['bytes=40-', '"b"', whole],
    ['bytes=40-', 'W/"a"', whole],
    ['bytes=40-', 'Sun, 01 Mar 2026 12:00:00 GMT', whole],
    ['bytes=100-', '', 'unsatisfiable'],
    ['bytes=-0', '', 'unsatisfiable'],
    ['bytes=400-', '"b"', whole],
    ['bytes=9-8', '', whole],
    ['bytes=-', '', whole],
    ['bytes=0-1,5-6', '', whole],
    ['lines=0-1', '', whole],
    ['kilobytes=0-1', '', whole],
    ['bytes=99999999999999999-', '', whole],
  ];
  for (const [range, ifRange, expected] of table)
    it(`answers Range ${range || 'none'}${ifRange && `, If-Range ${ifRange}`}`, () => {
      expect(askedPart(range, ifRange, '"a"', 100)).to.deep.equal(expected);
    });
});
