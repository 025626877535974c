/**
 * Runs PgBouncer in front of the Postgres of a stack: the version of Debian trixie, or the older version of bookworm. The older version
 * mixes up the prepared statements of different sessions.
 */
import { existsSync } from 'node:fs';
import { chmod, cp, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { startChild } from '../../../dev/stack/children.ts';
import { locate } from '../../../dev/components.ts';
import type { Component } from '../../../dev/components/catalogue.ts';
import { debianProgram } from '../../../dev/components/debian.ts';
import { freePorts, host } from '../../../dev/stack/ports.ts';
import { untilPortAnswers } from '../../../dev/stack/readiness.ts';
import { messageOf } from '../../../dev/problem.ts';
import { askProgram } from '../../../platform/infra/programs/programs.ts';
import { progress } from '../faults/progress.ts';
import type { Site } from './site.ts';

const libraries = [
  'libc6',
  'libcap2',
  'libaudit1',
  'libcap-ng0',
  'libzstd1',
  'zlib1g',
  'libgcc-s1',
  'libgcrypt20',
  'liblz4-1',
  'liblzma5',
  'libgpg-error0',
  'libsystemd0',
  'libpam0g',
] as const;

interface Edition {
  readonly version: string;
  readonly suite: string;
  /** PgBouncer needs these libraries. Their names differ between releases of Debian. */
  readonly own: readonly string[];
  readonly variable: string;
  readonly isRight: (version: string) => boolean;
}

const pgbouncerOf = ({ version, suite, own, variable, isRight }: Edition): Component => ({
  title: `PgBouncer ${version}`,
  executable: 'pgbouncer',
  version,
  variable,
  sources: [
    debianProgram({
      suite,
      packages: ['pgbouncer', ...own, ...libraries],
      file: 'usr/sbin/pgbouncer',
      executable: 'pgbouncer',
    }),
  ],
  advice: [`install PgBouncer ${version} (Debian: apt-get install pgbouncer)`],
  async flawOf(executable) {
    const foundVersion = await versionOf(executable).catch(messageOf);
    return isRight(foundVersion) ? undefined : `says ${foundVersion}; ${version} is needed`;
  },
  check: async (executable) => void (await versionOf(executable)),
});

const versionOf = async (executable: string): Promise<string> =>
  (await askProgram(executable, ['--version'])).split('\n')[0] ?? '';
const minorOf = (version: string): number => Number(/^PgBouncer 1\.(\d+)/.exec(version)?.[1] ?? NaN);

const programs = {
  current: pgbouncerOf({
    version: '1.24',
    suite: 'trixie',
    own: ['libcares2', 'libevent-2.1-7t64', 'libssl3t64'],
    variable: 'PGBOUNCER_BINARY',
    isRight: (version) => minorOf(version) >= 24,
  }),
  old: pgbouncerOf({
    version: '1.18',
    suite: 'bookworm',
    own: ['libc-ares2', 'libevent-2.1-7', 'libssl3'],
    variable: 'OLD_PGBOUNCER_BINARY',
    isRight: (version) => minorOf(version) < 21,
  }),
};

/** The user `nobody`, because PgBouncer refuses to run as root. */
const nobody = { uid: 65_534, gid: 65_534 };

export interface Pooler {
  readonly version: string;
  /** Returns the URL of the database through PgBouncer, in transaction mode or in session mode. */
  url(pooled: 'transaction' | 'session'): string;
}

/** @param options.prepared the number of prepared statements that PgBouncer caches; 0 for none. The old version has no such setting */
export async function startPooler(
  site: Site,
  databaseUrl: string,
  { program, prepared }: { program: keyof typeof programs; prepared?: number },
): Promise<Pooler> {
  const component = programs[program];
  const executable = await locate(component, { report: progress });
  const { port } = await freePorts(['port']);
  const directory = path.join(site.directory, `pgbouncer-${port}`);
  await mkdir(directory);
  await chmod(site.directory, 0o711);
  const command = await withinReach(executable, path.join(directory, 'program'));
  const { hostname, port: databasePort, username, password, pathname } = new URL(databaseUrl);
  const database = `host=${hostname} port=${databasePort} dbname=${pathname.slice(1)}`;
  const users = path.join(directory, 'users.txt');
  await writeFile(users, `"${username}" "${decodeURIComponent(password)}"\n`);
  const settings = path.join(directory, 'pgbouncer.ini');
  await writeFile(
    settings,
    [
      '[databases]',
      `transaction = ${database} pool_mode=transaction`,
      `session = ${database} pool_mode=session`,
      '[pgbouncer]',
      `listen_addr = ${host}`,
      `listen_port = ${port}`,
      'unix_socket_dir =',
      'auth_type = plain',
      `auth_file = ${users}`,
      'default_pool_size = 60',
      'max_client_conn = 400',
      ...(prepared === undefined ? [] : [`max_prepared_statements = ${prepared}`]),
    ].join('\n'),
  );
  const isRoot = process.getuid?.() === 0;
  const child = startChild({
    name: component.title,
    command,
    args: [settings],
    cwd: directory,
    logFile: path.join(site.directory, 'logs', `pgbouncer-${port}.log`),
    stopSignal: 'SIGTERM',
    ...(isRoot && { identity: nobody }),
  });
  site.stops.push(() => child.stop());
  await untilPortAnswers(port, { timeoutMs: 10_000, child });
  return {
    version: await versionOf(command),
    url(pooled) {
      const url = new URL(databaseUrl);
      url.hostname = host;
      url.port = String(port);
      url.pathname = `/${pooled}`;
      return url.href;
    },
  };
}

/** Copies a program out of our cache, because the user of the process cannot read the cache. */
async function withinReach(executable: string, target: string): Promise<string> {
  const from = path.dirname(executable);
  if (!existsSync(path.join(from, 'root'))) return executable;
  await cp(from, target, { recursive: true, verbatimSymlinks: true, filter: (file) => path.basename(file) !== 'apt' });
  return path.join(target, path.basename(executable));
}
