/**
 * Verifies connections to Temporal with TLS, a client certificate and an API key, and connections to Postgres through PgBouncer. The
 * commands and the whole tour must work if the settings are valid. If a setting is invalid, each command
 * must refuse the setting and give advice.
 */
import { spawn } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { DefaultLogger } from '@temporalio/worker';
import { allocatorSettings } from '../../../dev/stack/allocator.ts';
import { makeAuthority } from '../../../dev/stack/certificates.ts';
import { startChild } from '../../../dev/stack/children.ts';
import { locate } from '../../../dev/components.ts';
import { components } from '../../../dev/components/catalogue.ts';
import { startFakeModel } from '../../../dev/fake-model/fake-model.ts';
import { freePorts, host } from '../../../dev/stack/ports.ts';
import { Problem } from '../../../dev/problem.ts';
import { scriptArguments } from '../../../dev/project.ts';
import { until, untilOk, untilPortAnswers } from '../../../dev/stack/readiness.ts';
import type { Stack } from '../../../dev/stack/stack.ts';
import { runTour } from '../../../dev/tour/tour.ts';
import { writeWorkflowBundle } from '../../../worker/temporal/workflow-bundle.ts';
import { progress } from '../faults/progress.ts';
import { startTemporalTerminator, type TemporalTerminator } from '../../toolkit/fakes/temporal-terminator.ts';
import { startPooler, type Pooler } from './pgbouncer.ts';
import { startStackOn, type Site } from './site.ts';

type Environment = Readonly<Record<string, string>>;

/** The time limit for the start of a process. A busy machine needs this time. */
const readyWithinMs = 180_000;
/** The service reads its key every 30 s. */
const newKeyWithinMs = 45_000;

const counts = { accepted: 0, refused: 0 };

interface Scene {
  readonly site: Site;
  readonly stack: Stack;
  /** The variables that all commands get. Variables for TLS or a pooler are added to these. */
  readonly environment: Environment;
  readonly files: Readonly<Record<'authority' | 'cert' | 'key' | 'strangeCert' | 'strangeKey' | 'apiKey', string>>;
  /** TLS terminators in front of Temporal. `mutual` demands a client certificate, `keyed` demands an API key, and `both` demands both. */
  readonly mutual: TemporalTerminator;
  readonly keyed: TemporalTerminator;
  readonly both: TemporalTerminator;
}

export async function verifyConnections(site: Site): Promise<string> {
  const scene = await setScene(site);
  await connectToTemporal(scene);
  await refuseTemporal(scene);
  await askTheDoctor(scene);
  const pooler = await startPooler(site, databaseUrlOf(scene), { program: 'current', prepared: 200 });
  progress(`before Postgres: ${pooler.version}`);
  await refusePostgres(scene, pooler);
  await poolSessions(scene, pooler);
  await poolTransactions(scene, pooler);
  return `connections: ${counts.accepted} accepted, ${counts.refused} refused as documented`;
}

const databaseUrlOf = ({ environment }: Scene): string => environment['DATABASE_URL'] ?? '';

async function setScene(site: Site): Promise<Scene> {
  const stack = await startStackOn(site);
  const model = await startFakeModel({ delayMs: 1 });
  site.stops.push(() => model.stop());
  const bundle = path.join(site.directory, 'workflow-bundle.js');
  await writeWorkflowBundle(bundle, new DefaultLogger('ERROR'));

  const [authority, stranger] = await Promise.all([makeAuthority(), makeAuthority()]);
  const [own, strange] = await Promise.all(
    [authority, stranger].map((issuer) => issuer.issue(['worker'], { ofClient: true })),
  );
  const contents = {
    authority: authority.certificate,
    cert: own?.cert ?? '',
    key: own?.key ?? '',
    strangeCert: strange?.cert ?? '',
    strangeKey: strange?.key ?? '',
    apiKey: 'first-key\n',
  };
  const keys = path.join(site.directory, 'keys');
  await mkdir(keys);
  const files = Object.fromEntries(
    Object.keys(contents).map((name) => [name, path.join(keys, name)]),
  ) as Scene['files'];
  for (const [name, content] of Object.entries(contents)) await writeFile(path.join(keys, name), content);

  const to = stack.environment['TEMPORAL_ADDRESS'] ?? '';
  const terminators = await Promise.all([
    startTemporalTerminator({ to, authority, clientsOf: authority }),
    startTemporalTerminator({ to, authority }),
    startTemporalTerminator({ to, authority, clientsOf: authority }),
  ]);
  const [mutual, keyed, both] = terminators;
  keyed.apiKeys = both.apiKeys = ['first-key'];
  site.stops.push(...terminators.map((terminator) => () => terminator.stop()));
  const environment = {
    PATH: process.env['PATH'] ?? '',
    HOME: process.env['HOME'] ?? '',
    ...allocatorSettings,
    ...stack.environment,
    WORKFLOW_BUNDLE_FILE: bundle,
    FFMPEG_BINARY: await locate(components.ffmpeg),
    AUTOMATION_WAIT_SPEED: '3600',
    ANTHROPIC_BASE_URL: model.url,
    ANTHROPIC_API_KEY: 'fake',
  };
  return { site, stack, environment, files, mutual, keyed, both };
}

