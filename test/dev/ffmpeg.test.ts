import { expect } from 'chai';
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { runCommand } from '../../dev/stack/commands.ts';
import { components } from '../../dev/components/catalogue.ts';
import { npmFfmpeg } from '../../dev/components/ffmpeg.ts';

describe('dev/components/ffmpeg', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(path.join(os.tmpdir(), 'ffmpeg-'));
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));

  it('extracts only the program from the npm package of this platform', async () => {
    const carrier = path.join(directory, 'carrier');
    await mkdir(carrier);
    await writeFile(path.join(carrier, 'package.json'), '{"name":"carrier","version":"1.0.0"}');
    await writeFile(path.join(carrier, 'ffmpeg'), '#!/bin/sh\necho "pressing $*"\n');
    const into = path.join(directory, 'into');
    await mkdir(into);
    await npmFfmpeg({ [`${os.platform()}-${os.arch()}`]: carrier }).fetch(into, () => undefined);
    expect(await readdir(into)).to.deep.equal(['ffmpeg']);
    expect(await runCommand(path.join(into, 'ffmpeg'), ['a', 'b c'])).to.equal('pressing a b c\n');
  });

  it('reports a platform without an npm package', async () => {
    const failure = await npmFfmpeg({})
      .fetch(directory, () => undefined)
      .catch((error: unknown) => String(error));
    expect(failure).to.equal(`Error: there is none for ${os.platform()}-${os.arch()}`);
  });

  it('refuses a program on the PATH that cannot encode H.264 and AAC', async () => {
    const lacking = path.join(directory, 'ffmpeg');
    await writeFile(lacking, '#!/bin/sh\necho "Unknown encoder \'libx264\'" >&2; exit 1\n');
    await chmod(lacking, 0o755);
    expect(await components.ffmpeg.flawOf(lacking)).to.contain("Unknown encoder 'libx264'");
  });
});
