/** Builds a component from source with Go, straight into the cache. */
import { rename } from 'node:fs/promises';
import path from 'node:path';
import { runCommand } from '../stack/commands.ts';
import type { Source } from './catalogue.ts';
import { findOnPath, versionFlaw } from './version.ts';

export interface GoModule {
  /** The argument of `go install`: package@version. */
  readonly module: string;
  /** The program's name in this project. Go names a program after the last part of its package path. */
  readonly executable: string;
  /** This text is printed before a long build begins. */
  readonly duration: string;
}

/** Go 1.21 and later download a newer Go if a module needs it. */
const goFlaw = versionFlaw({ pattern: /\bgo(\d+\.\d+)|^$/, oldest: '1.21', args: ['version'] });

/** A source that runs `go install`. Go checks the module against its checksum database. */
export function goInstall({ module, executable, duration }: GoModule): Source {
  const title = `go install ${module}`;
  return {
    title,
    async fetch(directory, report) {
      const go = await findOnPath('go', goFlaw);
      report(`  building ${executable} from source with Go: ${duration}`);
      await runCommand(go, ['install', module], {
        // The user may have set GOOS or GOARCH for another purpose.
        env: { GOBIN: directory, GOOS: '', GOARCH: '' },
        stillRunning: (seconds) => report(`  still building ${executable} (${seconds} s)`),
      });
      const builtName = path.posix.basename(module.split('@')[0] ?? '');
      if (builtName !== executable) await rename(path.join(directory, builtName), path.join(directory, executable));
    },
  };
}
