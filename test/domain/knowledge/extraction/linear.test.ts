import { expect } from 'chai';
import * as fc from 'fast-check';
import { hasSignOfMarkdown } from '../../../../domain/knowledge/extraction/text/markdown-signs.ts';
import { linesOf as linesOfPage } from '../../../../domain/knowledge/extraction/pdf/letters/pdf-lines.ts';
import { hyphenatedWords, joined } from '../../../../domain/knowledge/extraction/pdf/letters/words.ts';
import { tidyLines } from '../../../../domain/knowledge/extraction/sections.ts';
import { linesOf } from '../../../../domain/knowledge/indexing/passages.policy.ts';
import { expectLinear, manyTimes } from '../../../toolkit/assert/scaling.ts';

const textsOf = (...pieces: string[]) => fc.string({ unit: fc.constantFrom(...pieces), maxLength: 14 });

describe('signs of Markdown in a text', () => {
  const pattern = /^#{1,6} \S|^(?:```|~~~)|\[[^\]\n]{1,200}\]\([^)\s]{1,500}\)/m;
  const same = (text: string): void => {
    expect(hasSignOfMarkdown(text), JSON.stringify(text)).to.equal(pattern.test(text));
  };

  it('are found exactly as by an equivalent regular expression', () => {
    const pieces = ['[', ']', '](', ')', '(', 'a', ' ', '\n', '#', '# ', '```', '~~', '\u2028'];
    fc.assert(fc.property(textsOf(...pieces), same), { numRuns: 5_000 });
  });

  it('are limited to 200 characters for a label and 500 for an address', () => {
    for (const label of [0, 1, 199, 200, 201])
      for (const address of [0, 1, 499, 500, 501]) same(`x[${'a'.repeat(label)}](${'b'.repeat(address)})`);
    same(`[${'a'.repeat(150)}[${'a'.repeat(100)}](b)`);
    same(`[a](${'b'.repeat(400)}](${'c'.repeat(200)})`);
  });

  it('are searched in a time that grows linearly with the text', () => {
    for (const piece of ['[', '](', '[a](', '[]', '[[a]', '[a](b', '#', '[a'.repeat(90)])
      expectLinear(piece, manyTimes(piece), hasSignOfMarkdown, 16_000);
  }).timeout(30_000);
});

describe('tidied lines', () => {
  it('equal the result of simple replacements by regular expressions', () => {
    const asBefore = (text: string) =>
      text
        .replaceAll('\t', '    ')
        .replace(/ {41,}/g, ' '.repeat(40))
        .replace(/ +$/gm, '')
        .replace(/\n{3,}/g, '\n\n')
        .replace(/^\n+|\n+$/g, '');
    fc.assert(
      fc.property(textsOf(' ', '\t', '\n', '\n\n', 'a', ' '.repeat(30), ' '.repeat(41)), (text) => {
        expect(tidyLines(text)).to.equal(asBefore(text));
      }),
    );
  });

  it('are computed in a time that grows linearly with the text', () => {
    for (const piece of [' ', '\n', ' \n', ' a'])
      expectLinear(piece, manyTimes(piece, { begin: 'a', end: 'a' }), tidyLines, 16_000);
  }).timeout(30_000);
});

describe('lines of a passage', () => {
  it('are divided exactly as a regular expression divides them', () => {
    fc.assert(
      fc.property(textsOf(' ', '\n', 'a', 'b'), (text) => {
        expect(linesOf(text)).to.deep.equal(text.split(/(?<=\n *)(?=[^\n ])/));
      }),
    );
  });

  it('are divided in a time that grows linearly with the text', () => {
    for (const piece of [' ', '\n', '\n ', '\na'])
      expectLinear(piece, manyTimes(piece, { begin: 'a', end: 'a' }), linesOf, 16_000);
  }).timeout(30_000);
});

describe('words with hyphens', () => {
  const pieces = ['a', 'é', '-', '--', ' ', '1', '\u{10400}', '\u00ad'];

  it('are found exactly as by an equivalent regular expression', () => {
    fc.assert(
      fc.property(textsOf(...pieces), (text) => {
        expect([...hyphenatedWords(text)]).to.deep.equal(
          Array.from(text.matchAll(/\p{L}+(?:-\p{L}+)+/gu), ([word]) => word),
        );
      }),
    );
  });

  it('are found and joined in a time that grows linearly with the text', () => {
    for (const piece of ['a', '-', 'a-', 'a--'])
      expectLinear(piece, manyTimes(piece, { end: '1' }), (text) => [...hyphenatedWords(text)], 16_000);
    const lines = (size: number) => Array.from({ length: Math.ceil(size / 10) }, () => ({ text: 'aaaaaaaaa-' }));
    expectLinear('lines that all end with a hyphen', lines, (all) =>
      joined(all, { hyphenated: new Set(['a-a']), whole: new Set() }),
    );
  }).timeout(30_000);
});

describe('lines of a page of a PDF', () => {
  it('are assembled in a time that grows linearly with the pieces', () => {
    const items = (size: number) =>
      Array.from({ length: size }, (_, at) => ({ text: 'ab', width: 2, size: 1, x: at * 2, y: 0 }));
    expectLinear('pieces of one line', items, (all) => linesOfPage(all)[0]?.text.at(-1), 64_000);
  }).timeout(30_000);
});
