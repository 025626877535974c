/** Tracing as a process begins with it: by `--import`, or as main.ts does. */
import { expect } from 'chai';
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { projectDirectory } from '../dev/project.ts';

/** Loads modules in a process. @returns what it loaded of tracing: packages, by their names */
function loadedBy(modules: readonly string[], env: Readonly<Record<string, string>>): string[] {
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
  const load = path.join(projectDirectory, 'platform/load.mjs');
  const args = ['--import', load, '--input-type=module', '--eval', script];
  const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: projectDirectory, encoding: 'utf8', env });
  if (!stdout.startsWith('[')) throw new Error(stderr);
  return JSON.parse(stdout) as string[];
}

describe('telemetry', () => {
  it('loads nothing of OpenTelemetry without an endpoint', () => {
    expect(loadedBy(['./telemetry.ts'], {})).to.deep.equal([]);
  });

  it('is all that does: API and worker load what the client of the model brings, which does nothing alone', function () {
    this.timeout(60_000);
    expect(loadedBy(['./api/server.ts', './worker/main.ts'], {})).to.deep.equal(['@opentelemetry/api']);
  });

  it('loads it with an endpoint', () => {
    const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' };
    expect(loadedBy(['./telemetry.ts'], endpoint)).to.include.members([
      '@opentelemetry/sdk-node',
      'import-in-the-middle',
    ]);
  });
});
