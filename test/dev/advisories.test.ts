import { expect } from 'chai';
import { judgeAdvisories, readAudit, type AuditReport } from '../../dev/packages/advisories.policy.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';

const advisory = (severity: string, id: string) => ({
  severity,
  title: 'Burns a thread',
  url: `https://github.com/advisories/${id}`,
  range: '<1.2.3',
});
const reportOf = (severity: string, node = 'node_modules/koa'): AuditReport => ({
  vulnerabilities: {
    koa: { via: [advisory(severity, 'GHSA-1')], nodes: [node] },
    dependent: { via: ['koa'], nodes: ['node_modules/dependent'] },
  },
});
const lock = { packages: { 'node_modules/koa': {}, 'node_modules/mocha/node_modules/koa': { dev: true } } };
const today = '2026-11-28';
const judge = (report: AuditReport, accepted: Parameters<typeof judgeAdvisories>[2] = []) =>
  judgeAdvisories(report, lock, accepted, today);
const line = (severity: string) => `${severity}: koa <1.2.3: Burns a thread (GHSA-1)`;

describe('known advisories', () => {
  it('of high or critical severity fail the check if they concern a package of the service', async () => {
    await eachCase(['high', 'critical'], async (severity) =>
      expect(judge(reportOf(severity))).to.deep.equal({ refused: [line(severity)], listed: [] }),
    );
  });

  it('are listed, but do not fail the check, if their severity is below high or they concern a tool', async () => {
    await eachCase(['info', 'low', 'moderate'], async (severity) =>
      expect(judge(reportOf(severity))).to.deep.equal({ refused: [], listed: [line(severity)] }),
    );
    expect(judge(reportOf('critical', 'node_modules/mocha/node_modules/koa'))).to.deep.equal({
      refused: [],
      listed: [`${line('critical')}; a tool, which the service does not install`],
    });
  });

  it('fail the check if at least one affected copy of the package belongs to the service', () => {
    const nodes = ['node_modules/mocha/node_modules/koa', 'node_modules/koa'];
    const vulnerabilities = { koa: { via: [advisory('high', 'GHSA-1')], nodes } };
    expect(judge({ vulnerabilities }).refused).to.deep.equal([line('high')]);
  });

  it('do not fail the check until the end of the day that their acceptance names', () => {
    const acceptance = (until: string) => [{ id: 'GHSA-1', reason: 'We never parse these.', until }];
    expect(judge(reportOf('high'), acceptance(today))).to.deep.equal({
      refused: [],
      listed: [`${line('high')}; accepted until ${today}: We never parse these.`],
    });
    expect(judge(reportOf('high'), acceptance('2026-11-27')).refused).to.deep.equal([line('high')]);
  });

  it('require the removal of an acceptance that is no longer needed', () => {
    const unused = [{ id: 'GHSA-2', reason: 'Gone.', until: '2027-01-01' }];
    expect(judge({ vulnerabilities: {} }, unused).listed).to.deep.equal([
      'GHSA-2 is accepted in dev/packages/accepted-advisories.json, but not reported: remove it there',
    ]);
  });

  it('cannot be read if the registry sends an error, and the reason hides the registry’s address', async () => {
    const refusal = { message: '405 Method Not Allowed - POST https://registry.example.com/-/npm', statusCode: 405 };
    const cases = [
      [JSON.stringify(refusal), '405'],
      [JSON.stringify({ error: { code: 'ENOTFOUND', summary: 'https://registry.example.com' } }), 'ENOTFOUND'],
      ['', 'no readable answer'],
      ['<html>', 'no readable answer'],
      ['{}', 'no readable answer'],
    ] as const;
    await eachCase(cases, async ([answer, reason]) => expect(readAudit(answer)).to.deep.equal({ reason }));
    const report = reportOf('low');
    expect(readAudit(JSON.stringify({ auditReportVersion: 2, ...report }))).to.deep.equal(report);
  });
});
