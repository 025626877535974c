import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Alert } from '../../../dev/alerts/alert.ts';
import { groupingLabelsIn, seriesIn } from '../../../dev/alerts/promql.ts';
import { alerts, rulesFile, runbookOf, type AlertName } from '../../../dev/alerts/rules-file.ts';
import { projectDirectory } from '../../../dev/project.ts';
import { breaks, normalLife } from '../../proofs/verify/observe/worlds.ts';
import { misuseIn, servedByPrometheus, toldByPostgres } from '../../toolkit/assert/promql.ts';
import { eachCase } from '../../toolkit/assert/each-case.ts';

const read = (file: string) => readFileSync(path.join(projectDirectory, file), 'utf8');
const all: readonly (readonly [string, Alert])[] = Object.entries(alerts);

/** The rows of "What to watch". Each row has an alert, an HTML anchor, and the metrics that the alert uses. */
const rows = [
  ...(read('docs/how-to/operate.md').split('\n## What to watch\n')[1]?.split('\n## ')[0] ?? '').matchAll(
    /^\| <a id="(\w+)"><\/a>`(\w+)` \| ([^|]+) \|/gm,
  ),
].map(([, anchor = '', name = '', metrics = '']) => ({
  anchor,
  name,
  metrics: [...metrics.matchAll(/`(\w+)/g)].map(([, metric = '']) => metric),
}));

describe('the alerts', () => {
  it('each link to a row of "What to watch", and every row has an alert', () => {
    const section = read('docs/how-to/operate.md').split('\n## What to watch\n')[1]?.split('\n## ')[0] ?? '';
    expect(rows.length).to.equal((section.match(/^\| (?!alert )/gm) ?? []).length);
    expect(rows.map(({ name }) => name)).to.have.members(Object.keys(alerts));
    for (const { name, anchor } of rows) expect(runbookOf(name)).to.equal(`docs/how-to/operate.md#${anchor}`);
  });

  it('query a metric that their row in "What to watch" names', async () => {
    await eachCase(rows, ({ name, metrics }) => {
      const queriedSeries = seriesIn(alerts[name as AlertName].expr).map((series) => baseOf(series.name));
      expect(queriedSeries, name).to.satisfy((names: string[]) => names.some((one) => metrics.includes(one)));
    });
  });

  it('query only series and labels that the service serves, and apply max to gauges from Postgres', async () => {
    await eachCase(all, ([name, { expr }]) => expect(misuseIn(expr), name).to.deep.equal([]));
  });

  it('have summaries that use only labels of the series that they query', async () => {
    await eachCase(all, ([name, { summary }]) => {
      const labels = [...summary.matchAll(/\$labels\.(\w+)/g)].map(([, label = '']) => label);
      const { fires } = breaks[name as AlertName];
      expect(fires.length, name).to.be.above(0);
      expect(
        fires.flatMap((one) => Object.keys(one)),
        name,
      ).to.include.members(labels);
    });
  });

  it('have quotes around a text in the YAML file if YAML requires quotes', () => {
    const file = rulesFile();
    expect(file.match(/^ {6}- alert: /gm)).to.have.length(Object.keys(alerts).length);
    expect(file).to.include(
      `summary: 'The clock of {{ $labels.instance }} differs by {{ $value | humanizeDuration }} from Postgres''s.'`,
    );
    expect(file).to.include(
      `runbook_url: '{{ with $externalLabels.runbooks }}{{ . }}/{{ end }}docs/how-to/operate.md#factslate'`,
    );
  });

  it('are tested only with series that the service serves', async () => {
    const series = [normalLife, ...Object.values(breaks).map((one) => one.series)].flatMap((world) =>
      Object.keys(world),
    );
    await eachCase(series, (one) => expect(misuseIn(`max(${one})`), one).to.deep.equal([]));
  });
});

describe('the check of PromQL', () => {
  it('finds the series of a query with the labels of each series, and ignores all other words', () => {
    const expr =
      'sum by (kind) (rate(a_total{kind="b{c", d!~"e"}[5m])) / on (job) group_left () f or g_bucket offset 5m > bool 1e3';
    expect(seriesIn(expr).map(({ name, labels }) => [name, labels])).to.deep.equal([
      ['a_total', ['kind', 'd']],
      ['f', []],
      ['g_bucket', []],
    ]);
    expect(groupingLabelsIn(expr)).to.deep.equal(['kind', 'job']);
  });

  it('refuses unknown series and labels, and the sum of a gauge that all workers report equally', () => {
    expect(misuseIn('max(facts_lag_second)')).to.deep.equal(['facts_lag_second is not served']);
    expect(misuseIn('sum(mails_total{status="sent"})')).to.deep.equal(['mails_total has no label status']);
    expect(misuseIn('sum by (kind) (mails_total)')).to.deep.equal(['no series has the label kind']);
    for (const wrong of ['sum(facts_lag_seconds)', 'facts_lag_seconds', 'max(sum(facts_lag_seconds))'])
      expect(misuseIn(wrong)).to.deep.equal(['facts_lag_seconds is not aggregated by max']);
    expect(misuseIn('max(facts_lag_seconds) + max by (workflow) (workflow_rows_due{workflow="a"})')).to.deep.equal([]);
  });

  it('finds the gauges that workers read from Postgres', () => {
    expect(toldByPostgres().size).to.be.above(15);
    expect([...toldByPostgres()]).to.include.members(['facts_lag_seconds', 'sweeper_round_age_seconds']);
    expect([...servedByPrometheus]).to.deep.equal(['up']);
  });
});

const baseOf = (name: string) => name.replace(/_(bucket|count|sum)$/, '');
