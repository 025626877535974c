/**
 * Compares the chart in deploy/chart with the code, as far as that is possible without Helm. `npm run prove -- verify chart` renders the
 * chart.
 */
import { expect } from 'chai';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { declarations } from '../../config.ts';
import { chartFiles, setByChart } from '../../dev/generators/chart-files.ts';
import { projectDirectory } from '../../dev/project.ts';
import { variablesIn } from '../../platform/infra/variables.ts';
import { workerOptions } from '../../worker/temporal/task-queues.ts';

const read = (file: string) => readFileSync(path.join(projectDirectory, file), 'utf8');
const values = read('deploy/chart/values.yaml');
const templates = globSync('deploy/chart/templates/*.yaml', { cwd: projectDirectory }).map(read).join('\n');
const variables = variablesIn(declarations);

interface Schema {
  properties: Record<string, Schema>;
  required: string[];
}
const schema = JSON.parse(chartFiles(declarations).get('values.schema.json') ?? '') as Schema;
const schemaOf = (...steps: readonly string[]) =>
  steps.reduce((at, step) => at.properties[step] ?? { properties: {}, required: [] }, schema);

/** The number behind a key of values.yaml, the first one under a top-level key. */
const numberOf = (top: string, key: string) =>
  Number(new RegExp(String.raw`^${top}:\n(?:(?: .*)?\n)*?  ${key}: (\d+)$`, 'm').exec(values)?.[1]);

describe('deploy/chart', () => {
  it('has the version of package.json', () => {
    const { version } = JSON.parse(read('package.json')) as { version: string };
    const chart = read('deploy/chart/Chart.yaml');
    expect(/^version: (.+)$/m.exec(chart)?.[1]).to.equal(version);
    expect(/^appVersion: (.+)$/m.exec(chart)?.[1]).to.equal(version);
  });

  it('has a schema that describes every value', () => {
    const described = Object.keys(schema.properties).filter((name) => name !== 'global');
    expect([...values.matchAll(/^(\w+):/gm)].map(([, name]) => name)).to.have.members(described);
  });

  it('restricts network access by default, and names the image by digest and not by tag', () => {
    const sectionOf = (name: string) =>
      new RegExp(String.raw`^${name}:\n((?: .*)?\n)+?(?=\w|#)`, 'm').exec(values)?.[0] ?? '';
    expect(sectionOf('networkPolicy'))
      .to.match(/^ {2}enabled: true$/m)
      .and.match(/^ {2}metricsNamespace: ''$/m);
    expect(sectionOf('image'))
      .to.match(/^ {2}digest: ''$/m)
      .and.match(/^ {2}allowTag: false$/m);
  });

  it('sets every variable of the service in exactly one of: config, secrets, template', () => {
    const config = Object.keys(schemaOf('config').properties);
    const secrets = Object.keys(schemaOf('secrets', 'variables').properties);
    const places = [...config, ...secrets, ...Object.keys(setByChart)];
    expect(places).to.have.members(variables.map(({ name }) => name));
    expect(new Set(places).size).to.equal(places.length);
    expect(secrets).to.have.members(variables.filter(({ isSecret }) => isSecret).map(({ name }) => name));
  });

  it('requires the secrets, and the addresses whose defaults only fit a development machine', () => {
    expect(schemaOf('secrets', 'variables').required).to.have.members([
      'DATABASE_URL',
      'SMTP_URL',
      'S3_ACCESS_KEY_ID',
      'S3_SECRET_ACCESS_KEY',
      'MASTER_KEY',
    ]);
    expect(schemaOf('config').required).to.have.members([
      'PUBLIC_URL',
      'FILES_URL',
      'TEMPORAL_ADDRESS',
      'S3_ENDPOINT',
      'MAIL_FROM',
      'CLASSROOM_URL',
      'DASHBOARD_URL',
    ]);
  });

  it('exposes the ports of the default configuration', () => {
    const ports = variables.filter(({ name }) => /^(API|API_METRICS|WORKER|FILES)_PORT$/.test(name));
    const opened = [...templates.matchAll(/"containerPort" (\d+)/g)].map(([, port]) => port);
    expect(opened).to.have.members(ports.map(({ fallback }) => fallback));
  });

  it('gives stopping processes enough time for their last requests and steps', () => {
    const lastRequestsMs = 15_000;
    expect(numberOf('api', 'terminationGracePeriodSeconds') * 1_000).to.be.at.least(
      numberOf('api', 'closesAfterMs') + lastRequestsMs,
    );
    expect(numberOf('worker', 'terminationGracePeriodSeconds') * 1_000).to.be.at.least(
      workerOptions('agents', undefined).shutdownGraceTime,
    );
  });
});
