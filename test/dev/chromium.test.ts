import { expect } from 'chai';
import { chmod, mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import { runCommand } from '../../dev/stack/commands.ts';
import { components } from '../../dev/components/catalogue.ts';
import { locate } from '../../dev/components.ts';
import { drawsPage, npmChromium, playwrightChromium } from '../../dev/components/chromium.ts';
import { zipOf } from '../toolkit/builders/archives.ts';

describe('dev/components/chromium', function () {
  this.timeout(30_000);
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(path.join(os.tmpdir(), 'chromium-'));
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));

  const script = async (text: string) => {
    const file = path.join(directory, 'chromium');
    await writeFile(file, `#!/bin/sh\n${text}\n`);
    await chmod(file, 0o755);
    return file;
  };

  it('extracts the headless shell from the download of playwright-core', async () => {
    const server = createServer(({ url = '' }, response) => {
      const program = url.includes('headless') ? `${path.basename(url, '.zip')}/chrome-headless-shell` : 'ffmpeg-linux';
      response.end(zipOf([{ name: program, content: '#!/bin/sh\necho downloaded\n' }]));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      const host = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      await playwrightChromium(host).fetch(directory, () => undefined);
    } finally {
      server.close();
    }
    expect(await runCommand(path.join(directory, 'chromium'), [])).to.equal('downloaded\n');
  });

  it('extracts only the program, libraries and fonts from the npm package (only for linux-x64)', async function () {
    if (`${os.platform()}-${os.arch()}` !== 'linux-x64') this.skip();
    const bin = path.join(directory, 'package', 'bin');
    await mkdir(bin, { recursive: true });
    await writeFile(path.join(directory, 'package', 'package.json'), '{"name":"carrier","version":"1.0.0"}');
    for (const [archive, folder] of Object.entries({ al2023: 'lib', fonts: 'fonts', swiftshader: 'graphics' })) {
      await mkdir(path.join(directory, folder));
      const tar = path.join(directory, 'archive.tar');
      await runCommand('tar', ['-cf', tar, '-C', directory, folder]);
      await writeFile(path.join(bin, `${archive}.tar.br`), brotliCompressSync(await readFile(tar)));
    }
    const program = '#!/bin/sh\necho "$LD_LIBRARY_PATH|$FONTCONFIG_PATH|$*"\n';
    await writeFile(path.join(bin, 'chromium.br'), brotliCompressSync(program));
    const into = path.join(directory, 'into');
    await mkdir(into);
    await npmChromium(path.join(directory, 'package')).fetch(into, () => undefined);
    expect((await readdir(into)).toSorted()).to.deep.equal([
      'chromium',
      'fonts',
      'fonts.conf',
      'graphics',
      'lib',
      'program',
    ]);
    const output = await runCommand(path.join(into, 'chromium'), ['--a', 'b c'], { env: { LD_LIBRARY_PATH: '/mine' } });
    expect(output).to.equal(`${into}/lib:/mine|${into}|--a b c\n`);
  });

  it('renders a page on this machine', async () => drawsPage(await locate(components.chromium)));

  it('reports the output of a program that does not start', async () => {
    const lacking = await script('echo libnss3.so: no such file >&2; exit 127');
    const failure = await drawsPage(lacking).catch((error: unknown) => String(error));
    expect(failure).to.equal('Error: it does not start: libnss3.so: no such file');
  });

  it('accepts a program of version 131 or newer on the PATH', async () => {
    const flawOf = async (output: string) => components.chromium.flawOf(await script(`echo '${output}'`));
    expect(await flawOf('Chromium 156.0.8078.79 built on Debian GNU/Linux 12')).to.equal(undefined);
    expect(await flawOf('Chromium 131.0.6778.85 snap')).to.equal(undefined);
    expect(await flawOf('Chromium 99.0.4844.51')).to.equal('is version 99; 131 or newer is needed');
    expect(await flawOf('something else')).to.equal(
      'does not print its version, but "something else"; 131 or newer is needed',
    );
  });
});
