/** Tests the limits of child programs. Only on Linux, because the tests read /proc. */
import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { platform, tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { runBounded, type ProgramBounds } from '../../../platform/infra/programs/bounded-program.ts';
import { until } from '../../toolkit/drive/until.ts';

describe('a child program with limits', function () {
  this.timeout(30_000);
  const bounds: ProgramBounds = { timeMs: 15_000, memoryMb: 1_024, fileBytes: 10_000_000 };
  let directory: string;
  beforeEach(async function () {
    if (platform() !== 'linux') this.skip();
    directory = await mkdtemp(path.join(tmpdir(), 'bounded-'));
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));

  const env = () => ({ PATH: process.env['PATH'] });
  const sh = (words: string, changed: Partial<ProgramBounds> = {}, signal = new AbortController().signal) =>
    runBounded('/bin/sh', ['-c', words, directory], {
      bounds: { ...bounds, ...changed },
      env: env(),
      signal,
      cwd: directory,
    });
  /** The arguments of the program and its child name the directory. */
  const withChild = (rest: string) => `sh -c 'while :; do sleep 1; done' "$0" & echo begun > begun; ${rest}`;
  /** Processes that name the directory in their arguments. */
  const living = async () => {
    const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
    const lines = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'latin1').catch(() => '')));
    return lines.filter((line) => line.split('\0').includes(directory)).length;
  };

  it('ends as “done” if it exits with 0, and otherwise as “failed”', async () => {
    expect([await sh('exit 0'), await sh('exit 3'), await sh('kill -9 $$')]).to.deep.equal([
      'done',
      'failed',
      'failed',
    ]);
  });

  it('is ended together with its children', async () => {
    expect(await sh(withChild('exit 0'))).to.equal('done');
    expect(await living()).to.equal(0);
  });

  it('is ended with its children at the time limit', async () => {
    const began = performance.now();
    expect(await sh(withChild('while :; do sleep 1; done'), { timeMs: 500 })).to.equal('failed');
    expect(await living()).to.equal(0);
    expect(performance.now() - began).to.be.below(5_000);
  });

  it('is ended with its children when the abort signal fires', async () => {
    const stop = new AbortController();
    const running = sh(withChild('while :; do sleep 1; done'), {}, stop.signal);
    await until('its begin', { timeoutMs: 5_000 }, async () => (await readdir(directory)).includes('begun'));
    stop.abort(new Error('stopped'));
    expect(await running.catch((error: unknown) => String(error))).to.equal('Error: stopped');
    expect(await living()).to.equal(0);
  });

  it('is ended with its children when this process is killed', async () => {
    const runner = `
      const { runBounded } = await import(${JSON.stringify(new URL('../../../platform/infra/programs/bounded-program.ts', import.meta.url).href)});
      await runBounded('/bin/sh', ['-c', ${JSON.stringify(withChild('while :; do sleep 1; done'))}, ${JSON.stringify(directory)}], {
        bounds: ${JSON.stringify(bounds)}, env: { PATH: process.env.PATH }, signal: new AbortController().signal, cwd: ${JSON.stringify(directory)} });`;
    const parent = spawn(process.execPath, ['--input-type=module', '-e', runner], { stdio: 'inherit' });
    await until('its begin', { timeoutMs: 10_000 }, async () => (await readdir(directory)).includes('begun'));
    expect(await living()).to.be.above(1);
    parent.kill('SIGKILL');
    await until('the end of all these processes', { timeoutMs: 10_000 }, async () => (await living()) === 0);
  });

  it('is limited in CPU time even in another process session', async () => {
    expect(await sh(`setsid sh -c 'while :; do :; done' "$0" & sleep 0.3`, { cpuSeconds: 1 })).to.equal('done');
    expect(await living()).to.equal(1);
    await until('its end', { timeoutMs: 15_000 }, async () => (await living()) === 0);
  });

  it('fails if it or its child exceeds the memory limit', async () => {
    const hoard = path.join(directory, 'hoard.mjs');
    await writeFile(hoard, 'const kept = []; for (;;) kept.push(Buffer.alloc(10_000_000, 1));');
    const began = performance.now();
    expect(await sh(`'${process.execPath}' '${hoard}'`, { memoryMb: 700 })).to.equal('failed');
    expect(performance.now() - began).to.be.below(bounds.timeMs - 1_000);
  });

  it('fails if a file or the directory exceeds its size limit', async () => {
    expect(await sh('exec cat /dev/zero > file', { fileBytes: 51_200 })).to.equal('failed');
    expect((await stat(path.join(directory, 'file'))).size).to.be.at.most(51_200);
    const many = 'n=0; while :; do n=$((n+1)); head -c 100000 /dev/zero > file-$n; sleep 0.02; done';
    const began = performance.now();
    expect(await sh(many, { directory: { path: directory, bytes: 1_000_000 } })).to.equal('failed');
    expect(performance.now() - began).to.be.below(bounds.timeMs - 1_000);
  });

  it('may write endless output, which is discarded', async () => {
    expect(await sh('head -c 300000000 /dev/zero; head -c 300000000 /dev/zero >&2')).to.equal('done');
  });

  it('gets no environment variable of this process', async () => {
    await sh('env > env');
    const names = (await readFile(path.join(directory, 'env'), 'utf8')).split('\n').map((line) => line.split('=')[0]);
    expect(names.filter((name) => !['PATH', 'PWD', '_', 'SHLVL', 'OLDPWD', ''].includes(name ?? ''))).to.deep.equal([]);
  });

  it('leaves no process after a run', async () => {
    await sh('exit 0');
    const children = await readFile(`/proc/${process.pid}/task/${process.pid}/children`, 'utf8').catch(() => '');
    const names = await Promise.all(
      children.split(' ').map((pid) => readFile(`/proc/${pid}/cmdline`, 'latin1').catch(() => '')),
    );
    expect(names.filter((line) => line.includes('ulimit'))).to.deep.equal([]);
  });
});
