import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { seriesIn } from '../../../dev/alerts/promql.ts';
import { dashboardFiles } from '../../../dev/dashboards/files.ts';
import { projectDirectory } from '../../../dev/project.ts';
import { eachCase } from '../../toolkit/assert/each-case.ts';
import { misuseIn } from '../../toolkit/assert/promql.ts';

interface Dashboard {
  uid: string;
  title: string;
  panels: {
    title: string;
    datasource: object;
    gridPos: { x: number; y: number; w: number; h: number };
    targets: { expr: string; legendFormat: string }[];
  }[];
}

const dashboards = [...dashboardFiles().values()].map((text) => JSON.parse(text) as Dashboard);
const panels = dashboards.flatMap((one) => one.panels);
const expressions = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));

describe('the dashboards', () => {
  it('query only series and labels that the service serves, and apply max to gauges from Postgres', async () => {
    expect(expressions.length).to.be.above(40);
    await eachCase(expressions, (expr) => expect(misuseIn(expr), expr).to.deep.equal([]));
  });

  it('show every metric of the service', () => {
    const { metrics } = JSON.parse(readFileSync(path.join(projectDirectory, 'test', 'wire-names.json'), 'utf8')) as {
      metrics: { name: string }[];
    };
    const shownNames = new Set(
      expressions.flatMap(seriesIn).map(({ name }) => name.replace(/_(bucket|count|sum)$/, '')),
    );
    expect(metrics.map(({ name }) => name).filter((name) => !shownNames.has(name))).to.deep.equal([]);
  });

  it('name no data source, because the person who imports a dashboard chooses it', () => {
    for (const { datasource } of panels)
      expect(datasource).to.deep.equal({ type: 'prometheus', uid: ['$', '{datasource}'].join('') });
  });

  it('have unique ids and titles, and panels that do not overlap', () => {
    expect(new Set(dashboards.map(({ uid }) => uid)).size).to.equal(4);
    for (const { panels: own } of dashboards) {
      expect(new Set(own.map(({ title }) => title)).size).to.equal(own.length);
      expect(new Set(own.map(({ gridPos: { x, y } }) => `${x} ${y}`)).size).to.equal(own.length);
      for (const { gridPos } of own) expect(gridPos.x + gridPos.w).to.be.at.most(24);
    }
  });

  it('name the lines of a chart only by labels that the result of the query contains', async () => {
    const targets = panels.flatMap((panel) => panel.targets);
    await eachCase(targets, ({ expr, legendFormat }) => {
      const keptLabels = [...expr.matchAll(/\bby \(([\w, ]+)\)/g)].flatMap(([, list = '']) => list.split(', '));
      const named = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label);
      const plain = !/\b(?:sum|max)\b/.test(expr);
      expect(plain ? ['job', 'instance'] : keptLabels, expr).to.include.members(named);
    });
  });
});
