import { expect } from 'chai';
import fs, { cpSync, mkdtempSync, readFileSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import ts from 'typescript';
import { assetFiles, buildIdOf } from '../../dev/build.ts';
import { projectDirectory } from '../../dev/project.ts';
import { commandLine, isBuilt, moduleAt } from '../../platform/core/modules.ts';

const read = (file: string) => readFileSync(path.join(projectDirectory, file), 'utf8');

/** The modules of the build, and the files that it copies. contract/generate.ts is not part of the service. */
const folders = '{activities,api,contract,domain,entities,platform,worker,workflows}';
const modules = [
  'main.ts',
  'telemetry.ts',
  'config.ts',
  ...fs.globSync(`${folders}/**/*.ts`, { cwd: projectDirectory }),
]
  .filter((file) => file !== 'contract/generate.ts')
  .toSorted();
const copied = assetFiles();

/** @returns one entry for each call that matches `call`: the module (`file`), and the path of the file that the call names (`named`) */
const namedBy = (call: RegExp) =>
  modules.flatMap((file) =>
    [...read(file).matchAll(call)].map(([, name = '']) => ({ file, named: path.posix.join(path.dirname(file), name) })),
  );

describe('dev/build', () => {
  it('compiles every module that a thread or a bundler loads by its path', () => {
    const { config } = ts.readConfigFile(path.join(projectDirectory, 'tsconfig.build.json'), ts.sys.readFile) as {
      config: { files: string[] };
    };
    const loaded = new Set(namedBy(/\bmoduleAt\('([^']+)'/g).map(({ named }) => named));
    expect([...loaded].toSorted()).to.deep.equal([
      ...config.files.filter((file) => file.endsWith('-thread.ts')),
      'workflows/index.ts', // in the bundle
      'workflows/traces.ts', // in the bundle
    ]);
  });

  it('allows modules to address other modules only with moduleAt, not with new URL', () => {
    expect(namedBy(/new URL\(\s*'([^']+\.ts)'/g)).to.deep.equal([]);
  });

  it('copies every file that a module addresses by URL', () => {
    const named = namedBy(/new URL\(\s*(?:isBuilt \? )?'([^']+)'/g).filter(
      ({ named: file }) => !['build.json', 'workflow-bundle.js'].includes(file),
    );
    expect(named).to.have.length.above(7);
    const missing = named.filter(
      ({ named: file }) => !copied.some((one) => one === file || one.startsWith(`${file}/`)),
    );
    expect(missing).to.deep.equal([]);
  });

  it('copies only files that a module addresses, and files that these files import', () => {
    expect(copied).to.deep.equal([
      'api/pages/certificate.css',
      'api/pages/preview.css',
      'api/pages/unsubscribe.css',
      'contract/generated/openapi.json',
      'contract/reference/start.js',
      'contract/reference/style.css',
      'platform/infra/images/child.mjs',
      'platform/infra/images/coded-colors.mjs',
      'platform/infra/images/colors.mjs',
      'platform/infra/images/mail-picture-child.mjs',
      'platform/infra/images/page-child.mjs',
      'platform/infra/images/print-picture-child.mjs',
      'platform/infra/images/shrink-child.mjs',
      'platform/start.mjs',
    ]);
  });
});

describe('a module’s address', () => {
  it('leads to the source in a checkout, and commands of a checkout start with the loader', () => {
    expect(isBuilt).to.equal(false);
    expect(moduleAt('../worker/main.ts', 'file:///srv/dev/one.ts').href).to.equal('file:///srv/worker/main.ts');
    expect(commandLine('migrate')).to.equal('node --import ./platform/load.mjs main.ts migrate');
  });

  it('leads to the compiled module in a build', async () => {
    const directory = mkdtempSync(path.join(os.tmpdir(), 'built-'));
    try {
      const { outputText } = ts.transpileModule(read('platform/core/modules.ts'), {
        compilerOptions: { target: ts.ScriptTarget.ES2024, module: ts.ModuleKind.ESNext },
      });
      const file = path.join(directory, 'modules.js');
      writeFileSync(path.join(directory, 'package.json'), '{ "type": "module" }');
      writeFileSync(file, outputText);
      const compiled = (await import(file)) as { moduleAt: typeof moduleAt; commandLine: typeof commandLine };
      expect(compiled.moduleAt('./one-thread.ts', 'file:///srv/dist/two.js').href).to.equal(
        'file:///srv/dist/one-thread.js',
      );
      expect(compiled.commandLine('migrate')).to.equal('node dist/main.js migrate');
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});

describe('the build id', () => {
  let directory: string;
  let dist: string;
  let lockFile: string;
  beforeEach(() => {
    directory = mkdtempSync(path.join(os.tmpdir(), 'build-id-'));
    dist = path.join(directory, 'dist');
    lockFile = path.join(directory, 'package-lock.json');
    fs.mkdirSync(path.join(dist, 'api'), { recursive: true });
    writeFileSync(path.join(dist, 'main.js'), 'main');
    writeFileSync(path.join(dist, 'api', 'server.js'), 'server');
    writeFileSync(lockFile, '{}');
  });
  afterEach(() => rmSync(directory, { recursive: true }));
  const id = () => buildIdOf(dist, lockFile);

  it('depends only on the files, and not on their directory, their times or the recorded build id', () => {
    const before = id();
    expect(before).to.equal('ff49e59b4aaab32e');
    const elsewhere = path.join(directory, 'elsewhere');
    cpSync(dist, elsewhere, { recursive: true });
    utimesSync(path.join(elsewhere, 'main.js'), 0, 0);
    writeFileSync(path.join(elsewhere, 'build.json'), '{}');
    expect(buildIdOf(elsewhere, lockFile)).to.equal(before);
  });

  it('differs if a file, its name or a dependency differs', () => {
    const ids = [id()];
    const change = (by: () => void) => {
      by();
      ids.push(id());
    };
    change(() => writeFileSync(path.join(dist, 'main.js'), 'changed'));
    change(() => renameSync(path.join(dist, 'main.js'), path.join(dist, 'other.js')));
    change(() => renameSync(path.join(dist, 'api', 'server.js'), path.join(dist, 'server.js')));
    change(() => writeFileSync(lockFile, '{ }'));
    expect(new Set(ids).size).to.equal(5);
  });
});
