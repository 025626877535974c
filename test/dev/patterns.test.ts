import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { patternsIn, patternsOfContract, patternsOfFormats, patternsOfProduct } from '../../dev/patterns/collect.ts';
import { faultOf } from '../../dev/patterns/judge.ts';
import { productFiles } from '../../dev/generators/import-graph.ts';
import { projectDirectory } from '../../dev/project.ts';
import { expectLinear, manyTimes } from '../toolkit/assert/scaling.ts';

describe('the checker of regular expressions', () => {
  it('finds regular expressions in literals and strings, with their line numbers', () => {
    const code = [
      'const a = /a\\/b/giu;',
      "new RegExp('c+', 'g');",
      'RegExp(String.raw`\\d`);',
      'new RegExp(`e`)',
      'const half = 6 / 2 / 3;',
    ].join('\n');
    expect(patternsIn('x.ts', code)).to.deep.equal({
      patterns: [
        { source: 'a\\/b', flags: 'giu', place: 'x.ts:1' },
        { source: 'c+', flags: 'g', place: 'x.ts:2' },
        { source: '\\d', flags: '', place: 'x.ts:3' },
        { source: 'e', flags: '', place: 'x.ts:4' },
      ],
      runtimePatterns: [],
    });
  });

  it('inserts the values of the file’s constants into a regular expression', () => {
    const code = [
      "const digit = '[0-9]';",
      'const time = String.raw`${digit}\\.${digit}`;',
      'new RegExp(String.raw`^${time}$`);',
      'new RegExp(digit);',
      "new RegExp([digit, 'x'].join(''));",
      'new RegExp(`\\\\d${digit}`);',
    ].join('\n');
    expect(patternsIn('x.ts', code).patterns.map(({ source }) => source)).to.deep.equal([
      '^[0-9]\\.[0-9]$',
      '[0-9]',
      '[0-9]x',
      '\\d[0-9]',
    ]);
  });

  it('finds regular expressions that are composed at run time', () => {
    const code = 'new RegExp(`^${name}$`);\nnew RegExp(text);\nRegExp("a", flags);';
    expect(patternsIn('x.ts', code)).to.deep.equal({
      patterns: [],
      runtimePatterns: [
        { place: 'x.ts:1', code: 'new RegExp(`^${name}$`)' },
        { place: 'x.ts:2', code: 'new RegExp(text)' },
        { place: 'x.ts:3', code: 'RegExp("a", flags)' },
      ],
    });
  });

  it('finds the patterns in a contract, and the patterns of the formats that the contract names', () => {
    const { patterns, formats } = patternsOfContract({
      a: { type: 'string', pattern: '^a$', format: 'email' },
      b: { patternProperties: { '^b': {} }, properties: { pattern: { type: 'string' } } },
    });
    expect(patterns).to.deep.equal([
      { source: '^a$', flags: 'u', place: 'contract #/a' },
      { source: '^b', flags: 'u', place: 'contract #/b' },
    ]);
    const sources = patternsOfFormats(formats).map(({ source }) => source);
    expect(sources.filter((source) => source.includes('[a-z0-9!#$%&'))).to.have.length(1);
    expect(sources.filter((source) => source.includes('uuid'))).to.deep.equal([]);
  });

  it('reports exponential and polynomial patterns, and no linear patterns', async () => {
    expect(await faultOf({ source: '^(a|a)*$', flags: '' })).to.match(/^it takes exponential time, such as for /);
    expect(await faultOf({ source: '-+$', flags: 'g' })).to.match(/^it takes 2nd degree polynomial time, such as for /);
    expect(await faultOf({ source: '[a-z]+-', flags: '' })).to.match(/^it takes 2nd degree polynomial time/);
    expect(await faultOf({ source: '^[a-z]+(?:-[a-z]+)*$', flags: '' })).to.equal(undefined);
  }).timeout(60_000);

  it('reads every pattern of the product, and finds only one place that composes patterns at run time', () => {
    const { patterns, runtimePatterns } = patternsOfProduct(projectDirectory, productFiles(projectDirectory));
    expect(runtimePatterns.map(({ code }) => code)).to.deep.equal(['new RegExp(pattern, flags)']);
    expect(patterns.map(({ place }) => place.split(':')[0])).to.include.members([
      'api/middleware/session.ts',
      'domain/media/formats/svg-root.ts',
      'platform/core/text/text.policy.ts',
      'platform/infra/egress/egress.ts',
    ]);
    const { linear } = JSON.parse(
      readFileSync(new URL('../../dev/patterns/verdicts.json', import.meta.url), 'utf8'),
    ) as { linear: string[] };
    expect(linear.length).to.be.above(200);
  });
});

describe('patterns that are accepted although the checker reports them', () => {
  it('need only linear time to check a date-time', () => {
    const pattern = /^(19[7-9]\d|2\d{3})-.{5}[Tt].{6}[0-5].*([Zz]|\d{2}:?\d{2})$/u;
    for (const piece of ['1', 'Z', '12:', '72'])
      expectLinear(piece, manyTimes(piece, { begin: '2026-01-01T00:00:0', end: '\0' }), (text) => pattern.test(text));
  }).timeout(30_000);
});
