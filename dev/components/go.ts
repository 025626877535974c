/** Builds a component from source with Go, straight into the cache. */
import { rename } from 'node:fs/promises';
import path from 'node:path';
import { runCommand } from '../commands.ts';
import type { Source } from './catalogue.ts';
import { findOnPath, versionFlaw } from './version.ts';

export interface GoModule {
  /** What `go install` takes: package@version. */
  readonly module: string;
  /** What it is called here; Go calls it by the last part of its package. */
  readonly executable: string;
  /** Told before it begins, for it can be long. */
  readonly duration: string;
}

/** From 1.21 on Go fetches the newer Go that a module asks for. */
const goFlaw = versionFlaw({ pattern: /\bgo(\d+\.\d+)|^$/, oldest: '1.21', args: ['version'] });

/** A source that runs `go install`; Go checks the module against its checksum database. */
export function goInstall({ module, executable, duration }: GoModule): Source {
  const title = `go install ${module}`;
  return {
    title,
    async fetch(directory, report) {
      const go = await findOnPath('go', goFlaw);
      report(`  building ${executable} from source with Go: ${duration}`);
      await runCommand(go, ['install', module], {
        // A GOOS or GOARCH that somebody set for another purpose must not decide what runs here.
        env: { GOBIN: directory, GOOS: '', GOARCH: '' },
        stillRunning: (seconds) => report(`  still building ${executable} (${seconds} s)`),
      });
      const built = path.posix.basename(module.split('@')[0] ?? '');
      if (built !== executable) await rename(path.join(directory, built), path.join(directory, executable));
    },
  };
}
