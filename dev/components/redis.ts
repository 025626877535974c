/** Two sources of Redis: its source code, and a package on Maven Central that contains the program. */
import { chmod, mkdir, readdir, rename, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { runCommand } from '../stack/commands.ts';
import type { Source } from './catalogue.ts';
import { unpackDownload, type Download } from './download.ts';
import { findOnPath } from './version.ts';

const executable = 'redis-server';
const unpackGoal = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:unpack';

/**
 * A source that downloads the source code and compiles the server.
 * @param download an archive whose directory has the archive's name
 */
export function compiledRedis(download: Download): Source {
  return {
    title: download.url,
    async fetch(directory, report) {
      await findOnPath('make');
      await findOnPath('cc');
      await unpackDownload(download, directory, report);
      report(`  building ${executable} from source with make: about a minute or two`);
      const code = path.join(directory, path.basename(download.url, '.tar.gz'));
      // Leaves out jemalloc: make would compile it first, and tests do not need it.
      const options = [`-j${os.availableParallelism()}`, 'MALLOC=libc'];
      await runCommand('make', ['-C', code, ...options, executable], {
        stillRunning: (seconds) => report(`  still building ${executable} (${seconds} s)`),
      });
      await rename(path.join(code, 'src', executable), path.join(directory, executable));
      await rm(code, { recursive: true });
    },
  };
}

/** A source that extracts this platform's server from a Java package for tests. */
export function mavenRedis(version: string): Source {
  const artifact = `com.github.codemonstur:embedded-redis:${version}`;
  return {
    title: `Maven, ${artifact}`,
    async fetch(directory, report) {
      const platform = `${os.platform()}-${os.arch() === 'x64' ? 'amd64' : os.arch()}`;
      // Maven stores unpacked files in its working directory.
      const workshop = path.join(directory, '.maven');
      const unpacked = path.join(workshop, 'unpacked');
      await mkdir(workshop);
      report('  copying a package that contains the server with Maven');
      const options = [
        `-Dartifact=${artifact}`,
        `-Dmdep.unpack.includes=${executable}-*-${platform}`,
        `-DoutputDirectory=${unpacked}`,
      ];
      await runCommand('mvn', ['-q', '-B', unpackGoal, ...options], {
        cwd: workshop,
        stillRunning: (seconds) => report(`  still copying (${seconds} s)`),
      });
      const [server] = await readdir(unpacked).catch((): string[] => []);
      if (server === undefined) throw new Error(`it contains no ${executable} for ${platform}`);
      const file = path.join(directory, executable);
      await rename(path.join(unpacked, server), file);
      await chmod(file, 0o755);
      await rm(workshop, { recursive: true });
    },
  };
}