const tlsTo = ({ files }: Scene, { address }: TemporalTerminator): Environment => ({
  TEMPORAL_ADDRESS: address,
  TEMPORAL_TLS_SERVER_CA_CERT_PATH: files.authority,
});
const certificate = ({ files }: Scene): Environment => ({
  TEMPORAL_TLS_CLIENT_CERT_PATH: files.cert,
  TEMPORAL_TLS_CLIENT_KEY_PATH: files.key,
});

/** `migrate` uses the database, `setup` uses Temporal. */
async function connectToTemporal(scene: Scene): Promise<void> {
  const { keyed, mutual, both, files } = scene;
  await refuses(scene, 'an old schema', 'api', {}, ['The schema is behind this version: run']);
  await accepts(scene, 'migrate, straight to Postgres', 'migrate', {}, 'Migrated: ');
  const closingText = 'The namespace club-learning exists.';
  await accepts(scene, 'Temporal without TLS', 'setup', {}, closingText);
  await accepts(
    scene,
    'a client certificate',
    'setup',
    { ...tlsTo(scene, mutual), ...certificate(scene) },
    closingText,
  );
  const key = { TEMPORAL_API_KEY_FILE: files.apiKey };
  await accepts(scene, 'TLS and an API key from its file', 'setup', { ...tlsTo(scene, keyed), ...key }, closingText);
  const all = { ...tlsTo(scene, both), ...certificate(scene), ...key };
  await accepts(scene, 'a client certificate and an API key', 'setup', all, closingText);
}

