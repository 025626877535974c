/** Tests the stored figures of the benchmarks, and the pages that are generated from these figures. */
import { globSync } from 'node:fs';
import { expect } from 'chai';
import {
  figuresDirectory,
  figuresOfLine,
  readSuiteFigures,
  saveRun,
  withRun,
  type Run,
  type SuiteFigures,
} from '../../bench/figures.ts';
import { allSuiteFigures, figuresPage, proofsPage } from '../../dev/generators/figures-page.ts';

const run = (date: string, figures: Run['figures']): Run => ({ date, commit: '0123abcd', machine: '2 cores', figures });
const knots: SuiteFigures = {
  suite: 'knots',
  command: 'npm run bench -- knots',
  ceilings: 'The ceiling is a bare rope.',
  limits: [{ figure: 'knots/s', text: 'A hand ties one knot.' }],
  runs: [
    run('2026-01-02', [
      {
        name: 'knots/s',
        value: 1_200,
        unit: 'knots/s',
        ceiling: 1_500,
        ratio: 0.81,
        aim: { of: 'ratio', atLeast: 0.9 },
      },
      { name: 'lost', value: 0, unit: 'knots', aim: { of: 'value', atMost: 0 } },
    ]),
  ],
};

describe('figuresOfLine', () => {
  it('returns the value with its ceiling, its ratio and its rounds', () => {
    expect(figuresOfLine('knots/s', { value: 1_234.5, ceiling: 2_000, ratio: 0.6171 }, 5)).to.deep.equal([
      { name: 'knots/s', value: 1_230, unit: 'knots/s', ceiling: 2_000, ratio: 0.617, rounds: 5 },
    ]);
  });

  it('takes the number `alone`, or the number for a small size, as the ceiling', () => {
    expect(figuresOfLine('list p95 ms', { value: 4, 'at 1000': 2, ratio: 2 })[0]).to.include({ ceiling: 2, ratio: 2 });
    expect(figuresOfLine('p50 ms', { value: 4, alone: 3 })[0]).to.include({ ceiling: 3 });
  });

  it('returns each remaining number of the line as a figure with its own name and unit', () => {
    expect(figuresOfLine('lag ms', { p50: 3, p99: 9, 'bare p99': 2, 'MB grown': 7 })).to.deep.equal([
      { name: 'lag ms: p50', value: 3, unit: 'ms' },
      { name: 'lag ms: p99', value: 9, unit: 'ms', ceiling: 2 },
      { name: 'lag ms: MB grown', value: 7, unit: 'MB' },
    ]);
  });
});

describe('saveRun', () => {
  it('refuses a run without figures', () => {
    expect(() => saveRun('knots')).to.throw('no figure that can be saved');
  });
});

describe('withRun', () => {
  const again = withRun(knots, run('2026-02-03', [{ name: 'knots/s', value: 1_400, unit: 'number' }]));

  it('moves a repeated figure from its old run to its newest run, with its unit and its aim', () => {
    expect(again.runs.map(({ date, figures }) => [date, figures.map(({ name }) => name)])).to.deep.equal([
      ['2026-01-02', ['lost']],
      ['2026-02-03', ['knots/s']],
    ]);
    expect(again.runs[1]?.figures).to.deep.equal([
      { name: 'knots/s', value: 1_400, unit: 'knots/s', aim: { of: 'ratio', atLeast: 0.9 } },
    ]);
  });

  it('removes a run without figures', () => {
    const both = [...(knots.runs[0]?.figures ?? [])];
    expect(withRun(knots, run('2026-02-03', both)).runs.map(({ date }) => date)).to.deep.equal(['2026-02-03']);
  });
});

