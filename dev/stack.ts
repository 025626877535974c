/** The development stack: Temporal, Postgres, S3 and the mailbox, started together and stopped together. */
import { chmod, mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { Environment } from '../config.ts';
import { limitRole } from '../platform/infra/postgres/role-limits.ts';
import { authorityIn, type Authority } from './certificates.ts';
import { describeExit, type Child } from './children.ts';
import { lockDirectory } from './lock.ts';
import { startMailbox, type Mailbox } from './mailbox.ts';
import { ensurePortsAreFree, fixedPorts, freePorts, portsFromEnvironment, type PortName } from './ports.ts';
import { messageOf, Problem } from './problem.ts';
import { secretsOf } from './secrets.ts';
import { parts, type Part, type PartContext, type PartName } from './stack/part.ts';
import { startPostgres } from './stack/postgres.ts';
import { startStorage } from './stack/storage.ts';
import { startTemporal } from './stack/temporal.ts';

export type { PartName };

export interface StackOptions {
  /** Where data, logs and secrets lie; one run at a time has it. */
  readonly directory: string;
  /** `fixed`: the ports that people know, the Temporal UI, and data that survive a power cut. `free`: for tests. */
  readonly ports: 'fixed' | 'free';
  /** Whether Postgres keeps its data over a power cut; that of `fixed` does when absent. */
  readonly durable?: boolean;
  /** Of Temporal, beside the usual one: tests that run at the same time have one each. */
  readonly namespaces?: readonly string[];
  /** All of them when absent. */
  readonly parts?: readonly PartName[];
  /** Ports, executables, and addresses that replace a part; this process's environment when absent. */
  readonly env?: Environment;
  readonly report?: (line: string) => void;
  /** Called when a part ends that nobody asked to, with a sentence and its last words; `startAgain` brings it back. */
  readonly onUnexpectedEnd?: (message: string, name: PartName) => void;
}

export interface Stack {
  /** All that config.ts needs, and MAILBOX_URL; without the variables of parts that were left out. */
  readonly environment: Readonly<Record<string, string>>;
  /** The mailbox, unless it was left out or replaced. */
  readonly mailbox?: Mailbox;
  /** Issues certificates that API and worker trust (EGRESS_EXTRA_CA_FILE). */
  readonly authority: Authority;
  /** Of the parts that are processes of their own, as they run now. */
  readonly pids: Readonly<Partial<Record<PartName, number>>>;
  /** Kills a part that is a process of its own, as a crash would. Resolves once it has ended; nobody is told. */
  kill(name: PartName): Promise<void>;
  /** Starts a part again that was killed or has ended, on the same data and ports. @throws Problem when it does not come up */
  startAgain(name: PartName): Promise<void>;
  /** Ends everything that was started. A second call does nothing more. */
  stop(): Promise<void>;
}

/** This machine, for receivers that run on it. */
const loopback = '127.0.0.0/8';

const usualNamespace = 'club-learning';
const everyPart = Object.keys(parts) as PartName[];

/** After a killed run its processes need a moment to end, and their ports to come free. */
const patienceAfterKilledRunMs = 15_000;

/**
 * Starts what is wanted and not replaced, all at the same time.
 * @throws Problem when a port is taken, a component cannot be had or a part does not come up; what had been started is
 *   stopped first
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  const env = options.env ?? process.env;
  const directory = path.resolve(options.directory);
  const asked = options.parts ?? everyPart;
  const wanted = asked.filter((name) => !env[parts[name].variables[0]]);
  await mkdir(path.dirname(directory), { recursive: true });
  await mkdir(directory, { recursive: true, mode: 0o700 });
  // Root's Postgres is another user, who must pass through here; what lies in it has modes of its own.
  if (process.getuid?.() === 0) await chmod(directory, 0o711);

  const lock = await lockDirectory(directory);
  const started = new Map<PartName, Part>();
  const killed = new WeakSet<Child>();
  let mailbox: Mailbox | undefined;
  let stopping: Promise<void> | undefined;
  const stop = () => (stopping ??= Promise.all([...started.values()].map((part) => part.stop())).then(lock.release));

  try {
    const ports = await choosePorts(options.ports, wanted, env, lock.foundStale ? patienceAfterKilledRunMs : 0);
    const secrets = await secretsOf(directory);
    const { authority, file: authorityFile } = await authorityIn(path.join(directory, 'certificates'));
    const starters: Record<PartName, (context: PartContext) => Promise<Part>> = {
      temporal: (context) =>
        startTemporal([env['TEMPORAL_NAMESPACE'] || usualNamespace, ...(options.namespaces ?? [])], ports, context),
      postgres: (context) => startPostgres(secrets.postgresPassword, ports.postgres, context),
      storage: (context) => startStorage(secrets.storageSecretKey, ports.storage, context),
      async mailbox(context) {
        mailbox = await startMailbox({ ...context, smtpPort: ports.smtp, httpPort: ports.mailbox });
        return { environment: { SMTP_URL: mailbox.smtpUrl, MAILBOX_URL: mailbox.httpUrl }, stop: mailbox.stop };
      },
    };
    const startPart = async (name: PartName) => {
      const beganAt = Date.now();
      const part = await starters[name](await contextOf(name, directory, options));
      started.set(name, part);
      options.report?.(`${parts[name].title} is up (${((Date.now() - beganAt) / 1000).toFixed(1)} s)`);
    };
    const watch = (name: PartName) =>
      reportUnexpectedEnd(started.get(name)?.child, (message, child) => {
        if (!killed.has(child)) options.onUnexpectedEnd?.(message, name);
      });
    await allOrProblem(wanted.map(startPart));
    // Nobody else's: `setup` does that, and a start says so.
    const database = started.get('postgres')?.environment['DATABASE_URL'];
    if (database) await limitRole(database, 'everywhere');
    wanted.forEach(watch);

    return {
      environment: {
        ...Object.assign({}, ...[...started.values()].map((part) => part.environment)),
        ...present(
          env,
          asked.filter((name) => !started.has(name)).flatMap((name) => parts[name].variables),
        ),
        MASTER_KEY: secrets.masterKey,
        NEW_CLUB_PLAN: 'professional', // whoever tries the product here pays for nothing
        CLUBS_PER_ADMINISTRATOR: '10000',
        MAIL_WARM_UP: 'off',
        MAIL_DNS_SERVERS: '127.0.0.1:9', // nobody answers there: what is tried here asks no name server of the world
        EGRESS_ALLOWED_NETWORKS: loopback,
        EGRESS_EXTRA_CA_FILE: authorityFile,
        ...present(env, [
          'MASTER_KEY',
          'NEW_CLUB_PLAN',
          'CLUBS_PER_ADMINISTRATOR',
          'MAIL_WARM_UP',
          'MAIL_DNS_SERVERS',
          'EGRESS_ALLOWED_NETWORKS',
          'EGRESS_EXTRA_CA_FILE',
        ]),
      },
      ...(mailbox === undefined ? {} : { mailbox }),
      authority,
      get pids() {
        return Object.fromEntries([...started].flatMap(([name, { child }]) => (child?.pid ? [[name, child.pid]] : [])));
      },
      async kill(name) {
        const child = started.get(name)?.child;
        if (child?.pid === undefined)
          throw new Error(`${parts[name].title} is no process that this stack has started.`);
        killed.add(child);
        process.kill(child.pid, 'SIGKILL');
        await child.exited;
      },
      async startAgain(name) {
        await startPart(name);
        watch(name);
        // Whoever stopped the stack meanwhile could not know of it.
        if (stopping) await started.get(name)?.stop();
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** A port for every name; those of parts that are not wanted are of no use. Tests do without the UI. */
async function choosePorts(
  kind: StackOptions['ports'],
  wanted: readonly PartName[],
  env: Environment,
  patienceMs: number,
): Promise<Record<Exclude<PortName, 'temporalUi'>, number> & { temporalUi?: number }> {
  if (kind === 'free') {
    const { temporalUi: _, ...ports } = await freePorts(Object.keys(fixedPorts) as PortName[]);
    return ports;
  }
  const ports = portsFromEnvironment(Object.keys(fixedPorts) as PortName[], env);
  const needed = wanted.flatMap((name) => parts[name].ports);
  await ensurePortsAreFree(Object.fromEntries(needed.map((name) => [name, ports[name]])), patienceMs);
  return ports;
}

async function contextOf(name: PartName, directory: string, options: StackOptions): Promise<PartContext> {
  const own = path.join(directory, name);
  await mkdir(own, { recursive: true });
  return {
    directory: own,
    logFile: path.join(directory, 'logs', `${name}.log`),
    durable: options.durable ?? options.ports === 'fixed',
    temporary: options.ports === 'free',
    report: options.report ?? (() => undefined),
  };
}

function reportUnexpectedEnd(child: Child | undefined, report: (message: string, child: Child) => void): void {
  child?.exited.then(
    (exit) => {
      if (!exit.asked) report(describeExit(child, exit), child);
    },
    () => undefined,
  );
}

/** Waits for all, so that everything that was started is known; then throws the problems of all that failed. */
async function allOrProblem(starts: readonly Promise<void>[]): Promise<void> {
  const outcomes = await Promise.allSettled(starts);
  const reasons = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as unknown] : []));
  if (reasons.length === 1) throw reasons[0];
  if (reasons.length > 1) throw new Problem(reasons.map(messageOf).join('\n\n'));
}

function present(env: Environment, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.flatMap((name) => (env[name] ? [[name, env[name]]] : [])));
}
