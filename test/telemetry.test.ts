/** Tests how tracing starts when a process starts, either by main.ts or by the option `--import`. */
import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { projectDirectory } from '../dev/project.ts';

const nowhere = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' };

async function run(script: string, env: Readonly<Record<string, string>> = {}) {
  const load = path.join(projectDirectory, 'platform/load.mjs');
  const args = ['--import', load, '--input-type=module', '--eval', script];
  return new Promise<{ code: unknown; stdout: string; stderr: string }>((resolve) => {
    execFile(process.execPath, args, { cwd: projectDirectory, encoding: 'utf8', env }, (error, stdout, stderr) =>
      resolve({ code: error ? error.code : 0, stdout, stderr }),
    );
  });
}

async function loadedBy(modules: readonly string[], env: Readonly<Record<string, string>>): Promise<string[]> {
  const script = `
    import { registerHooks } from 'node:module';
    const found = new Set();
    registerHooks({
      load(url, context, next) {
        const [, name] = /node_modules\\/(@opentelemetry\\/[^/]+|import-in-the-middle|require-in-the-middle)\\//.exec(url) ?? [];
        if (name) found.add(name);
        return next(url, context);
      },
    });
    for (const file of ${JSON.stringify(modules)}) await import(file);
    process.stdout.write(JSON.stringify([...found].sort()));
    process.exit(0);`;
  const { stdout, stderr } = await run(script, env);
  if (!stdout.startsWith('[')) throw new Error(stderr);
  return JSON.parse(stdout) as string[];
}

describe('telemetry', function () {
  this.timeout(60_000);

  it('loads nothing of OpenTelemetry if no endpoint is configured', async () => {
    expect(await loadedBy(['./telemetry.ts'], {})).to.deep.equal([]);
  });

  it('loads only the inactive OpenTelemetry package of the model client in API and worker', async () => {
    expect(await loadedBy(['./api/server.ts', './worker/main.ts'], {})).to.deep.equal(['@opentelemetry/api']);
  });

  it('loads OpenTelemetry if an endpoint is configured', async () => {
    expect(await loadedBy(['./telemetry.ts'], nowhere)).to.include.members([
      '@opentelemetry/sdk-node',
      'import-in-the-middle',
    ]);
  });

  it('traces nothing if tracing is disabled or a variable is invalid', async () => {
    const { stdout, stderr } = await run(`
      const { startTelemetry } = await import('./platform/infra/telemetry/start.ts');
      const { isTracing } = await import('./platform/infra/tracing.ts');
      const traces = (env) => {
        startTelemetry({ ...${JSON.stringify(nowhere)}, ...env }, 'club-learning');
        return isTracing();
      };
      const mistakes = [{ OTEL_TRACES_SAMPLER: 'some' }, { OTEL_TRACES_SAMPLER_ARG: '2' }];
      process.stdout.write(JSON.stringify([...mistakes, { OTEL_SDK_DISABLED: 'true' }, {}].map(traces)));
      process.exit(0);`);
    expect(stdout, stderr).to.equal('[false,false,false,true]');
  });

  it('ends the process and says what to do if the Node version does not support tracing', async () => {
    const { code, stderr } = await run(
      `const version = '24.11.0';
       Object.defineProperty(process, 'version', { value: 'v' + version });
       Object.defineProperty(process, 'versions', { value: { ...process.versions, node: version } });
       await import('./telemetry.ts');`,
      nowhere,
    );
    expect([code, stderr]).to.deep.equal([
      1,
      'The process cannot start: Node v24.11.0 cannot trace: use 24.11.1 or later, or unset OTEL_EXPORTER_OTLP_ENDPOINT.\n',
    ]);
  });

  it('waits at most 3 s for the last spans to be sent if their receiver does not answer', async () => {
    const { stdout, stderr } = await run(`
      const { mock } = await import('node:test');
      const { traceWith } = await import('./platform/infra/telemetry/start.ts');
      const { samplerOf } = await import('./platform/infra/telemetry/sampler.ts');
      const silent = { export() {}, forceFlush: async () => {}, shutdown: () => new Promise(() => {}) };
      const sampler = samplerOf({ sampler: 'parentbased_always_on', samplerShare: '1' });
      const tracer = traceWith({ oneByOne: silent }, 'club-learning', sampler);
      mock.timers.enable({ apis: ['setTimeout'] });
      let hasStopped = false;
      void tracer.stop().then(() => (hasStopped = true));
      const stoppedAfter = async (ms) => {
        mock.timers.tick(ms);
        await new Promise(setImmediate);
        return hasStopped;
      };
      process.stdout.write(JSON.stringify([await stoppedAfter(2_999), await stoppedAfter(1)]));
      process.exit(0);`);
    expect(stdout, stderr).to.equal('[false,true]');
  });

  it('sends the configured headers, and reports spans that a receiver refuses', async () => {
    const directory = await mkdtemp(path.join(os.tmpdir(), 'club-telemetry-'));
    const headers = path.join(directory, 'headers');
    await writeFile(headers, 'api-key=a%20b=c, tenant=50%');
    const requests: unknown[] = [];
    const receiver = http.createServer((request, response) => {
      const { 'api-key': key, tenant } = request.headers;
      requests.push([request.method, request.url, key, tenant]);
      request.resume().on('end', () => response.writeHead(401).end('of mary@example.com'));
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    const { stdout, stderr } = await run(
      `await import('./telemetry.ts');
       const { inSpan, reportLostSpans, stopTracing } = await import('./platform/infra/tracing.ts');
       reportLostSpans((lost) => process.stdout.write(JSON.stringify(lost)));
       await inSpan('step', {}, async () => {});
       await stopTracing();
       process.exit(0);`,
      {
        OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`,
        OTEL_EXPORTER_OTLP_HEADERS_FILE: headers,
      },
    );
    receiver.close();
    await rm(directory, { recursive: true });
    expect(requests, stderr).to.deep.equal([['POST', '/v1/traces', 'a b=c', '50%']]);
    expect(stdout).to.equal('{"spans":1,"code":"401"}');
  });
});
