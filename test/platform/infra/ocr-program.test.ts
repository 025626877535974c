import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { ocrProgramAt } from '../../../platform/infra/programs/ocr-program.ts';

describe('the OCR program', function () {
  this.timeout(30_000);
  let directory: string;
  let file: string;
  beforeEach(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'ocr-program-'));
    file = path.join(directory, 'ocr');
  });
  afterEach(() => rm(directory, { recursive: true }));

  /** A shell script: `$1` is the input, `$2` the output, `$3` the languages, `$4` the pages. */
  async function program(words: string, args = '{input} {output} {languages} {pages}') {
    await writeFile(file, `#!/bin/sh\n${words}\n`, { mode: 0o755 });
    return ocrProgramAt([file, ...args.split(' ')], directory);
  }
  const runArguments = () => ({
    input: path.join(directory, 'in.pdf'),
    output: path.join(directory, 'out'),
    languages: 'por+eng',
    pages: '1-3,7',
  });
  const options = () => ({ directory, timeMs: 10_000, signal: new AbortController().signal });
  const copy = 'cp "$1" "$2"';

  it('gets each argument with replaced placeholders', async () => {
    const { run, takesPages } = await program(
      'for word in "$@"; do echo "$word"; done > words',
      '-l {languages} --pages={pages} {input} {output} $HOME;',
    );
    const task = { ...runArguments(), languages: '{input}' };
    expect([takesPages, await run(task, options())]).to.deep.equal([true, 'done']);
    expect((await readFile(path.join(directory, 'words'), 'utf8')).trim().split('\n')).to.deep.equal([
      '-l',
      '{input}',
      '--pages=1-3,7',
      task.input,
      task.output,
      '$HOME;',
    ]);
  });

  it('gets no environment variable of the service except PATH', async () => {
    const { run } = await program('env > env; pwd >> env');
    await run(runArguments(), options());
    const lines = (await readFile(path.join(directory, 'env'), 'utf8')).trim().split('\n');
    const own = lines.filter((line) => !/^(PATH|PWD|OLDPWD|SHLVL|_)=/.test(line));
    const expected = [`HOME=${directory}`, `TMPDIR=${directory}`, 'LANG=C.UTF-8', 'OMP_THREAD_LIMIT=1', directory];
    expect(own).to.have.members(expected);
  });

  it('is reported if it does not exist', async () => {
    const none = ocrProgramAt(['/there/is/none', '{input}', '{output}'], directory);
    expect([none.takesPages, await none.run(runArguments(), options())]).to.deep.equal([false, 'absent']);
    expect(await none.flawFor('eng')).to.equal(
      'There is no program /there/is/none: install it, or name another in OCR_COMMAND.',
    );
  });

  it('is accepted if it writes a PDF of the test page', async () => {
    expect(await (await program(copy)).flawFor('eng')).to.equal(undefined);
    expect(await readdir(directory)).to.deep.equal(['ocr']);
  });

  it('is reported if it fails or writes no PDF', async () => {
    const flaw = `${file} reads no trial page in eng within its bounds (1536 MB of memory, 60 s): is it complete, and are these languages installed?`;
    for (const words of ['exit 3', 'exit 0', 'echo words > "$2"'])
      expect(await (await program(words)).flawFor('eng'), words).to.equal(flaw);
  });

  it('is checked again only if it fails or its file changes', async () => {
    const trials = async () => (await readFile(path.join(directory, 'trials'), 'utf8')).trim().split('\n');
    const noting = `echo "$3" >> ${path.join(directory, 'trials')}; [ "$3" = ara ] && exit 3; ${copy}`;
    const looked = await program(noting);
    for (const languages of ['eng', 'eng', 'por', 'ara', 'ara']) await looked.flawFor(languages);
    expect(await trials()).to.deep.equal(['eng', 'por', 'ara', 'ara']);
    await looked.flawFor('eng', { force: true });
    await writeFile(file, `#!/bin/sh\n${noting} # changed\n`, { mode: 0o755 });
    await looked.flawFor('por');
    expect((await trials()).slice(4)).to.deep.equal(['eng', 'por']);
  });
});
