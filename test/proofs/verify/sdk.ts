/**
 * `npm run prove -- verify sdk` verifies the package as its users get it. The packed package must please publint and attw, and must install
 * into an empty project. The samples of its pages must compile there. The samples of the tutorial and the commands of the package must run on
 * Node 22 and 24 against a real service.
 */
import { stat, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { runCommand } from '../../../dev/stack/commands.ts';
import { messageOf, Problem } from '../../../dev/problem.ts';
import { projectDirectory } from '../../../dev/project.ts';
import { until } from '../../../dev/stack/readiness.ts';
import { freePorts } from '../../../dev/stack/ports.ts';
import { progress } from '../faults/progress.ts';
import { onGround, type Ground } from '../faults/victims.ts';
import { runInstalledCommands } from './sdk/commands.ts';
import { samplesOf, type PageSample } from './sdk/samples.ts';
import type { Site } from './site.ts';

/** The oldest supported version of Node, from the package that `node@22` installs. */
const oldNode = { name: `node-${process.platform}-${process.arch}`, version: '22.23.3' };
const tutorial = 'docs/tutorial/first-integration.md';
const readme = 'sdk/README.md';
const tool = (...parts: string[]) => path.join(projectDirectory, 'node_modules', ...parts);
const npmQuietly = ['--no-audit', '--no-fund', '--loglevel=error', '--prefer-offline'];

/** @throws Problem with the fault */
export async function verifySdk(site: Site): Promise<string> {
  const archive = await pack(site.directory);
  const kilobytes = Math.ceil((await stat(archive)).size / 1_000);
  progress(`packed: ${kilobytes} kB`);
  await runCommand(process.execPath, [tool('publint', 'src', 'cli.js'), 'run', archive, '--strict']);
  const attw = tool('@arethetypeswrong', 'cli', 'dist', 'index.js');
  await runCommand(process.execPath, [attw, archive, '--profile', 'esm-only']);
  progress('publint and attw found nothing');

  const project = path.join(site.directory, 'project');
  await install(project, archive);
  const [samples, fragments] = [samplesOf(tutorial), samplesOf(readme)];
  await compile(project, 'programs', samples, { lib: ['ES2023'], types: ['node'], skipLibCheck: false });
  await compile(project, 'fragments', fragments, {
    lib: ['ES2023', 'DOM', 'DOM.AsyncIterable'],
    types: [],
    skipLibCheck: true,
  });
  progress(`${samples.length} programs compile for Node, and ${fragments.length} samples for browsers`);

  const nodes = [path.join(project, 'node_modules', oldNode.name, 'bin', 'node'), process.execPath];
  const runs = await onGround(
    new Promise<never>(() => undefined),
    async (ground) => {
      let count = 0;
      for (const node of nodes) count += await runAll(ground, node, project, samples);
      return count;
    },
    {},
    ['temporal', 'postgres', 'mailbox'],
  );
  return `sdk: ${kilobytes} kB, samples ${(runs ?? 0) + fragments.length} passed, 0 failed`;
}

async function pack(directory: string): Promise<string> {
  const args = ['pack', '--silent', '--pack-destination', directory];
  const [name = ''] = (await runCommand('npm', args, { cwd: path.join(projectDirectory, 'sdk') }))
    .trim()
    .split('\n')
    .slice(-1);
  return path.join(directory, name);
}

async function install(project: string, archive: string): Promise<void> {
  await mkdir(project);
  await writeFile(path.join(project, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
  const packages = [archive, `${oldNode.name}@${oldNode.version}`, '@types/node@24.19.2'];
  await runCommand('npm', ['install', ...npmQuietly, ...packages], { cwd: project });
}

async function compile(
  project: string,
  folder: string,
  samples: readonly PageSample[],
  platform: object,
): Promise<void> {
  const directory = path.join(project, folder);
  await mkdir(directory);
  for (const { file, code } of samples) await writeFile(path.join(directory, file), code);
  const strict = { strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true };
  const form = {
    module: 'NodeNext',
    target: 'ES2022',
    moduleDetection: 'force',
    erasableSyntaxOnly: true,
    noEmit: true,
  };
  const config = { compilerOptions: { ...strict, ...form, ...platform }, include: ['*.ts'] };
  await writeFile(path.join(directory, 'tsconfig.json'), JSON.stringify(config));
  await runCommand(process.execPath, [tool('typescript', 'bin', 'tsc'), '-p', directory]).catch((error: unknown) => {
    throw new Problem(`The samples in ${folder} do not compile: ${messageOf(error)}`);
  });
}

const lastLines: Readonly<Record<string, RegExp>> = {
  'sign-up.ts': /^Confirm the address/,
  'make-key.ts': /^API_KEY=clk_/,
  'students.ts': / Ada$/,
  'grant.ts': /^Ada has 1 access to the course\.$/,
  'receive.ts': /^Dee is new\.$/,
};

async function runAll(ground: Ground, node: string, project: string, samples: readonly PageSample[]): Promise<number> {
  const directory = path.join(project, 'programs');
  const version = (await runCommand(node, ['--version'])).trim();
  const address = `grace-${version.slice(1).replaceAll('.', '-')}@example.com`;
  const certificate = await ground.stack.authority.issue(['127.0.0.1']);
  await writeFile(path.join(directory, 'receiver.pem'), certificate.cert);
  await writeFile(path.join(directory, 'receiver-key.pem'), certificate.key);
  const { receiver } = await freePorts(['receiver'] as const);
  const base = { API_URL: ground.urls.API, PORT: String(receiver) };
  let keyed: Readonly<Record<string, string>> = base;
  for (const { file, code } of samples) {
    const pattern = lastLines[file];
    if (!pattern) throw new Problem(`The proof does not know what ${file} of ${tutorial} prints.`);
    await writeFile(path.join(directory, file), code.replace('grace@example.com', address));
    const args = file === 'make-key.ts' ? [file, await tokenFor(ground, address)] : [file];
    const output = await runCommand(node, args, { cwd: directory, env: keyed, timeoutMs: 60_000 }).catch(
      (error: unknown) => {
        throw new Problem(`${file} failed on Node ${version}: ${messageOf(error)}`);
      },
    );
    // Node 22 warns that it strips types.
    const lines = output
      .split('\n')
      .filter((line) => line !== '' && !/ExperimentalWarning|--trace-warnings/.test(line));
    if (!pattern.test(lines.at(-1) ?? '')) throw new Problem(`${file} printed on Node ${version}:\n${output}`);
    if (file === 'make-key.ts')
      keyed = { ...base, ...Object.fromEntries(lines.map((line) => line.split('=') as [string, string])) };
    progress(`${version} ${file}: ${file === 'make-key.ts' ? 'API_KEY=…' : lines.at(-1)}`);
  }
  const { CLUB_ID: clubId = '', API_KEY: key = '' } = keyed;
  for (const line of await runInstalledCommands(node, project, { url: ground.urls.API, clubId, key }))
    progress(`${version} ${line}`);
  return samples.length;
}

function tokenFor({ stack: { mailbox } }: Ground, address: string): Promise<string> {
  const look = async () => {
    const [newest] = (await fetchJson<{ id: string }[]>(`${mailbox?.httpUrl}/api/messages?to=${address}`)) ?? [];
    if (!newest) throw new Error('no mail has arrived');
    const { text } = await fetchJson<{ text: string }>(`${mailbox?.httpUrl}/api/messages/${newest.id}`);
    const [, token] = /token=([\w-]+)/.exec(text) ?? [];
    if (token === undefined) throw new Error('the mail has no token');
    return token;
  };
  return until(`A mail to ${address}`, look, { timeoutMs: 30_000 });
}

async function fetchJson<T>(url: string): Promise<T> {
  return ((await (await fetch(url)).json()) as { data: T }).data;
}
