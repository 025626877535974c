/** The development stack: Temporal, Postgres, S3 and the mailbox, which start and stop together. */
import { chmod, mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { Environment } from '../../config.ts';
import { limitRole } from '../../platform/infra/postgres/checks/role-limits.ts';
import { authorityIn, type Authority } from './certificates.ts';
import { describeExit, type Child } from './children.ts';
import { lockDirectory } from './lock.ts';
import { startMailbox, type Mailbox } from '../mailbox/mailbox.ts';
import { ensurePortsAreFree, fixedPorts, freePorts, portsFromEnvironment, type PortName } from './ports.ts';
import { messageOf, Problem } from '../problem.ts';
import { secretsOf } from './secrets.ts';
import { parts, type Part, type PartContext, type PartName } from './part.ts';
import { startPostgres } from './postgres.ts';
import { startStorage } from './storage.ts';
import { startTemporal } from './temporal.ts';

export type { PartName };

export interface StackOptions {
  /** The directory of data, logs and secrets. Only one run at a time can use it. */
  readonly directory: string;
  /** `fixed`: documented ports, the Temporal UI, and data that survive a power cut. `free`: free ports, for tests. */
  readonly ports: 'fixed' | 'free';
  /** Whether Postgres keeps its data after a power cut; if absent, only with `fixed`. */
  readonly durable?: boolean;
  /** Further namespaces in Temporal. Each of the parallel tests has its own. */
  readonly namespaces?: readonly string[];
  /** All parts if absent. */
  readonly parts?: readonly PartName[];
  /** Ports, executables, and addresses that replace a part. If absent, the environment of this process. */
  readonly env?: Environment;
  readonly report?: (line: string) => void;
  /** Called when a part ends unexpectedly, with a sentence and the last output of the part. `startAgain` restarts the part. */
  readonly onUnexpectedEnd?: (message: string, name: PartName) => void;
}

export interface Stack {
  /** All variables that config.ts needs, and MAILBOX_URL. Omitted parts have no variables. */
  readonly environment: Readonly<Record<string, string>>;
  /** Absent if the mailbox is omitted or replaced. */
  readonly mailbox?: Mailbox;
  /** API and worker trust the certificates of this authority (EGRESS_EXTRA_CA_FILE). */
  readonly authority: Authority;
  /** The current process ids of the parts that are separate processes. */
  readonly pids: Readonly<Partial<Record<PartName, number>>>;
  /** Kills a part to simulate a crash, and resolves after its end. Does not call `onUnexpectedEnd`. */
  kill(name: PartName): Promise<void>;
  /** Restarts a part that was killed or has ended, with its data and ports. @throws Problem if the part does not start */
  startAgain(name: PartName): Promise<void>;
  /** A second call has no effect. */
  stop(): Promise<void>;
}

/** Receivers on this machine use these addresses. */
const loopback = '127.0.0.0/8';

const usualNamespace = 'club-learning';
const everyPart = Object.keys(parts) as PartName[];

/** The processes of a killed run need a moment to end and to free their ports. */
const patienceAfterKilledRunMs = 15_000;

/**
 * Starts in parallel all requested parts that are not replaced.
 * @throws Problem if a port is in use, a component is unavailable or a part does not start. The parts that already run are stopped first
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  const env = options.env ?? process.env;
  const directory = path.resolve(options.directory);
  const requestedParts = options.parts ?? everyPart;
  const partsToStart = requestedParts.filter((name) => !env[parts[name].variables[0]]);
  await mkdir(path.dirname(directory), { recursive: true });
  await mkdir(directory, { recursive: true, mode: 0o700 });
  // Postgres then runs as another user, who must be able to enter this directory. The files in it have their own modes.
  if (process.getuid?.() === 0) await chmod(directory, 0o711);

  const lock = await lockDirectory(directory);
  const started = new Map<PartName, Part>();
  const killed = new WeakSet<Child>();
  let mailbox: Mailbox | undefined;
  let stopping: Promise<void> | undefined;
  const stop = () => (stopping ??= Promise.all([...started.values()].map((part) => part.stop())).then(lock.release));

  try {
    const ports = await choosePorts(options.ports, partsToStart, env, lock.foundStale ? patienceAfterKilledRunMs : 0);
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
    await allOrProblem(partsToStart.map(startPart));
    // Only in our own database. In a user's database, `setup` must set the time limits, and each start reports missing ones.
    const database = started.get('postgres')?.environment['DATABASE_URL'];
    if (database) await limitRole(database, 'everywhere');
    partsToStart.forEach(watch);

    return {
      environment: {
        ...Object.assign({}, ...[...started.values()].map((part) => part.environment)),
        ...present(
          env,
          requestedParts.filter((name) => !started.has(name)).flatMap((name) => parts[name].variables),
        ),
        MASTER_KEY: secrets.masterKey,
        NEW_CLUB_PLAN: 'professional', // new clubs get this plan without a payment, because this stack is only for development
        CLUBS_PER_ADMINISTRATOR: '10000',
        MAIL_WARM_UP: 'off',
        MAIL_DNS_SERVERS: '127.0.0.1:9', // No name server listens here, so the stack never asks a public one.
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
          throw new Error(`${parts[name].title} is not a process that this stack has started.`);
        killed.add(child);
        process.kill(child.pid, 'SIGKILL');
        await child.exited;
      },
      async startAgain(name) {
        await startPart(name);
        watch(name);
        // The stack may have been stopped before this part was registered.
        if (stopping) await started.get(name)?.stop();
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Omitted parts do not use their ports. Tests do not need the Temporal UI. */
async function choosePorts(
  kind: StackOptions['ports'],
  partsToStart: readonly PartName[],
  env: Environment,
  patienceMs: number,
): Promise<Record<Exclude<PortName, 'temporalUi'>, number> & { temporalUi?: number }> {
  if (kind === 'free') {
    const { temporalUi: _, ...ports } = await freePorts(Object.keys(fixedPorts) as PortName[]);
    return ports;
  }
  const ports = portsFromEnvironment(Object.keys(fixedPorts) as PortName[], env);
  const needed = partsToStart.flatMap((name) => parts[name].ports);
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
      if (!exit.wasRequested) report(describeExit(child, exit), child);
    },
    () => undefined,
  );
}

/** Waits for all parts, so that every started part is known. Then throws the problems of all parts that failed. */
async function allOrProblem(starts: readonly Promise<void>[]): Promise<void> {
  const outcomes = await Promise.allSettled(starts);
  const reasons = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as unknown] : []));
  if (reasons.length === 1) throw reasons[0];
  if (reasons.length > 1) throw new Problem(reasons.map(messageOf).join('\n\n'));
}

function present(env: Environment, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.flatMap((name) => (env[name] ? [[name, env[name]]] : [])));
}
