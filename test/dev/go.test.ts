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
    // Go names a program by the last part of its package.
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
});
