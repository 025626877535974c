/**
 * Checks whether deploy/compose.yaml is valid for the reference implementation of Compose, and whether it follows rules of this project.
 */
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { runCommand } from '../../../../dev/stack/commands.ts';
import { messageOf, Problem } from '../../../../dev/problem.ts';
import { projectDirectory } from '../../../../dev/project.ts';
import { progress } from '../../faults/progress.ts';

const deploy = path.join(projectDirectory, 'deploy');
const program = path.join(import.meta.dirname, 'compose');
/** Images without maintainers. */
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

/** @throws Problem with the faults */
export async function verifyCompose(directory: string): Promise<number> {
  const checker = path.join(directory, 'compose');
  await runCommand('go', ['build', '-o', checker, '.'], {
    cwd: program,
    env: { GOOS: '', GOARCH: '' },
    stillRunning: (seconds) => progress(`  still building the reader of Compose (${seconds} s)`),
  }).catch((error: unknown) => {
    throw new Problem(`The reader of Compose could not be built; it needs Go 1.24 or newer: ${messageOf(error)}`);
  });
  const projectJson = await runCommand(checker, [path.join(deploy, 'compose.yaml'), 'catcher', 'previous']).catch(
    (error: unknown) => {
      throw new Problem(`deploy/compose.yaml: ${messageOf(error)}`);
    },
  );
  const project = JSON.parse(projectJson) as Project;
  const secrets = path.join(directory, 'secrets');
  await runCommand('sh', [path.join(deploy, 'compose', 'make-secrets.sh'), secrets]);
  const faults = composeFaults(project, await readdir(secrets));
  if (faults.length > 0) throw new Problem(`deploy/compose.yaml:\n${faults.join('\n')}`);
  return Object.keys(project.services).length;
}

const capabilities: Readonly<Record<string, string>> = { postgres: 'CHOWN,DAC_OVERRIDE,FOWNER,SETGID,SETUID' };
/** Postgres has no memory limit, because its cache would count toward the limit. */
const unlimited: readonly string[] = ['postgres'];

function confinementFaults(name: string, service: Service): string[] {
  const confinement = {
    'a writable root': service.read_only === true,
    'unneeded capabilities':
      service.cap_drop?.join() === 'ALL' && (service.cap_add ?? []).join() === (capabilities[name] ?? ''),
    'the right to gain privileges':
      service.security_opt?.join() === 'no-new-privileges:true' && service.privileged !== true,
    'no limit of processes': (service.pids_limit ?? 0) > 0,
    'no limit of memory': service.mem_limit !== undefined || unlimited.includes(name),
  };
  return Object.entries(confinement).flatMap(([fault, holds]) => (holds ? [] : [`${name} has ${fault}`]));
}

function composeFaults({ services, secrets }: Project, generatedNames: readonly string[]): string[] {
  const faults: string[] = [];
  const demand = (isRight: boolean, fault: string) => void (isRight || faults.push(fault));
  demand(
    JSON.stringify(Object.keys(secrets).toSorted()) === JSON.stringify(generatedNames.toSorted()),
    `make-secrets.sh makes ${generatedNames.join(', ')}, but compose.yaml declares ${Object.keys(secrets).join(', ')}`,
  );
  for (const [name, service] of Object.entries(services)) {
    const { image, environment = {}, secrets: mounted = [], ports = [] } = service;
    demand(!discontinued.test(image), `${name}: ${image} is discontinued`);
    for (const { host_ip: address, target } of ports)
      demand(address === '127.0.0.1', `${name} publishes port ${target} to other machines`);
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
    for (const [variable, value] of Object.entries(environment).filter(([variableName]) =>
      variableName.endsWith('_FILE'),
    ))
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
  for (const [name, expectedOrder] of Object.entries(order))
    demand(waits(name) === expectedOrder, `${name} waits for ${waits(name)}, not for ${expectedOrder}`);
  const graces = { api: '30s', worker: '15m0s', 'worker-previous': '15m0s' };
  for (const [name, expectedGrace] of Object.entries(graces))
    demand(
      services[name]?.stop_grace_period === expectedGrace,
      `${name} does not have a grace period of ${expectedGrace}`,
    );
  return faults;
}
