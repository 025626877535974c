/** Tests the spans of requests, statements and errors that contain names and secrets. */
import { expect } from 'chai';
import { spawnSync } from 'node:child_process';
import { projectDirectory, scriptArguments } from '../../../../dev/project.ts';
import type { ExportedSpan } from '../../../toolkit/stack/tracing.ts';

const needle = 'needle-mary-smith';

describe('traced requests', () => {
  let printed = '';
  let traces: Record<'untrusted' | 'probes' | 'disconnected' | 'trusted', ExportedSpan[]> & {
    receivedHeaders: string[][];
  };
  before('make them', function () {
    this.timeout(30_000);
    const args = [...scriptArguments('test/toolkit/stack/traced-requests-in-a-process.ts'), needle];
    const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: projectDirectory, encoding: 'utf8', env: {} });
    if (!stdout.startsWith('{')) throw new Error(stderr);
    printed = stdout;
    traces = JSON.parse(stdout) as typeof traces;
  });

  /** Each span as "parent > span". */
  const treeOf = (spans: readonly ExportedSpan[]) =>
    spans.map(({ name, parent }) => `${spans.find(({ spanId }) => spanId === parent)?.name ?? '-'} > ${name}`);

  it('have spans for the request, statements and outgoing calls', () => {
    expect(treeOf(traces.untrusted).toSorted()).to.deep.equal(
      [
        '- > POST /v1/clubs/{clubId}',
        'POST /v1/clubs/{clubId} > middleware named',
        'middleware named > middleware handled',
        'middleware handled > createStudent',
        'createStudent > POST',
        'createStudent > GET',
        'createStudent > GET',
        'createStudent > GET',
        'createStudent > postgres SELECT',
        'createStudent > postgres lease_facts',
      ].toSorted(),
    );
    expect(new Set(traces.untrusted.map(({ traceId }) => traceId)).size).to.equal(1);
  });

  it('copy no path, header, body, value or message into a span', () => {
    expect(printed).not.to.include(needle);
    const names = [...traces.untrusted, ...traces.trusted].flatMap(({ attributes }) => Object.keys(attributes));
    expect([...new Set(names)].toSorted()).to.deep.equal([
      'db.postgresql.plan',
      'db.system.name',
      'error.type',
      'http.request.method',
      'http.response.status_code',
      'http.route',
      'koa.name',
      'koa.type',
    ]);
  });

  it('send no trace header to any other server', () => {
    expect(traces.receivedHeaders).to.have.length(12); // Three spans of each request, and three of each probe.
    for (const headers of traces.receivedHeaders) {
      expect(headers).to.include('authorization');
      expect(headers).not.to.include.oneOf(['traceparent', 'tracestate', 'baggage', 'b3']);
    }
  });

  it('continue the trace of a trusted proxy only', () => {
    const request = (spans: readonly ExportedSpan[]) => spans.filter(({ name }) => name === 'POST /v1/clubs/{clubId}');
    expect(request(traces.untrusted).map(({ traceId }) => traceId)).not.to.include('1'.repeat(32));
    expect(request(traces.untrusted).map(({ parent }) => parent)).to.deep.equal([undefined]);
    expect(request(traces.trusted).map(({ traceId, parent }) => [traceId, parent])).to.deep.equal([
      ['1'.repeat(32), '2'.repeat(16)],
    ]);
  });

  it('do not include probes, with or without a query', () => {
    expect(traces.probes).to.deep.equal([]);
  });

  it('have a span without a status if the caller disconnects before the response', () => {
    expect(traces.disconnected.map(({ name, failed, attributes }) => ({ name, failed, attributes }))).to.deep.equal([
      {
        name: 'POST /v1/clubs/{clubId}',
        failed: false,
        attributes: {
          'http.request.method': 'POST',
          'http.route': '/v1/clubs/{clubId}',
          'error.type': 'aborted',
        },
      },
    ]);
  });
});
