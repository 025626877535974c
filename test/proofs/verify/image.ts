/**
 * Verifies the container image, which Buildah builds from deploy/Dockerfile. The tour must pass on a service in the image. The service runs
 * as user 10001 with a read-only root file system. If Docker's registry is not available, the proof builds a base image from Debian
 * packages and the locked version of Node.
 */
import fs from 'node:fs';
import { chmod, copyFile, readFile, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { buildInto } from '../../../dev/build.ts';
import { runCommand } from '../../../dev/stack/commands.ts';
import { findOnPath } from '../../../dev/components/version.ts';
import { Problem } from '../../../dev/problem.ts';
import { projectDirectory } from '../../../dev/project.ts';
import type { Build } from '../../../platform/infra/build.ts';
import { progress } from '../faults/progress.ts';
import { ensureDebianPrograms, hadolint } from './programs.ts';
import type { Site } from './site.ts';
import { playTourOn } from './tour.ts';

const dockerfile = path.join(projectDirectory, 'deploy', 'Dockerfile');
const serviceDirectory = 'srv/club-learning';
/** The size limit of the image without ffmpeg and its libraries, in megabytes. */
const mostMegabytes = 600;
/** The time limit of a step. The longest step installs all npm packages twice, and installs ffmpeg. */
const buildahWithinMs = 1_200_000;

/** The file with the certificate authority that the service in the image trusts. */
const authorityFile = '/run/authority.pem';
const user = '10001:10001';
/**
 * The list of certificate authorities has this path on this machine and in the image. In the image, the build must have created the file.
 */
const authorities = '/etc/ssl/certs/ca-certificates.crt';
/** npm uses this list of certificate authorities if the proof builds the base image. The service uses the other list. */
const authoritiesOfNpm = '/usr/local/lib/node_modules/npm-authorities.crt';
/** The smallest accepted number of certificate authorities in the list. Debian's list has about 140. */
const fewestAuthorities = 100;

type Buildah = (...args: readonly string[]) => Promise<string>;
type Base = 'official' | 'stand-in';

interface ImageConfig {
  User: string;
  Env: string[];
  Entrypoint: string[];
  WorkingDir: string;
  Volumes: Record<string, object>;
}

export async function verifyImage(site: Site): Promise<string> {
  await ensureDebianPrograms(['buildah', 'mmdebstrap', 'unshare']);
  const linter = await hadolint(path.join(site.directory, 'hadolint'));
  await runCommand(linter, [dockerfile]);
  progress('hadolint has no objection');

  const buildah = buildahIn(site);
  const { base, name } = await ensureBase(site, buildah);
  progress(`base: ${base}`);
  const build = async (tag: string, ffmpeg: 'on' | 'off') => {
    const args = ['build', '--isolation', 'chroot', '--layers', '--pull-never', '--file', dockerfile, '--tag', tag];
    const buildArgs = ['--build-arg', `BASE=${name}`, '--build-arg', `FFMPEG=${ffmpeg}`];
    const secret = ['--secret', `id=npmrc,src=${await npmrcIn(site, base)}`];
    await buildah(...args, ...buildArgs, ...secret, projectDirectory);
    return mountImage(site, buildah, tag);
  };
  const whole = await build('whole', 'on');
  const small = await build('small', 'off');
  for (const { root } of [whole, small]) await requireAuthorities(root);

  const here = await buildInto(path.join(site.directory, 'dist-here'));
  const there = JSON.parse(
    await readFile(path.join(whole.root, serviceDirectory, 'dist', 'build.json'), 'utf8'),
  ) as Build;
  if (there.buildId !== here.buildId) throw new Problem(`The image has build ${there.buildId}, not ${here.buildId}.`);
  const megabytes = sizeOf(small.root);
  progress(`build id ${there.buildId}; ${megabytes} MB, and with ffmpeg ${sizeOf(whole.root)} MB`);
  if (megabytes > mostMegabytes) throw new Problem(`The image has ${megabytes} MB, more than ${mostMegabytes}.`);

  await playTourOn(site, (command) => inImage(site, whole, command), {
    settings: async ({ EGRESS_EXTRA_CA_FILE: file = '' }) => {
      await copyFile(file, ownAuthority(site));
      await chmod(ownAuthority(site), 0o644);
      // The service accepts shortened waits only with local host addresses. The image contains ffmpeg.
      return {
        API_HOST: '127.0.0.1',
        WORKER_HOST: '127.0.0.1',
        EGRESS_EXTRA_CA_FILE: authorityFile,
        FFMPEG_BINARY: '',
      };
    },
  });
  return `image verified (base: ${base}), ${megabytes} MB, tour passed`;
}

const ownAuthority = (site: Site) => path.join(site.directory, 'authority.pem');

function buildahIn(site: Site): Buildah {
  const storage = ['--root', path.join(site.directory, 'images'), '--runroot', path.join(site.directory, 'images-run')];
  const buildah: Buildah = (...args) =>
    runCommand('buildah', [...storage, ...args], {
      timeoutMs: buildahWithinMs,
      stillRunning: (seconds) => progress(`  buildah ${args[0]} (${seconds} s)`),
    });
  site.stops.push(() => buildah('rm', '--all'));
  return buildah;
}

async function ensureBase(site: Site, buildah: Buildah): Promise<{ base: Base; name: string }> {
  const official = /^ARG BASE=(\S+)$/m.exec(await readFile(dockerfile, 'utf8'))?.[1] ?? '';
  const isThere = await buildah('pull', official).then(
    () => true,
    () => false,
  );
  if (isThere) return { base: 'official', name: official };

  const packages = path.join(site.directory, 'debian.tar');
  await runCommand('mmdebstrap', ['--variant=minbase', 'trixie', packages]);
  const container = (await buildah('from', 'scratch')).trim();
  await buildah('add', container, packages, '/');
  await buildah(
    'copy',
    container,
    path.join(projectDirectory, 'node_modules', 'node', 'bin', 'node'),
    '/usr/local/bin/node',
  );
  await buildah('copy', container, await npmDirectory(), '/usr/local/lib/node_modules/npm');
  // npm gets the certificate authorities of this machine, so that npm reaches the registries that this machine reaches.
  await buildah('copy', container, authorities, authoritiesOfNpm);
  await buildah(
    'run',
    '--isolation',
    'chroot',
    container,
    '--',
    'ln',
    '-s',
    '../lib/node_modules/npm/bin/npm-cli.js',
    '/usr/local/bin/npm',
  );
  await buildah('commit', container, 'stand-in');
  return { base: 'stand-in', name: 'localhost/stand-in' };
}

/** Returns the directory of the npm that runs the proof, because the package `node` on npm contains no npm. */
async function npmDirectory(): Promise<string> {
  const program = process.env['npm_execpath'] ?? fs.realpathSync(await findOnPath('npm'));
  return path.dirname(path.dirname(program));
}

/** Writes an npm configuration that names the registry of this machine, but has no personal settings. */
async function npmrcIn(site: Site, base: Base): Promise<string> {
  const file = path.join(site.directory, 'npmrc');
  const registry = await runCommand('npm', ['config', 'get', 'registry'], { cwd: os.homedir() });
  const cafile = base === 'stand-in' ? `cafile=${authoritiesOfNpm}\n` : '';
  await writeFile(file, `registry=${registry.trim()}\n${cafile}`);
  return file;
}

interface MountedImage {
  root: string;
  config: ImageConfig;
}

async function mountImage(site: Site, buildah: Buildah, tag: string): Promise<MountedImage> {
  const container = (await buildah('from', '--pull-never', `localhost/${tag}`)).trim();
  const root = (await buildah('mount', container)).trim();
  site.stops.push(() => buildah('umount', container));
  const { OCIv1 } = JSON.parse(await buildah('inspect', '--type', 'image', `localhost/${tag}`)) as {
    OCIv1: { config: ImageConfig };
  };
  return { root, config: OCIv1.config };
}

/** Checks that the image has a list of certificate authorities. A worker uses only this list, and needs it for Temporal Cloud. */
async function requireAuthorities(root: string): Promise<void> {
  const list = await readFile(path.join(root, authorities), 'utf8').catch(() => '');
  const count = list.split('-----BEGIN CERTIFICATE-----').length - 1;
  if (count < fewestAuthorities) throw new Problem(`The image has only ${count} authorities in ${authorities}`);
}

function sizeOf(root: string): number {
  const countedFiles = new Set<number>();
  const bytesIn = (directory: string): number =>
    fs
      .readdirSync(directory, { withFileTypes: true })
      .reduce((sum, entry) => sum + bytesOf(entry, path.join(directory, entry.name)), 0);
  const bytesOf = (entry: fs.Dirent, file: string): number => {
    if (entry.isDirectory()) return bytesIn(file);
    const { ino, size } = fs.lstatSync(file);
    if (!entry.isFile() || countedFiles.has(ino)) return 0;
    countedFiles.add(ino);
    return size;
  };
  return Math.round(bytesIn(root) / 1_000_000);
}

/** Runs a command as Docker does with `--read-only`, the host network and a volume. The mounts end with the process. */
const runtime = `
root=$1; volume=$2; authority=$3; shift 3
mount --bind "$root" "$root"
touch "$root/run/authority.pem" && mount --bind "$authority" "$root/run/authority.pem"
for file in hosts resolv.conf; do touch "$root/etc/$file" && mount --bind "/etc/$file" "$root/etc/$file"; done
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --bind "$volume" "$root/scratch"
mount -o remount,ro,bind "$root"
exec chroot --userspec=${user} "$root" /usr/bin/env "$@"`;

function inImage(site: Site, { root, config }: MountedImage, command: string) {
  const { User, Env, Entrypoint, WorkingDir, Volumes } = config;
  const expected = { User: user, Volumes: '/scratch', WorkingDir: `/${serviceDirectory}` };
  const actual = { User, Volumes: Object.keys(Volumes).join(), WorkingDir };
  if (JSON.stringify(actual) !== JSON.stringify(expected))
    throw new Problem(`The image says ${JSON.stringify(actual)}.`);
  const volume = path.join(site.directory, 'scratch');
  fs.mkdirSync(volume, { recursive: true });
  fs.chownSync(volume, 10_001, 10_001);
  if (!fs.existsSync(ownAuthority(site))) fs.writeFileSync(ownAuthority(site), '');
  return {
    command: 'unshare',
    args: [
      '--mount',
      'sh',
      '-ec',
      runtime,
      'sh',
      root,
      volume,
      ownAuthority(site),
      `--chdir=${WorkingDir}`,
      ...Entrypoint,
      command,
    ],
    cwd: '/',
    env: Object.fromEntries(Env.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)])),
  };
}
