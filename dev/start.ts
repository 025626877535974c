/**
 * `npm start` runs the whole product on one machine. It starts the development stack, migrates, starts API and worker, plays the tour, and
 * runs until Ctrl-C. Then it stops everything in reverse order. `-- --fake-model` adds a fake model for agents.
 */
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { startArguments, type StartArguments } from './arguments.ts';
import { authorityIn } from './stack/certificates.ts';
import { allocatorSettings } from './stack/allocator.ts';
import { type Child, describeExit, startChild } from './stack/children.ts';
import { runCommand } from './stack/commands.ts';
import { ensureComponents, locate } from './components.ts';
import { components } from './components/catalogue.ts';
import { settingOf, startLocalProvider } from './identity-provider/provider.ts';
import { interruption } from './interruption.ts';
import { ensurePortsAreFree, host, portsFromEnvironment } from './stack/ports.ts';
import { messageOf, Problem, runScript, say } from './problem.ts';
import { dataDirectory, projectDirectory, scriptArguments } from './project.ts';
import { untilOk } from './stack/readiness.ts';
import type { StackIsUp } from './serve.ts';
import type { CompanyProvider } from './tour/scenes/provider.ts';
import { runTour } from './tour/tour.ts';
import { tourWordsIn } from './tour/words/words.ts';

type Environment = Readonly<Record<string, string | undefined>>;
type Stop = () => Promise<void>;

/** The tour's address of the dashboard. The tour sends no browser there, and reads the code from the redirect. */
const redirectUri = 'http://dashboard.localhost:3000/sign-in/provider';

/** API and worker may finish work in flight when they stop. A webhook attempt may take 15 s. */
const drainMs = 25_000;
/** The worker first bundles the workflows. That takes some seconds, and on a busy machine more than a minute. */
const readyTimeoutMs = 180_000;

/** Waits of automations are shorter by this factor: an hour passes in a second, so the tour can show the end. */
const waitSpeed = 3_600;

/** API and worker do not shorten waits if other machines can reach them. */
const isOfThisMachine = (env: Environment) => !env['API_HOST'] && !env['WORKER_HOST'] && !env['PUBLIC_URL'];

async function start(): Promise<number> {
  const { LC_ALL, LC_MESSAGES, LANG } = process.env;
  const startOptions = startArguments(process.argv.slice(2), LC_ALL || LC_MESSAGES || LANG);
  if (startOptions.components) {
    await ensureComponents();
    return 0;
  }
  const interrupted = interruption();
  const stops: Stop[] = [];
  let fail: (problem: Problem) => void = () => undefined;
  const failed = new Promise<never>((_, reject) => (fail = reject));
  /** Ends the whole run when this child ends, unless this process has stopped the child. */
  const dependOn = (child: Child) => {
    child.exited.then(
      (exit) => exit.wasRequested || fail(new Problem(describeExit(child, exit))),
      (error: unknown) => fail(new Problem(`${child.name} could not be started: ${messageOf(error)}`)),
    );
  };

  try {
    const up = bringUp(startOptions, stops, dependOn);
    const complete = await Promise.race([up, failed, interrupted.then(() => undefined)]);
    if (complete !== undefined) await Promise.race([interrupted, failed]);
    return complete === false ? 1 : 0;
  } finally {
    if (stops.length > 0) say('\nStopping …');
    for (const stop of stops.toReversed()) await stop();
    if (stops.length > 0) say('Everything is stopped; the data stay (npm run reset removes them).');
  }
}

/**
 * Starts the identity provider of a company, with one person, and makes the secrets of two mail providers.
 * @returns the provider for the tour, and the settings with which the API accepts all three
 */
async function startCompany(stops: Stop[]): Promise<{ company: CompanyProvider; variables: Environment }> {
  const { authority } = await authorityIn(path.join(dataDirectory, 'certificates'));
  const provider = await startLocalProvider({
    certificate: await authority.issue(['localhost']),
    redirectUris: [redirectUri],
    people: [
      { subject: 'grace', login: 'grace', password: 'harbour', email: 'grace@company.example', name: 'Grace Harbour' },
    ],
  });
  stops.push(() => provider.stop());
  const variables = {
    IDENTITY_PROVIDERS: settingOf(provider, 'company', 'Harbour Company'),
    SIGN_IN_REDIRECT_URIS: redirectUri,
    MAIL_PROVIDERS: 'postmark,mailgun',
    MAIL_NOTICE_TOKEN: randomBytes(16).toString('hex'),
    MAILGUN_SIGNING_KEY: randomBytes(16).toString('hex'),
  };
  return { company: { provider, redirectUri }, variables };
}

