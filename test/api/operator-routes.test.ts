import { expect } from 'chai';
import { Database } from '../../platform/infra/postgres/database.ts';
import { buildClub } from '../toolkit/builders/clubs.ts';
import { callAt, call, expectError, testApi } from '../toolkit/drive/api.ts';
import { serveApp } from '../toolkit/stack/app.ts';
import { withTimersStopped } from '../toolkit/fakes/timers.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';

const get = async (path: string) => getAt((await testApi()).port, path);
const getAt = async (port: number, path: string) => {
  const response = await fetch(`http://127.0.0.1:${port}${path}`);
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() };
};

describe('GET /healthz', () => {
  it('returns 200 while the process runs', async () => {
    expect(await get('/healthz')).to.deep.equal({
      status: 200,
      type: 'application/json; charset=utf-8',
      text: '{"status":"ok"}',
    });
  });
});

describe('GET /readyz', () => {
  it('returns 200 when the process can serve requests', async () => {
    const { status, text } = await get('/readyz');
    expect([status, text]).to.deep.equal([200, '{"status":"ready"}']);
  });

  it('returns 503 if Postgres is unreachable, while /healthz returns 200', async () => {
    const api = await serveApp({
      deps: (usual) => {
        const refused = () => Promise.reject(new Error('ECONNREFUSED 10.1.2.3'));
        const source = { manager: { query: refused } } as never;
        return { ...usual, deps: { ...usual.deps, db: new Database(source, { notify() {} }) } };
      },
    });
    try {
      const answer = await callAt(api.base, 'GET', '/readyz');
      expect([answer.status, answer.text]).to.deep.equal([503, '{"status":"not_ready"}']);
      expect((await callAt(api.base, 'GET', '/healthz')).status).to.equal(200);
    } finally {
      await api.close();
    }
  });

  it('returns 503 if Postgres does not answer for 2 s', async () => {
    const api = await serveApp({
      deps: (usual) => {
        const source = { manager: { query: () => new Promise(() => {}) } } as never;
        return { ...usual, deps: { ...usual.deps, db: new Database(source, { notify() {} }) } };
      },
    });
    try {
      await withTimersStopped(async (advance) => {
        let status: number | undefined;
        const answer = callAt(api.base, 'GET', '/readyz').then((response) => (status = response.status));
        expect((await callAt(api.base, 'GET', '/healthz')).status).to.equal(200);
        await advance(1_999);
        expect((await callAt(api.base, 'GET', '/healthz')).status).to.equal(200);
        expect(status, 'after 1.999 s').to.equal(undefined);
        await advance(1);
        expect(await answer, 'after 2 s').to.equal(503);
      });
    } finally {
      await api.close();
    }
  });

  it('returns 503 once the process was asked to stop', async () => {
    const api = await serveApp({ deps: (usual) => ({ ...usual, accepting: () => false }) });
    try {
      expect((await callAt(api.base, 'GET', '/readyz')).status).to.equal(503);
      expect((await callAt(api.base, 'GET', '/healthz')).status).to.equal(200);
    } finally {
      await api.close();
    }
  });
});

describe('GET /metrics on API_METRICS_PORT', () => {
  const metrics = async (path = '/metrics') => getAt((await testApi()).metricsPort, path);

  const counted = async (labels: string) => {
    const { text } = await metrics();
    const line = text.split('\n').find((one) => one.startsWith(`http_request_duration_seconds_count{${labels}}`));
    return Number(line?.split(' ').at(-1) ?? 0);
  };

  it('returns 200 in the format of Prometheus', async () => {
    const { status, type, text } = await metrics();
    expect(status).to.equal(200);
    expect(type).to.match(/^text\/plain; version=0\.0\.4/);
    expect(text).to.include('# TYPE http_request_duration_seconds histogram');
  });

  it('returns 404 on the public ports, and for other paths and methods on the metrics port', async () => {
    const { port, filesUrl, metricsPort } = await testApi();
    expect((await get('/metrics')).status).to.equal(404);
    expect((await getAt(Number(new URL(filesUrl).port), '/metrics')).status).to.equal(404);
    expect(new Set([port, metricsPort, Number(new URL(filesUrl).port)]).size).to.equal(3);
    await eachCase(['/', '/healthz', '/metrics/', '/metrics?a=b', '/v1/openapi.json'], async (path) =>
      expect((await metrics(path)).status).to.equal(404),
    );
    const posted = await fetch(`http://127.0.0.1:${metricsPort}/metrics`, { method: 'POST' });
    expect(posted.status).to.equal(404);
  });

  it('counts requests by method, route pattern and status, without ids and queries', async () => {
    const { id, owner } = await buildClub();
    const labels = 'method="GET",route="/v1/clubs/{clubId}/students",status="200"';
    const before = await counted(labels);
    await call('GET', `/v1/clubs/${id}/students?q=sought-after`, { token: owner.token });
    expect(await counted(labels)).to.equal(before + 1);
    expect((await metrics()).text)
      .to.not.include(id)
      .and.not.include('sought-after');
  });

  it('counts unknown paths under one route', async () => {
    const labels = 'method="GET",route="none",status="404"';
    const before = await counted(labels);
    await eachCase(['/no/1', '/no/2', '/no/3'], async (path) => expectError(await call('GET', path), 'not_found'));
    expect(await counted(labels)).to.equal(before + 3);
    expect((await metrics()).text).to.not.include('/no/');
  });
});

describe('the API reference', () => {
  it('returns the contract at GET /v1/openapi.json without a session', async () => {
    const { status, body } = await call('GET', '/v1/openapi.json');
    expect([status, body.openapi, body.info.version]).to.deep.equal([200, '3.1.0', '0.2.0']);
  });

  it('loads every asset of GET /docs from this service', async () => {
    const { port } = await testApi();
    const response = await fetch(`http://127.0.0.1:${port}/docs`);
    expect(response.status).to.equal(200);
    expect(response.headers.get('content-security-policy')).to.match(/^default-src 'none'/);
    const page = await response.text();
    const assets = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address = '']) => address);
    expect(assets).to.have.length.above(3);
    await eachCase(assets, async (asset) => {
      expect(asset).to.match(/^\//);
      expect((await get(asset)).status).to.equal(200);
    });
  });

  it('returns 404 for an unknown asset and for a path outside the directory', async () => {
    for (const path of [
      '/docs/',
      '/docs/../package.json',
      '/docs/..%2f..%2fpackage.json',
      '/docs/unknown.js',
      '/docs/%2e%2e/config.ts',
    ]) {
      const { status } = await get(path);
      expect(status, path).to.equal(404);
    }
  });
});