async function refuseTemporal(scene: Scene): Promise<void> {
  const { environment, keyed, mutual, files, site } = scene;
  const half = { TEMPORAL_TLS_CLIENT_CERT_PATH: files.cert };
  const unencrypted = { TEMPORAL_API_KEY: 'a-key', TEMPORAL_TLS: 'false' };
  const unverified = { TEMPORAL_TLS_DISABLE_HOST_VERIFICATION: 'true' };
  const twice = { DATABASE_URL_FILE: files.apiKey };
  const wrong = {
    half: 'but TEMPORAL_TLS_CLIENT_KEY_PATH or _DATA is not: a client certificate needs both, set the other one, too',
    unencrypted: 'TEMPORAL_API_KEY would be sent unencrypted, because TEMPORAL_TLS is false: set TEMPORAL_TLS to true',
    unverified: 'TEMPORAL_TLS_DISABLE_HOST_VERIFICATION must be false: another server could pretend to be Temporal',
    twice: 'DATABASE_URL and DATABASE_URL_FILE are both set: set one of them',
  };
  await refuses(scene, 'half of a client certificate', 'worker', half, [wrong.half]);
  await refuses(scene, 'an API key without TLS', 'worker', unencrypted, [wrong.unencrypted]);
  await refuses(scene, 'a host that is not verified', 'worker', unverified, [wrong.unverified]);
  await refuses(scene, 'a variable and its file', 'worker', twice, [wrong.twice]);
  const everything = { ...half, ...unencrypted, ...unverified, ...twice };
  await refuses(scene, 'all of these together', 'worker', everything, Object.values(wrong));

  await refuses(scene, 'no client certificate', 'worker', tlsTo(scene, mutual), ['demands a client certificate: set']);
  const strange = {
    ...tlsTo(scene, mutual),
    TEMPORAL_TLS_CLIENT_CERT_PATH: files.strangeCert,
    TEMPORAL_TLS_CLIENT_KEY_PATH: files.strangeKey,
  };
  await refuses(scene, "a stranger's client certificate", 'worker', strange, [
    'does not accept our client certificate',
  ]);
  const unknown = { TEMPORAL_ADDRESS: keyed.address, TEMPORAL_TLS: 'true' };
  await refuses(scene, 'a server of an unknown authority', 'worker', unknown, [
    'has a certificate of an unknown authority',
  ]);
  await refuses(scene, 'no TLS to a server that requires TLS', 'worker', { TEMPORAL_ADDRESS: keyed.address }, [
    'uses TLS, and we do not: set TEMPORAL_TLS to true',
  ]);
  await refuses(scene, 'no API key', 'worker', tlsTo(scene, keyed), ['requires an API key: set']);
  const wrongKey = { ...tlsTo(scene, keyed), TEMPORAL_API_KEY: 'another' };
  await refuses(scene, 'a wrong API key', 'worker', wrongKey, ['refuses the key of TEMPORAL_API_KEY']);

  const to = environment['TEMPORAL_ADDRESS'] ?? '';
  const authority = await makeAuthority();
  const file = path.join(site.directory, 'other-authority');
  await writeFile(file, authority.certificate);
  const [old, closed] = await Promise.all([
    startTemporalTerminator({ to, authority, serverVersion: '1.29.0' }),
    startTemporalTerminator({ to, authority, refusesOperators: true }),
  ]);
  site.stops.push(
    () => old.stop(),
    () => closed.stop(),
  );
  const others = { TEMPORAL_TLS_SERVER_CA_CERT_PATH: file };
  await refuses(scene, 'a server that is too old', 'worker', { ...others, TEMPORAL_ADDRESS: old.address }, [
    'The Temporal server is 1.29.0. This service needs 1.29.1 or later',
  ]);
  const newNamespace = { TEMPORAL_NAMESPACE: 'not-there' };
  await refuses(scene, 'a namespace that is not there', 'worker', newNamespace, [
    'Temporal has no namespace not-there',
  ]);
  const cloud = { ...others, ...newNamespace, TEMPORAL_ADDRESS: closed.address };
  await refuses(
    scene,
    'setup without operator calls',
    'setup',
    cloud,
    [
      'temporal operator namespace create --namespace not-there',
      'in Temporal Cloud: tcld namespace search-attributes add --namespace not-there --search-attribute ClubId=Keyword',
    ],
    3,
  );
}

async function askTheDoctor(scene: Scene): Promise<void> {
  const { environment, both, files } = scene;
  const all = { ...tlsTo(scene, both), ...certificate(scene), TEMPORAL_API_KEY_FILE: files.apiKey };
  await accepts(scene, 'the doctor with a certificate and an API key', 'doctor', all, 'ok     Postgres: ');

  const unfair = await startUnfairTemporal(scene);
  await accepts(
    scene,
    'setup of a server without configuration',
    'setup',
    { TEMPORAL_ADDRESS: unfair },
    'The namespace club-learning',
  );
  const wrong = await run(scene, 'doctor', {
    TEMPORAL_ADDRESS: unfair,
    CORS_ORIGINS: 'https://dashboard.example.com',
    SMTP_URL: environment['S3_ENDPOINT']?.replace('http', 'smtp') ?? '',
  });
  for (const [what, words] of [
    [
      'fairness that is off',
      'set matching.enableFairness to true in the dynamic configuration of a cluster; in Temporal Cloud',
    ],
    ['a bucket that refuses files from web pages', 'S3 does not let pages of https://dashboard.example.com send files'],
    ['an address without a mail server', 'The mail server of SMTP_URL cannot be used'],
  ] as const)
    expectRefused(`the doctor: ${what}`, { ...wrong, output: wrong.stdout }, [words], 1);
}

