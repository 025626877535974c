import { expect } from 'chai';
import fc from 'fast-check';
import {
  codeAlphabet,
  codeLength,
  completeCode,
  formatCode,
  readCode,
  readPartOfCode,
} from '../../../../domain/learning/certificates/code.policy.ts';

const characters = codeAlphabet.split('');
const code = fc
  .array(fc.constantFrom(...characters), { minLength: codeLength - 1, maxLength: codeLength - 1 })
  .map((drawn) => completeCode(drawn.join('')));
const position = fc.nat(codeLength - 1);

const changed = (text: string, changes: Record<number, string>) =>
  text
    .split('')
    .map((character, index) => changes[index] ?? character)
    .join('');

describe('certificate codes', () => {
  it('use 31 characters without the ambiguous 0, O, 1, I and L', () => {
    expect([characters.length, new Set(characters).size]).to.deep.equal([31, 31]);
    expect(codeAlphabet)
      .to.match(/^[2-9A-Z]+$/)
      .and.to.not.match(/[01ILO]/);
  });

  it('keep the check characters of old printed codes', () => {
    expect(['22222222222', 'ZZZZZZZZZZZ', 'K7QM4XPA9T2', '23456789ABC'].map(completeCode)).to.deep.equal([
      '222222222222',
      'ZZZZZZZZZZZH',
      'K7QM4XPA9T2F',
      '23456789ABC6',
    ]);
  });

  it('do not change when they are read', () => {
    fc.assert(fc.property(code, (original) => void expect(readCode(original)).to.equal(original)));
  });

  it('are printed in groups of four', () => {
    expect(formatCode('K7QM4XPA9T2F')).to.equal('K7QM-4XPA-9T2F');
    fc.assert(
      fc.property(
        code,
        (original) => void expect(formatCode(original)).to.match(/^[2-9A-Z]{4}-[2-9A-Z]{4}-[2-9A-Z]{4}$/),
      ),
    );
  });

  it('are read in any case, with spaces, dashes and line breaks at any position', () => {
    const separator = fc.constantFrom('', '', '-', ' ', '\u00a0', '–', '—', '\u2011', '\t', '\n', ' - ');
    const spelled = fc
      .tuple(
        code,
        fc.array(fc.boolean(), { minLength: 12, maxLength: 12 }),
        fc.array(separator, { minLength: 13, maxLength: 13 }),
      )
      .map(([original, lower, between]) => {
        const letters = original
          .split('')
          .map((one, index) => (lower[index] ? one.toLowerCase() : one) + between[index]);
        return { original, typed: between[12] + letters.join('') };
      });
    fc.assert(fc.property(spelled, ({ original, typed }) => void expect(readCode(typed)).to.equal(original)));
    fc.assert(
      fc.property(code, (original) => void expect(readCode(formatCode(original).toLowerCase())).to.equal(original)),
    );
  });

  it('reveal every mistake in one character', () => {
    fc.assert(
      fc.property(code, position, fc.constantFrom(...characters), (original, at, wrong) => {
        fc.pre(original.charAt(at) !== wrong);
        expect(readCode(changed(original, { [at]: wrong }))).to.equal(undefined);
      }),
      { numRuns: 2_000 },
    );
  });

  it('reveal every swap of two characters', () => {
    fc.assert(
      fc.property(code, position, position, (original, at, other) => {
        const swapped = changed(original, { [at]: original.charAt(other), [other]: original.charAt(at) });
        expect(readCode(swapped)).to.equal(swapped === original ? original : undefined);
      }),
      { numRuns: 2_000 },
    );
    const pairs = characters.flatMap((a) => characters.filter((b) => b !== a).map((b) => a + b));
    for (let at = 0; at < codeLength - 2; at++) {
      for (const pair of pairs) {
        const original = completeCode(`${'7'.repeat(at)}${pair}${'7'.repeat(codeLength - 3 - at)}`);
        expect(readCode(changed(original, { [at]: pair.charAt(1), [at + 1]: pair.charAt(0) })), original).to.equal(
          undefined,
        );
      }
    }
  });

  it('reveal a missing and an additional character', () => {
    fc.assert(
      fc.property(code, position, fc.constantFrom(...characters), (original, at, more) => {
        expect(readCode(changed(original, { [at]: '' }))).to.equal(undefined);
        expect(readCode(changed(original, { [at]: original.charAt(at) + more }))).to.equal(undefined);
      }),
    );
  });

  it('are not recognized in other text', () => {
    for (const typed of [
      '',
      '-',
      'K7QM',
      '0000-0000-0000',
      'ıııııııııııı',
      'ſſſſſſſſſſſſ',
      '２２２２２２２２２２２２',
      '2222_2222_2222',
    ]) {
      expect(readCode(typed), typed).to.equal(undefined);
    }
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 40 }), (typed) => {
        expect(readCode(typed) ?? '222222222222').to.have.length(codeLength);
      }),
    );
  });

  it('are found by a part of at least four characters', () => {
    const parts = {
      k7qm: 'K7QM',
      'k7qm-4': 'K7QM4',
      ' 4xpa 9t2f ': '4XPA9T2F',
      'k7qm-4xpa-9t2f': 'K7QM4XPA9T2F',
      k7q: undefined,
      Olga: undefined,
      '': undefined,
      '2222222222222': undefined,
    };
    for (const [typed, part] of Object.entries(parts)) expect(readPartOfCode(typed), typed).to.equal(part);
  });
});