describe('docs/reference/figures.md', () => {
  it('says for each figure whether it meets its aim', () => {
    const page = figuresPage([knots]);
    expect(page).to.contain('## knots\n\n`npm run bench -- knots`, measured 2026-01-02. The ceiling is a bare rope.\n');
    expect(page).to.contain('\n|knots/s|1,200||1,500|0.81|≥ 0.9 ×: **missed**|\n|lost|0|knots|||≤ 0: met|\n');
    expect(page).to.contain('\n- **knots/s**: A hand ties one knot.\n');
  });

  it('shows the value divided by the ceiling if the file has no ratio', () => {
    const figures = [{ name: 'ms', value: 3, unit: 'ms', ceiling: 2, aim: { of: 'ratio' as const, atMost: 2 } }];
    expect(figuresPage([{ ...knots, runs: [run('2026-01-02', figures)] }])).to.contain('|ms|3||2|1.5|≤ 2 ×: met|');
  });

  it('omits the figures of proofs', () => {
    const proofs = { ...knots, suite: 'proofs' };
    expect(figuresPage([proofs])).not.to.contain('## proofs');
    expect(proofsPage([proofs, knots]))
      .to.contain('## proofs')
      .and.not.to.contain('## knots');
  });

  it('has at most 2,500 words', () => {
    expect(figuresPage(allSuiteFigures()).split(/\s+/).length).to.be.at.most(2_500);
  });
});

describe('files of bench/figures', () => {
  const names = globSync('*.json', { cwd: figuresDirectory }).map((file) => file.replace(/\.json$/, ''));

  it('exist', () => {
    expect(names).to.include.members(['webhooks', 'extraction', 'proofs']);
  });

  for (const name of names.toSorted()) {
    it(`have the documented shape: ${name}`, () => {
      expect(shapeErrors(name, readSuiteFigures(name))).to.deep.equal([]);
    });
  }

  it('are refused if a date, commit, unit or bound is missing, or if a figure occurs twice', () => {
    const figure = { name: 'a', value: Number.NaN, unit: '', aim: { of: 'value' as const } };
    const limits = [{ figure: 'a', text: 'One. Two. Three.' }];
    const bad = { ...knots, limits, runs: [{ ...run('2026', [figure, figure]), commit: 'main' }] };
    expect(shapeErrors('ropes', bad)).to.deep.equal([
      'suite knots',
      'limit of a has 3 sentences',
      'date 2026',
      'commit main',
      'a: value NaN',
      'a: no unit',
      'a: aim without a bound',
      'a: value NaN',
      'a: no unit',
      'a: aim without a bound',
      'a: twice',
    ]);
  });
});

function shapeErrors(name: string, { suite, limits, runs }: SuiteFigures): string[] {
  const figures = runs.flatMap((each) => each.figures.map((figure) => figure.name));
  const sentences = (text: string) => text.split(/[.?!](?:\s|$)/).filter((part) => part.trim() !== '').length;
  return [
    ...(suite === name ? [] : [`suite ${suite}`]),
    ...limits.flatMap(({ figure, text }) =>
      sentences(text) <= 2 ? [] : [`limit of ${figure} has ${sentences(text)} sentences`],
    ),
    ...runs.flatMap(({ date, commit, machine, figures: all }) => [
      ...(/^\d{4}-\d\d-\d\d$/.test(date) ? [] : [`date ${date}`]),
      ...(/^[0-9a-f]{8}(-changed)?$/.test(commit) ? [] : [`commit ${commit}`]),
      ...(machine === '' ? ['no machine'] : []),
      ...(all.length === 0 ? ['no figures'] : []),
      ...all.flatMap((figure) => [
        ...(Number.isFinite(figure.value) ? [] : [`${figure.name}: value ${figure.value}`]),
        ...(figure.unit === '' ? [`${figure.name}: no unit`] : []),
        ...(figure.aim && figure.aim.atLeast === undefined && figure.aim.atMost === undefined
          ? [`${figure.name}: aim without a bound`]
          : []),
      ]),
    ]),
    ...figures.filter((figure, at) => figures.indexOf(figure) !== at).map((figure) => `${figure}: twice`),
  ];
}
