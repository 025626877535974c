/**
 * The corpus of the handbooks, in the user's cache. Only the first run downloads, checks and converts the packages, from the Debian archive
 * of this machine's apt sources.
 */
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Environment } from '../../../config.ts';
import { runCommand } from '../../../dev/stack/commands.ts';
import { debianArchives } from '../../../dev/components/apt-sources.ts';
import { cacheDirectory } from '../../../dev/components/cache.ts';
import { saveDownload } from '../../../dev/components/download.ts';
import { convertHandbooks } from './convert.ts';
import { administratorsHandbook, gnomeHelp, type HandbookPackage } from './packages.ts';

/** Increase this number when the conversion changes, so that no run uses an old corpus. */
const conversion = 1;

type Report = (line: string) => void;

/** @returns the directory of the corpus @throws Error when a package is unavailable, with the reason */
export async function obtainHandbooks(env: Environment, report: Report): Promise<string> {
  const name = `handbooks-${administratorsHandbook.version}-${gnomeHelp.version}-${conversion}`;
  const cache = cacheDirectory(env);
  const corpus = path.join(cache, name);
  if ((await readdir(corpus).catch(() => [])).length > 0) return corpus;
  await mkdir(cache, { recursive: true });
  const work = await mkdtemp(path.join(cache, `.unfinished-${process.pid}-`));
  try {
    const [administrators, gnome] = [path.join(work, 'administrators'), path.join(work, 'gnome')];
    await unpack(await obtainPackage(administratorsHandbook, work, report), administrators);
    await unpack(await obtainPackage(gnomeHelp, work, report), gnome);
    await convertHandbooks(administrators, gnome, path.join(work, name));
    // Another run was faster; its result is equal.
    await rename(path.join(work, name), corpus).catch(async (error: unknown) => {
      if ((await readdir(corpus).catch(() => [])).length === 0) throw error;
    });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  return corpus;
}

/** @returns the path of the .deb file @throws Error when every source failed, with the reasons */
async function obtainPackage(handbook: HandbookPackage, directory: string, report: Report): Promise<string> {
  const { name, version, path: place } = handbook;
  const file = path.join(directory, path.basename(place));
  const ways = [
    {
      title: `apt-get download ${name}=${version}`,
      fetch: () => runCommand('apt-get', ['download', `${name}=${version}`], { cwd: directory }),
    },
    // `apt-get download` fails without package lists, or on another release of Debian. The mirror still has the file under this path.
    ...(await debianArchives()).map((archive) => ({
      title: `${archive}/${place}`,
      fetch: () => saveDownload(`${archive}/${place}`, file, report),
    })),
  ];
  const reasons: string[] = [];
  for (const { title, fetch } of ways) {
    try {
      report(`trying ${title}`);
      await fetch();
      await check(handbook, file);
      return file;
    } catch (error) {
      reasons.push(`  ${title}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  throw new Error([`The package ${name} ${version} cannot be had:`, ...reasons].join('\n'));
}

async function check({ sha256 }: HandbookPackage, file: string): Promise<void> {
  const actual = createHash('sha256')
    .update(await readFile(file))
    .digest('hex');
  if (actual !== sha256) throw new Error(`its SHA-256 is ${actual}, and should be ${sha256}`);
}

/** A .deb is an `ar` archive; its member `data.tar.xz` has the files. */
async function unpack(file: string, directory: string): Promise<void> {
  const data = memberOf(await readFile(file), 'data.tar.xz');
  const tar = `${file}.data.tar.xz`;
  await writeFile(tar, data);
  await mkdir(directory);
  await runCommand('tar', ['-xJf', tar, '-C', directory]);
}

/** It begins with `!<arch>\n`. In the header of a member, the name begins at byte 0 and the decimal size at byte 48. */
const [archiveHeader, memberHeader] = [8, 60];

/** @throws Error if the archive has no member of this name */
export function memberOf(archive: Buffer, name: string): Buffer {
  for (let at = archiveHeader; at + memberHeader <= archive.length;) {
    const header = archive.subarray(at, at + memberHeader).toString('latin1');
    const size = Number.parseInt(header.slice(48, 58), 10);
    const start = at + memberHeader;
    if (header.slice(0, 16).trim().replace(/\/$/, '') === name) return archive.subarray(start, start + size);
    at = start + size + (size % 2); // members begin at even offsets
  }
  throw new Error(`The archive has no member ${name}.`);
}
