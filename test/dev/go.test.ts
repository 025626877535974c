import { expect } from 'chai';
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { goInstall } from '../../dev/components/go.ts';

describe('dev/components/go', () => {
  let directory: string;
  const { PATH = '' } = process.env;
  beforeEach(async () => {
    directory = await mkdtemp(path.join(os.tmpdir(), 'go-'));
    const bin = path.join(directory, 'bin');
    await mkdir(bin);
    // Go names a program by the last part of its package path.
    const script = '#!/bin/sh\nif [ "$1" = install ]; then package=${2%@*}; echo > "$GOBIN/${package##*/}"; fi\n';
    await writeFile(path.join(bin, 'go'), script);
    await chmod(path.join(bin, 'go'), 0o755);
    process.env['PATH'] = `${bin}:${PATH}`;
  });
  afterEach(async () => {
    process.env['PATH'] = PATH;
    await rm(directory, { recursive: true });
  });

  for (const executable of ['server', 'temporal-server'])
    it(`installs cmd/server as ${executable}`, async () => {
      const into = path.join(directory, 'into');
      await mkdir(into);
      const module = 'example.com/server/cmd/server@v1.2.3';
      await goInstall({ module, executable, duration: 'no time' }).fetch(into, () => undefined);
      expect(await readdir(into)).to.deep.equal([executable]);
    });

  it('skips a Go that is too old, and reports its version if it finds no other Go', async () => {
    const bin = path.join(directory, 'bin');
    await writeFile(path.join(bin, 'go'), '#!/bin/sh\necho go version go1.19.8 linux/amd64\n');
    process.env['PATH'] = bin;
    const component = { module: 'example.com/server@v1.2.3', executable: 'server', duration: 'no time' };
    const fetch = () =>
      goInstall(component)
        .fetch(directory, () => undefined)
        .then(
          () => 'built',
          ({ message }: Error) => message,
        );
    expect(await fetch()).to.equal(`${path.join(bin, 'go')} is version 1.19; 1.21 or newer is needed`);
    const newer = path.join(directory, 'newer');
    await mkdir(newer);
    const script = '#!/bin/sh\nif [ "$1" = install ]; then echo > "$GOBIN/server"; else echo go version go1.25.1; fi\n';
    await writeFile(path.join(newer, 'go'), script, { mode: 0o755 });
    process.env['PATH'] = `${bin}:${newer}`;
    expect(await fetch()).to.equal('built');
    process.env['PATH'] = directory;
    expect(await fetch()).to.equal('go is not installed');
  });
});
