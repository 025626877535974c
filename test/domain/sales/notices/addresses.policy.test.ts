import { expect } from 'chai';
import { addressesIn, readAddress } from '../../../../domain/sales/notices/addresses.policy.ts';
import { timeOfFact } from '../../../../domain/sales/purchases/times.policy.ts';

const long = (length: number) => `${'a'.repeat(length - 10)}@b.example`;

describe('addresses in the body of a notice', () => {
  for (const [what, body, found] of [
    ['in a text, and are returned in lower case', ' Ada@B.Example ', ['ada@b.example']],
    ['in lists and fields, and names of fields', { 'a@b.cd': [{ x: 'e@f.gh' }, null, 7, true] }, ['a@b.cd', 'e@f.gh']],
    ['only once, even if they occur twice', ['a@b.cd', 'A@B.CD'], ['a@b.cd']],
    ['in a sentence, without its full stop', 'Ask a@b.cd. Or e@f.gh, or i@j.kl-', ['a@b.cd', 'e@f.gh', 'i@j.kl']],
    ['with and without the part before a character such as `=`', 'see mail=a@b.cd', ['a@b.cd', 'mail=a@b.cd']],
    ['unchanged, if the text contains only the address', 'mail=a@b.cd', ['mail=a@b.cd']],
    ['unchanged, in a field of 1,000 characters', 'mail=a@b.cd'.padEnd(1_000), ['mail=a@b.cd']],
    [
      'with and without the part before `=` in a field of 1,001 characters',
      'mail=a@b.cd'.padEnd(1_001),
      ['a@b.cd', 'mail=a@b.cd'],
    ],
    ['after full stops', 'so ...a@b.cd', ['a@b.cd']],
    ['between sequences of 300 full stops', `x${'.'.repeat(300)}a@b.cd${'.'.repeat(300)}x`, ['a@b.cd']],
    ['in brackets', 'Ada <a@b.cd> (e@f.gh)', ['a@b.cd', 'e@f.gh']],
    ['of 254 characters', `x ${long(254)} y`, [long(254)]],
    [
      'only if complete and at most 254 characters long',
      ['a@', '@b.cd', 'a b@ c', `x ${long(255)} y`, 'a@b', null, undefined, 3],
      [],
    ],
  ] as const)
    it(`are found ${what}`, () => {
      expect(addressesIn(body).toSorted()).to.deep.equal([...found].toSorted());
    });

  it('are limited to 200', () => {
    const many = (count: number) => Array.from({ length: count }, (_, number) => `a${number}@b.cd`);
    expect(addressesIn(many(200))).to.have.length(200);
    expect(addressesIn(many(201))).to.have.length(200);
    expect(addressesIn(many(201).join(' '))).to.deep.equal(many(200));
    expect(addressesIn(`${many(199).join(' ')} x=y=a@b.cd`)).to.have.length(200);
  });

  it('begin at the start of a word, or after one of its last eight separating characters', () => {
    const name = 'x=a=b=c=d=e=f=g=h=i=j';
    const beginnings = ['x=', 'd=', 'e=', 'f=', 'g=', 'h=', 'i=', 'j'].map((from) => name.slice(name.indexOf(from)));
    expect(addressesIn(`see ${name}@b.cd`)).to.have.members(
      [...beginnings, 'c=d=e=f=g=h=i=j'].map((one) => `${one}@b.cd`),
    );
  });

  it('are read up to a length of 254 characters, even with white space around them', () => {
    expect([readAddress(` ${long(254)}\n`), readAddress(long(255)), readAddress('ada')]).to.deep.equal([
      long(254),
      undefined,
      undefined,
    ]);
  });
});

describe('the time of a sale (EVT-22)', () => {
  it('is the platform’s time, or now if that time is in the future', () => {
    const [before, now] = [new Date(1_000), new Date(2_000)];
    expect([timeOfFact(before, now), timeOfFact(now, before)]).to.deep.equal([before, before]);
  });
});