/** @returns whether the tour was finished; the stack runs even if not */
async function bringUp(
  { fakeModel, language }: StartArguments,
  stops: Stop[],
  dependOn: (child: Child) => void,
): Promise<boolean> {
  const ports = portsFromEnvironment(
    ['api', 'apiMetrics', 'worker', 'files', ...(fakeModel ? (['fakeModel'] as const) : [])],
    process.env,
  );
  await ensurePortsAreFree(ports);

  say('Starting Temporal, Postgres, S3 and the mailbox …');
  // Takes a working ffmpeg from the PATH, or the one from `npm start -- --components`. Without it, the worker reports that.
  const ffmpeg = await locate({ ...components.ffmpeg, sources: [] }, { report: say }).catch((error: unknown) => {
    if (process.env[components.ffmpeg.variable]) throw error;
    say(
      'No ffmpeg that creates renditions was found: videos stay as they were uploaded (npm start -- --components installs one).',
    );
    return undefined;
  });
  const { company, variables } = await startCompany(stops);
  const environment: Environment = {
    ...allocatorSettings,
    ...(ffmpeg !== undefined && { FFMPEG_BINARY: ffmpeg }),
    PUBLIC_URL: `http://${host}:${ports.api}`,
    FILES_URL: `http://${host}:${ports.files}`,
    ...(isOfThisMachine(process.env) && { AUTOMATION_WAIT_SPEED: String(waitSpeed) }),
    ...variables,
    ...process.env,
    ...(await startDevelopmentStack(stops, dependOn)),
    API_PORT: String(ports.api),
    API_METRICS_PORT: String(ports.apiMetrics),
    FILES_PORT: String(ports.files),
    WORKER_PORT: String(ports.worker),
    ...(fakeModel ? await startFakeModel(ports.fakeModel, stops, dependOn) : {}),
  };

  const migrated = await runCommand(process.execPath, scriptArguments('commands/migrate.ts'), { env: environment });
  say(migrated.trim());

  const api = startProcess('The API', 'api/server.ts', environment);
  const worker = startProcess('The worker', 'worker/main.ts', environment);
  stops.push(async () => void (await Promise.all([api.stop(), worker.stop()])));
  await Promise.all([
    untilOk(`http://${host}:${ports.api}/readyz`, { timeoutMs: readyTimeoutMs, child: api }),
    untilOk(`http://${host}:${ports.worker}/readyz`, { timeoutMs: readyTimeoutMs, child: worker }),
  ]);
  dependOn(api);
  dependOn(worker);
  say(`API and worker are ready; their logs: ${path.relative(process.cwd(), path.join(dataDirectory, 'logs'))}\n`);

  try {
    const { authority } = await authorityIn(path.join(dataDirectory, 'certificates'));
    const tour = await runTour({ environment, authority, company, language, say });
    stops.splice(-1, 0, tour.stop);
    say(`\n${tourWordsIn(language)('stays_up')}`);
    return true;
  } catch (error) {
    say(
      `\nThe tour did not finish: ${messageOf(error)}\nEverything stays up until Ctrl-C, so that you can look at it.`,
    );
    return false;
  }
}

/** Runs temporal-dev.sh until all parts of the stack are ready. @returns the environment for API and worker */
async function startDevelopmentStack(stops: Stop[], dependOn: (child: Child) => void): Promise<Environment> {
  const script = startChild({
    name: 'The development stack',
    command: path.join(projectDirectory, 'temporal-dev.sh'),
    args: [],
    logFile: undefined,
    attached: 'terminal',
    graceMs: drainMs,
  });
  stops.push(() => script.stop());
  const isUp = new Promise<StackIsUp>((resolve) => script.onMessage((message) => resolve(message as StackIsUp)));
  const over = script.exited.then((exit): never => {
    // The child has already printed the reason.
    throw new Problem(`The development stack did not start (exit code ${exit.code}).`);
  });
  const { environment } = await Promise.race([isUp, over]);
  dependOn(script);
  return environment;
}

/** @returns variables by which API and worker use the fake model, even if the caller has a key for the real one */
async function startFakeModel(port: number, stops: Stop[], dependOn: (child: Child) => void): Promise<Environment> {
  const model = startProcess('The fake model', 'dev/fake-model/serve.ts', {
    ...process.env,
    FAKE_MODEL_PORT: String(port),
  });
  stops.push(() => model.stop());
  await untilOk(`http://${host}:${port}/readyz`, { timeoutMs: readyTimeoutMs, child: model });
  dependOn(model);
  say(`Agents ask a fake model, http://${host}:${port}: it only copies sentences from the material.`);
  return { ANTHROPIC_BASE_URL: `http://${host}:${port}`, ANTHROPIC_API_KEY: 'fake' };
}

function startProcess(name: string, file: string, environment: Environment): Child {
  return startChild({
    name,
    command: process.execPath,
    args: scriptArguments(file),
    env: environment,
    cwd: projectDirectory,
    logFile: path.join(dataDirectory, 'logs', `${path.basename(path.dirname(file))}.log`),
    graceMs: drainMs,
  });
}

await runScript(start);
