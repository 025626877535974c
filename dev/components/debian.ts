/**
 * Downloads programs and their libraries from a Debian release, which may differ from the machine's. Nothing is installed on the system.
 */
import { chmod, glob, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { runCommand } from '../stack/commands.ts';
import { debianArchives } from './apt-sources.ts';
import type { Source } from './catalogue.ts';

interface DebianProgram {
  /** Such as `trixie`. */
  readonly suite: string;
  /** The program's own package and the packages of its libraries. */
  readonly packages: readonly string[];
  /** The path of the program in its package. */
  readonly file: string;
  readonly executable: string;
}

const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg';

/**
 * A source that downloads packages by apt, with separate package lists, and unpacks them next to the executable. The executable is a script
 * that starts the program with the dynamic loader of its own Debian release.
 */
export function debianProgram({ suite, packages, file, executable }: DebianProgram): Source {
  return {
    title: `Debian ${suite}, ${packages[0]}`,
    async fetch(directory, report) {
      const apt = path.join(directory, 'apt');
      for (const part of ['state/lists/partial', 'cache/archives/partial', 'debs'])
        await mkdir(path.join(apt, part), { recursive: true });
      const files = {
        list: path.join(apt, 'sources.list'),
        status: path.join(apt, 'status'),
        config: path.join(apt, 'apt.conf'),
      };
      await writeFile(files.list, `deb [signed-by=${keyring}] ${await machineArchive()} ${suite} main\n`);
      await writeFile(files.status, '');
      await writeFile(
        files.config,
        [
          `Dir::State "${apt}/state";`,
          `Dir::State::status "${files.status}";`,
          `Dir::Cache "${apt}/cache";`,
          `Dir::Etc::sourcelist "${files.list}";`,
          'Dir::Etc::sourceparts "-";',
          'APT::Sandbox::User "root";',
        ].join('\n'),
      );
      const env = { APT_CONFIG: files.config };
      report(`  reading the list of packages of Debian ${suite}`);
      await runCommand('apt-get', ['update'], { env });
      await runCommand('apt-get', ['download', ...packages], { env, cwd: path.join(apt, 'debs') });
      const root = path.join(directory, 'root');
      await mkdir(root);
      for await (const archive of glob('*.deb', { cwd: path.join(apt, 'debs') }))
        await runCommand('dpkg-deb', ['-x', path.join(apt, 'debs', archive), root]);
      await writeFile(path.join(directory, executable), startScript(file));
      await chmod(path.join(directory, executable), 0o755);
    },
  };
}

/** @throws Error if the machine's apt sources name no Debian archive */
async function machineArchive(): Promise<string> {
  const [archive] = await debianArchives();
  if (archive === undefined) throw new Error('The apt sources of this machine name no archive of Debian.');
  return archive;
}

/** The script finds its own directory at run time, so that the directory can be moved. */
function startScript(file: string): string {
  return `#!/bin/sh
root=$(dirname "$(readlink -f "$0")")/root
libraries=$(find "$root" -name '*.so*' -printf '%h\\n' | sort -u | paste -sd:)
loader=$(find "$root" -name 'ld-linux*.so.*' | head -1)
exec "$loader" --library-path "$libraries" "$root/${file}" "$@"
`;
}