/** Starts a Temporal server that has the defaults of a cluster without dynamic configuration. @returns its address */
async function startUnfairTemporal({ site }: Scene): Promise<string> {
  const { port } = await freePorts(['port']);
  const server = startChild({
    name: 'A Temporal without fairness',
    command: await locate(components.temporal),
    args: ['server', 'start-dev', '--ip', host, '--port', String(port), '--headless'],
    logFile: path.join(site.directory, 'logs', 'unfair.log'),
  });
  site.stops.push(() => server.stop());
  await untilPortAnswers(port, { timeoutMs: readyWithinMs, child: server });
  return `${host}:${port}`;
}

async function refusePostgres(scene: Scene, pooler: Pooler): Promise<void> {
  const { site } = scene;
  const direct = databaseUrlOf(scene);
  const transactions = { DATABASE_URL: pooler.url('transaction') };
  const notReceived = 'A listener at DATABASE_URL does not receive the notifications of DATABASE_URL';
  for (const command of ['api', 'worker', 'migrate'] as const)
    await refuses(scene, `${command}: LISTEN through a pooler in transaction mode`, command, transactions, [
      notReceived,
    ]);

  const bare = new URL(direct);
  await withPostgres(direct, (client) => client.query(`CREATE ROLE bare LOGIN SUPERUSER PASSWORD 'bare'`));
  [bare.username, bare.password] = ['bare', 'bare'];
  const words = [
    'The role of DATABASE_URL has no time limits',
    "ALTER ROLE bare IN DATABASE club_learning SET lock_timeout = '5000ms';",
  ];
  await refuses(scene, 'a role without time limits', 'worker', { DATABASE_URL: bare.href }, words);
  await accepts(
    scene,
    'setup for the role without time limits',
    'setup',
    { DATABASE_URL: bare.href },
    'The namespace club-learning',
  );
  await accepts(
    scene,
    'the doctor for the role after setup',
    'doctor',
    { DATABASE_URL: bare.href },
    'ok     Postgres: ',
  );

  const loses = ['DATABASE_URL leads through a pooler that loses prepared statements: take PgBouncer 1.21 or later'];
  const forgetful = await startPooler(site, direct, { program: 'current', prepared: 0 });
  const past = (of: Pooler) => ({ DATABASE_URL: of.url('transaction'), DATABASE_DIRECT_URL: direct });
  await refuses(scene, 'a pooler without prepared statements', 'worker', past(forgetful), loses);
  const old = await startPooler(site, direct, { program: 'old' });
  progress(`before Postgres: ${old.version}`);
  await refuses(scene, `${old.version}, which is too old`, 'worker', past(old), loses);
}

/** Runs all commands through a pool of sessions, even LISTEN and migrations. */
async function poolSessions(scene: Scene, pooler: Pooler): Promise<void> {
  const environment = { DATABASE_URL: pooler.url('session') };
  await accepts(scene, 'migrate through a pooler in session mode', 'migrate', environment, 'The schema is up to date.');
  await withServices(scene, environment, async () => progress('API and worker run with a pool of sessions'));
  counts.accepted++;
}

/**
 * Plays the tour with PgBouncer in transaction mode, and with a Temporal that demands a certificate and an API key. The API key changes
 * during the tour.
 */
async function poolTransactions(scene: Scene, pooler: Pooler): Promise<void> {
  const { both, files } = scene;
  const environment = {
    DATABASE_URL: pooler.url('transaction'),
    DATABASE_DIRECT_URL: databaseUrlOf(scene),
    ...tlsTo(scene, both),
    ...certificate(scene),
    TEMPORAL_API_KEY_FILE: files.apiKey,
  };
  await accepts(scene, 'migrate by the direct address', 'migrate', environment, 'The schema is up to date.');
  await withServices(scene, environment, async (running) => {
    // For a while both keys are valid, as when an operator renews a key.
    both.apiKeys = ['first-key', 'second-key'];
    await writeFile(files.apiKey, 'second-key\n');
    const tour = await runTour({
      environment: { ...running, TEMPORAL_UI_URL: 'http://127.0.0.1:9' },
      authority: scene.stack.authority,
      say: tellTitle,
    });
    await tour.stop();
    counts.accepted++;
    progress('the tour passed by a pool of transactions, a client certificate and an API key');
    await until(
      'the second key',
      async () => (both.callsBy.has('second-key') ? true : Promise.reject(new Error('not yet'))),
      {
        timeoutMs: newKeyWithinMs,
      },
    );
    both.apiKeys = ['second-key'];
    const before = both.callsBy.get('second-key') ?? 0;
    await sleep(3_000);
    const calls = (both.callsBy.get('second-key') ?? 0) - before;
    if (calls === 0) throw new Problem('No call to Temporal uses the second key');
    counts.accepted++;
    progress(`the worker continues with the second key without a restart: ${calls} calls in 3 s`);
  });
}

