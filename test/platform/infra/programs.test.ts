/** Tests how the service finds and runs programs of the machine. */
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { askProgram, firstWords, lookUp } from '../../../platform/infra/programs/programs.ts';

describe('programs of the machine', function () {
  this.timeout(20_000);
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'programs-'));
  });
  afterEach(() => rm(directory, { recursive: true }));

  const at = (...parts: string[]) => path.join(directory, ...parts);
  async function script(file: string, text: string, mode = 0o755): Promise<string> {
    await mkdir(path.dirname(at(file)), { recursive: true });
    await writeFile(at(file), text);
    await chmod(at(file), mode);
    return at(file);
  }
  const refusal = (program: string, options: { timeoutMs?: number } = {}) =>
    askProgram(program, ['--version'], options).then(
      (output) => `said ${output}`,
      ({ message }: Error) => message,
    );

  it('are found in the order of the PATH', async () => {
    const [second, last] = [await script('b/thing', '#!/bin/sh\n'), await script('e/thing', '#!/bin/sh\n')];
    await mkdir(at('a'));
    await symlink(at('gone'), at('a', 'thing'));
    await mkdir(at('c', 'thing'), { recursive: true });
    await symlink('thing', (await mkdir(at('d')), at('d', 'thing')));
    const directories = ['a', 'b', 'none', 'c', 'd', 'e', 'b'].map((name) => at(name));
    expect(await lookUp('thing', ['relative', '', ...directories].join(':'))).to.deep.equal({
      files: [second, last],
      unusable: [
        `${at('a', 'thing')} is a link that leads to no file`,
        `${at('c', 'thing')} is no file`,
        `${at('d', 'thing')} is a link that leads to no file`,
      ],
    });
    expect(await lookUp(second, '')).to.deep.equal({ files: [second], unusable: [] });
    expect(await lookUp('other', directories.join(':'))).to.deep.equal({ files: [], unusable: [] });
  });

  it('are reported if they may not be executed', async () => {
    const file = await script('thing', 'text', 0o644);
    expect(await lookUp(file, '')).to.deep.equal({ files: [], unusable: [`${file} may not be executed by this user`] });
  });

  it('return their output on stdout and stderr', async () => {
    const file = await script('thing', '#!/bin/sh\necho "error $1" >&2; echo "out $1"\n');
    expect(await askProgram(file, ['--version'])).to.equal('out --version\nerror --version\n');
    expect([firstWords('\n  thing 1.2  \nmore'), firstWords(' \n')]).to.deep.equal(['"thing 1.2"', 'nothing']);
  });

  it('report their failure with the last lines of their output', async () => {
    const loader = await script(
      'loader',
      '#!/bin/sh\necho one >&2; echo "libx264.so.164: cannot open" >&2; exit 127\n',
    );
    expect(await refusal(loader)).to.equal('ends with exit code 127: libx264.so.164: cannot open');
    expect(await refusal(await script('mute', '#!/bin/sh\nexit 3\n'))).to.equal(
      'ends with exit code 3: it prints nothing',
    );
    expect(await refusal(await script('killed', '#!/bin/sh\nkill -9 $$\n'))).to.equal(
      'ends with SIGKILL: it prints nothing',
    );
    expect(await refusal(at('none'))).to.equal('is not installed, or its interpreter is not');
    expect(await refusal(await script('other', '#!/none/such\n'))).to.equal(
      'is not installed, or its interpreter is not',
    );
    // The shell reads a program for another processor as a script.
    expect(await refusal(await script('broken', '\x7fELF\x02\x01nonsense'))).to.match(
      /^ends with exit code 127: [ -~]*\?ELF\?nonsense: not found$/,
    );
  });

  it('are ended with their children if they hang, even if they ignore a signal', async () => {
    const file = await script('thing', '#!/bin/sh\ntrap "" TERM\nsleep 600\nsleep 600\n');
    const beganAt = Date.now();
    expect(await refusal(file, { timeoutMs: 300 })).to.equal('does not answer --version within 0.3 s');
    expect(Date.now() - beganAt).to.be.below(5_000);
  });

  it('may leave processes in the background', async () => {
    const file = await script('thing', '#!/bin/sh\nsleep 600 &\nsetsid sleep 5 &\necho fine\n');
    const beganAt = Date.now();
    expect(await refusal(file)).to.equal('said fine\n');
    expect(Date.now() - beganAt).to.be.below(4_000);
  });

  it('are ended if they print too much', async () => {
    expect(await refusal(await script('thing', '#!/bin/sh\nyes\n'))).to.equal('says more than 4 MB to --version');
  });
});
