/** Tests the limits of ffmpeg as a child process. */
import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { platform, tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { components } from '../../../dev/components/catalogue.ts';
import { locate } from '../../../dev/components.ts';
import { ffmpegAt, runFfmpeg, type FfmpegBounds } from '../../../platform/infra/video/ffmpeg.ts';
import { until } from '../../toolkit/drive/until.ts';

describe('ffmpeg as a child process', function () {
  this.timeout(20_000);
  const bounds: FfmpegBounds = { timeMs: 15_000, memoryMb: 2_048, fileBytes: 10_000_000 };
  const { signal } = new AbortController();
  /** Encoding this video takes a minute of CPU time. */
  const endless = ['-f', 'lavfi', '-i', 'testsrc=s=640x360:d=100000', '-c:v', 'libx264', '-threads', '1', '-f', 'mp4'];
  const short = ['-f', 'lavfi', '-i', 'testsrc=s=64x64:d=1', '-c:v', 'mjpeg', '-f', 'avi'];
  let program: string;
  let directory: string;
  let file: string;
  before('find ffmpeg', async () => {
    program = await locate(components.ffmpeg);
  });
  beforeEach(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'ffmpeg-test-'));
    file = path.join(directory, 'out');
  });
  afterEach(() => rm(directory, { recursive: true }));

  it('encodes a video and reports its progress', async () => {
    const progress: number[] = [];
    const onProgress = (ms: number) => progress.push(ms);
    expect(await runFfmpeg(program, [...short, file], { bounds, signal, onProgress })).to.equal('done');
    expect((await stat(file)).size).to.be.above(1_000);
    expect(progress.at(-1)).to.equal(1_000);
  });

  it('is reported as missing until it is installed', async () => {
    for (const none of ['/there/is/none', 'no-such-ffmpeg', directory])
      expect(await runFfmpeg(none, short, { bounds, signal }), none).to.equal('absent');
    const absent = ffmpegAt('/there/is/none');
    expect([absent.isThere, await absent.look(), absent.isThere]).to.deep.equal([undefined, false, false]);
    const present = ffmpegAt(program);
    expect([await present.look(), present.isThere]).to.deep.equal([true, true]);
  });

  it('fails if it exceeds its limit of time, memory or file size', async () => {
    const failed = (changed: Partial<FfmpegBounds>) =>
      runFfmpeg(program, [...endless, '-movflags', 'frag_keyframe', '-y', file], {
        bounds: { ...bounds, ...changed },
        signal,
      });
    expect(await failed({ timeMs: 300 }), 'time').to.equal('failed');
    const large = [
      '-f',
      'lavfi',
      '-i',
      'testsrc=s=4000x3000',
      '-frames:v',
      '1',
      '-c:v',
      'mjpeg',
      '-f',
      'avi',
      '-y',
      file,
    ];
    const within = (memoryMb: number) => runFfmpeg(program, large, { bounds: { ...bounds, memoryMb }, signal });
    // With 20 MB the loader cannot map the libraries of a distribution's ffmpeg. That failure must not count as a missing ffmpeg.
    expect([await within(2_048), await within(100), await within(20)], 'memory').to.deep.equal([
      'done',
      'failed',
      'failed',
    ]);
    const frames = ['-f', 'lavfi', '-i', 'testsrc=s=640x360:d=100000', '-c:v', 'mjpeg', '-f', 'avi', '-y', file];
    const beganAt = Date.now();
    const small = { ...bounds, fileBytes: 51_200 };
    expect(await runFfmpeg(program, frames, { bounds: small, signal }), 'file').to.equal('failed');
    expect(Date.now() - beganAt, 'it must fail by its size, and not by its time').to.be.below(small.timeMs - 1_000);
    expect((await stat(file)).size).to.be.at.most(51_200);
  });

  it('is limited in memory, but not in address space (only on Linux)', async function () {
    if (platform() !== 'linux') this.skip();
    // Node reserves many gigabytes of address space at its start.
    const hoard = `
      const [fs, kept] = [require("node:fs"), []];
      for (;;) { kept.push(Buffer.alloc(10_000_000, 1)); fs.writeFileSync(${JSON.stringify(file)}, String(kept.length)); }`;
    const hoarding = path.join(directory, 'hoard.sh');
    await writeFile(hoarding, `#!/bin/sh\nexec '${process.execPath}' -e '${hoard}'\n`, { mode: 0o755 });
    expect(await runFfmpeg(hoarding, [], { bounds: { ...bounds, memoryMb: 700 }, signal })).to.equal('failed');
    expect(Number(await readFile(file, 'utf8'))).to.be.within(10, 73);
  });

  it('ends when the abort signal fires', async () => {
    const stop = new AbortController();
    const onProgress = () => stop.abort(new Error('stopped'));
    const error = await runFfmpeg(program, [...endless, file], { bounds, signal: stop.signal, onProgress }).catch(
      (reason: unknown) => reason,
    );
    expect(error).to.have.property('message', 'stopped');
  });

  it('ends when this process is killed (only on Linux)', async function () {
    if (platform() !== 'linux') this.skip();
    const runner = `
      const { runFfmpeg } = await import(${JSON.stringify(new URL('../../../platform/infra/video/ffmpeg.ts', import.meta.url).href)});
      await runFfmpeg(...${JSON.stringify([program, [...endless, file]])}, { bounds: ${JSON.stringify(bounds)}, signal: new AbortController().signal, onProgress: () => process.stdout.write('begun') });`;
    const parent = spawn(process.execPath, ['--input-type=module', '-e', runner], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await new Promise((resolve) => parent.stdout.once('data', resolve));
    expect(await ofFile(file)).to.be.above(0);
    parent.kill('SIGKILL');
    await until('the end of ffmpeg and of its shell', { timeoutMs: 10_000 }, async () => (await ofFile(file)) === 0);
  });

  it('gets no environment variable, no other file and no network', async () => {
    let calls = 0;
    const server = createServer((_, response) => {
      calls += 1;
      response.end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/part.ts`;
    const playlist = path.join(directory, 'playlist.mp4');
    await writeFile(playlist, `#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\n${address}\n#EXT-X-ENDLIST\n`);
    try {
      for (const demuxer of ['mov', 'matroska', 'hls', 'concat']) {
        const args = [
          '-protocol_whitelist',
          'file,pipe',
          '-f',
          demuxer,
          '-i',
          `file:${playlist}`,
          '-f',
          'mp4',
          '-y',
          file,
        ];
        expect(await runFfmpeg(program, args, { bounds, signal }), demuxer).to.equal('failed');
      }
    } finally {
      server.close();
    }
    expect(calls).to.equal(0);
    const printing = path.join(directory, 'env.sh');
    await writeFile(printing, `#!/bin/sh\nenv > "${file}"\n`, { mode: 0o755 });
    await runFfmpeg(printing, [], { bounds, signal });
    const names = (await readFile(file, 'utf8')).split('\n').map((line) => line.split('=')[0]);
    expect(names.filter((name) => !['PATH', 'PWD', '_', 'SHLVL', 'OLDPWD', ''].includes(name ?? ''))).to.deep.equal([]);
  });
});

/** The shell and ffmpeg. */
async function ofFile(file: string): Promise<number> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'latin1').catch(() => '')));
  return lines.filter((line) => line.split('\0').at(-2) === file).length;
}