async function withServices(
  scene: Scene,
  changes: Environment,
  work: (running: Environment) => Promise<void>,
): Promise<void> {
  const ports = await freePorts(['api', 'files', 'worker']);
  const environment: Environment = {
    ...scene.environment,
    ...changes,
    API_PORT: String(ports.api),
    FILES_PORT: String(ports.files),
    WORKER_PORT: String(ports.worker),
    PUBLIC_URL: `http://${host}:${ports.api}`,
    FILES_URL: `http://${host}:${ports.files}`,
  };
  const children = (['api', 'worker'] as const).map((name) => ({
    port: ports[name],
    child: startChild({
      name,
      command: process.execPath,
      args: [...scriptArguments('main.ts'), name],
      env: environment,
      stopSignal: 'SIGTERM',
      graceMs: 25_000,
      logFile: path.join(scene.site.directory, 'logs', `${name}.log`),
    }),
  }));
  for (const { child } of children) scene.site.stops.push(() => child.stop());
  for (const { port, child } of children)
    await untilOk(`http://${host}:${port}/readyz`, { timeoutMs: readyWithinMs, child });
  await work(environment).catch((error: unknown) => {
    for (const { child } of children) progress(`the last output of ${child.name}:\n${child.lastLines(20)}`);
    throw error;
  });
  for (const { child } of children) {
    await child.stop();
    const { code, signal } = await child.exited;
    if (code !== 0) throw new Problem(`${child.name} ended with ${signal ?? code}:\n${child.lastLines()}`);
  }
}

interface CommandResult {
  status: number | null;
  stdout: string;
  stderr: string;
}

type Command = 'migrate' | 'setup' | 'doctor' | 'api' | 'worker';

/** Runs a command until it ends. The API and the worker must refuse to start. If they start, they are stopped. */
function run({ environment }: Scene, command: Command, changes: Environment): Promise<CommandResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...scriptArguments('main.ts'), command], {
      env: { ...environment, API_PORT: '0', FILES_PORT: '0', WORKER_PORT: '0', ...changes },
      timeout: readyWithinMs,
    });
    const output = { stdout: '', stderr: '' };
    child.stdout.on('data', (chunk: Buffer) => (output.stdout += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (output.stderr += chunk.toString()));
    child.on('error', reject);
    child.on('close', (status) => resolve({ status, ...output }));
  });
}

async function accepts(
  scene: Scene,
  what: string,
  command: Command,
  changes: Environment,
  begin: string,
): Promise<void> {
  const { status, stdout, stderr } = await run(scene, command, changes);
  if (status !== 0 || !stdout.startsWith(begin) || stdout.includes('WRONG'))
    throw new Problem(`${what} should serve, but ${command} ended with ${status}:\n${stdout}${stderr}`);
  counts.accepted++;
  progress(`accepted: ${what}`);
}

async function refuses(
  scene: Scene,
  what: string,
  command: Command,
  changes: Environment,
  words: readonly string[],
  status = 1,
): Promise<void> {
  const ran = await run(scene, command, changes);
  expectRefused(what, { ...ran, output: ran.stderr }, words, status);
}

function expectRefused(
  what: string,
  ran: CommandResult & { output: string },
  words: readonly string[],
  status: number,
): void {
  const missing = words.filter((word) => !ran.output.includes(word));
  if (ran.status !== status || missing.length > 0)
    throw new Problem(
      `${what} should be refused with ${status}, but ended with ${ran.status}:\n${ran.stdout}${ran.stderr}\nMissing: ${missing.join(' | ')}`,
    );
  counts.refused++;
  progress(`refused: ${what}`);
}

async function withPostgres(url: string, work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}

/** Prints only the lines in capital letters. They are the titles of the parts of the tour. */
function tellTitle(line: string): void {
  if (/^\n?[A-Z][A-Z ,]+/.test(line)) progress(`the tour: ${line.trim().slice(0, 100)}`);
}
