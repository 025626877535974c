/** deploy/compose.yaml, held against the specification of Compose by its reference implementation, and against what we want of it. */
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { runCommand } from '../../../../dev/stack/commands.ts';
import { messageOf, Problem } from '../../../../dev/problem.ts';
import { projectDirectory } from '../../../../dev/project.ts';
import { progress } from '../../faults/progress.ts';

const deploy = path.join(projectDirectory, 'deploy');
const program = path.join(import.meta.dirname, 'compose');
/** Images that nobody maintains any more. */
const discontinued = /auto-setup|minio/;
const ownImage = /^club-learning(:|$)/;

interface Service {
  readonly image: string;
  readonly command?: readonly string[] | null;
  readonly environment?: Readonly<Record<string, string>>;
  readonly secrets?: readonly { readonly source: string; readonly target: string }[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly cap_add?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly pids_limit?: number;
  readonly mem_limit?: string;
  readonly privileged?: boolean;
  readonly stop_grace_period?: string;
  readonly ports?: readonly { readonly host_ip?: string; readonly target: number }[];
}

interface Project {
  readonly services: Readonly<Record<string, Service>>;
  readonly secrets: Readonly<Record<string, unknown>>;
}

/**
 * @param directory empty; gets the program and secrets
 * @returns how many services it has
 * @throws Problem saying what is wrong
 */
export async function verifyCompose(directory: string): Promise<number> {
  const checker = path.join(directory, 'compose');
  await runCommand('go', ['build', '-o', checker, '.'], {
    cwd: program,
    env: { GOOS: '', GOARCH: '' },
    stillRunning: (seconds) => progress(`  still building the reader of Compose (${seconds} s)`),
  }).catch((error: unknown) => {
    throw new Problem(`The reader of Compose is not built; it needs Go 1.24 or newer: ${messageOf(error)}`);
  });
  const said = await runCommand(checker, [path.join(deploy, 'compose.yaml'), 'catcher', 'previous']).catch(
    (error: unknown) => {
      throw new Problem(`deploy/compose.yaml: ${messageOf(error)}`);
    },
  );
  const project = JSON.parse(said) as Project;
  const secrets = path.join(directory, 'secrets');
  await runCommand('sh', [path.join(deploy, 'compose', 'make-secrets.sh'), secrets]);
  const faults = composeFaults(project, await readdir(secrets));
  if (faults.length > 0) throw new Problem(`deploy/compose.yaml:\n${faults.join('\n')}`);
  return Object.keys(project.services).length;
}

/** What its image cannot do without, by the service. */
const capabilities: Readonly<Record<string, string>> = { postgres: 'CHOWN,DAC_OVERRIDE,FOWNER,SETGID,SETUID' };
/** Postgres has no limit of memory: what it caches would count. */
const unlimited: readonly string[] = ['postgres'];

/** @returns a sentence for each way in which a container may do more than it must */
function confinementFaults(name: string, service: Service): string[] {
  const isAsItShould = {
    'a root that can be written': service.read_only === true,
    'capabilities that it does not need':
      service.cap_drop?.join() === 'ALL' && (service.cap_add ?? []).join() === (capabilities[name] ?? ''),
    'a way to new privileges': service.security_opt?.join() === 'no-new-privileges:true' && service.privileged !== true,
    'no end of processes': (service.pids_limit ?? 0) > 0,
    'no end of memory': service.mem_limit !== undefined || unlimited.includes(name),
  };
  return Object.entries(isAsItShould).flatMap(([fault, holds]) => (holds ? [] : [`${name} has ${fault}`]));
}

/** @param made names of the secrets that make-secrets.sh makes @returns a sentence for each fault */
function composeFaults({ services, secrets }: Project, made: readonly string[]): string[] {
  const faults: string[] = [];
  const demand = (isAsItShould: boolean, fault: string) => void (isAsItShould || faults.push(fault));
  demand(
    JSON.stringify(Object.keys(secrets).toSorted()) === JSON.stringify(made.toSorted()),
    `make-secrets.sh makes ${made.join(', ')}, but the file wants ${Object.keys(secrets).join(', ')}`,
  );
  for (const [name, service] of Object.entries(services)) {
    const { image, environment = {}, secrets: mounted = [], ports = [] } = service;
    demand(!discontinued.test(image), `${name}: ${image} is discontinued`);
    for (const { host_ip: address, target } of ports)
      demand(address === '127.0.0.1', `${name} shows its port ${target} to other machines`);
    faults.push(...confinementFaults(name, service));
    const roots = mounted.filter(({ source }) => source.startsWith('s3-root')).length;
    demand(
      roots === (name === 's3' || name === 'buckets' ? 2 : 0),
      `${name} has ${roots} secrets of the root key of the store`,
    );
    if (!ownImage.test(image)) {
      demand(/:v?\d+\.\d+(\.\d+)?(-\w+)?$/.test(image), `${name}: ${image} is not pinned`);
      continue;
    }
    for (const [variable, value] of Object.entries(environment).filter(([given]) => given.endsWith('_FILE')))
      demand(
        mounted.some(({ target }) => target === value),
        `${name}: ${variable} names a file that is not mounted`,
      );
  }
  const waits = (name: string) =>
    Object.entries(services[name]?.depends_on ?? {})
      .map(([other, { condition }]) => `${other} ${condition.replace('service_', '')}`)
      .toSorted()
      .join(', ');
  const order = {
    migrate: 'postgres healthy',
    setup: 'migrate completed_successfully, temporal healthy',
    api: 'buckets completed_successfully, migrate completed_successfully, setup completed_successfully',
    worker: 'buckets completed_successfully, migrate completed_successfully, setup completed_successfully',
    promote: 'worker started',
  };
  for (const [name, wanted] of Object.entries(order))
    demand(waits(name) === wanted, `${name} waits for ${waits(name)}, not for ${wanted}`);
  const graces = { api: '30s', worker: '15m0s', 'worker-previous': '15m0s' };
  for (const [name, wanted] of Object.entries(graces))
    demand(services[name]?.stop_grace_period === wanted, `${name} does not get ${wanted} to end`);
  return faults;
}
