/** Tests the check of ffmpeg (DEC-162). */
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { components } from '../../../dev/components/catalogue.ts';
import { locate } from '../../../dev/components.ts';
import type { FfmpegFinding } from '../../../platform/infra/video/ffmpeg-look.ts';
import { ffmpegAt } from '../../../platform/infra/video/ffmpeg.ts';

const ending =
  'videos stay as they were uploaded; install ffmpeg with libx264 and AAC (Debian: apt-get install ffmpeg), or set FFMPEG_BINARY to one.';

describe('the check of ffmpeg', function () {
  this.timeout(60_000);
  const { PATH = '' } = process.env;
  let real: string;
  let directory: string;
  before('find ffmpeg', async () => {
    real = await locate(components.ffmpeg);
  });
  beforeEach(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'ffmpeg-look-'));
  });
  afterEach(async () => {
    process.env['PATH'] = PATH;
    await rm(directory, { recursive: true });
  });

  async function wrapped(before: string, folder = '.'): Promise<string> {
    const file = path.join(directory, folder, 'ffmpeg');
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, `#!/bin/sh\n${before}\nexec ${real} "$@"\n`);
    await chmod(file, 0o755);
    return file;
  }
  /** This ffmpeg does not list the encoders and filters with these names. */
  const lacking = (names: string) =>
    wrapped(`case "$*" in *-encoders|*-filters) ${real} "$@" | grep -vE ' (${names}) '; exit;; esac`);
  async function findingOf(executable: string): Promise<FfmpegFinding> {
    const ffmpeg = ffmpegAt(executable);
    const isThere = await ffmpeg.look();
    expect([ffmpeg.isThere, ffmpeg.finding?.mistakes.length === 0]).to.deep.equal([isThere, isThere]);
    return ffmpeg.finding as FfmpegFinding;
  }

  it('accepts the ffmpeg of the tests', async () => {
    const { file, version, mistakes, notes } = await findingOf(real);
    expect([file, mistakes, notes]).to.deep.equal([real, [], []]);
    expect(version).to.match(/^\S+$/);
  });

  it('reports a missing ffmpeg', async () => {
    process.env['PATH'] = directory;
    const none = async (executable: string) => (await findingOf(executable)).mistakes;
    expect(await none('/there/is/none')).to.deep.equal([`There is no ffmpeg at /there/is/none: ${ending}`]);
    expect(await none('ffmpeg')).to.deep.equal([`There is no ffmpeg named ffmpeg on the PATH: ${ending}`]);
    const link = path.join(directory, 'ffmpeg');
    await symlink('/there/is/none', link);
    expect(await none('ffmpeg')).to.deep.equal([
      `There is no ffmpeg named ffmpeg on the PATH (${link} is a link that leads to no file): ${ending}`,
    ]);
  });

  it('reports a program that is not ffmpeg, or that does not start', async () => {
    const other = await wrapped('echo "frame grabber 1.2"; exit 0');
    expect((await findingOf(other)).mistakes).to.deep.equal([
      `${other} says "frame grabber 1.2" to -version, so it is no ffmpeg: ${ending}`,
    ]);
    const unlinked = await wrapped('echo "libx264.so.164: cannot open shared object file" >&2; exit 127');
    expect((await findingOf(unlinked)).mistakes).to.deep.equal([
      `${unlinked} ends with exit code 127: libx264.so.164: cannot open shared object file: ${ending}`,
    ]);
  });

  it('reports missing encoders and filters', async () => {
    const without = await lacking('libx264|aac|setsar');
    const { version = '', mistakes } = await findingOf(without);
    expect(mistakes).to.deep.equal([
      `${without} (ffmpeg ${version}) lacks the encoders libx264 and aac, the filter setsar: ${ending}`,
    ]);
    const plain = await findingOf(await lacking('lut3d'));
    expect(plain.mistakes).to.deep.equal([`${without} (ffmpeg ${version}) lacks the filter lut3d: ${ending}`]);
  });

  it('reports an ffmpeg that encodes nothing within the limits', async () => {
    const bounded = await wrapped('case "$*" in *libx264*) [ "$(ulimit -d)" = 2097152 ] && exit 127;; esac');
    const { version = '', mistakes } = await findingOf(bounded);
    expect(mistakes).to.deep.equal([
      `${bounded} (ffmpeg ${version}) encodes no test picture within its bounds (2048 MB of memory, 60 s): ${ending}`,
    ]);
  });

  it('skips a broken ffmpeg on the PATH, and uses the next one', async () => {
    const wrong = await wrapped('exit 1', 'first');
    const right = await wrapped('', 'second');
    process.env['PATH'] = [path.dirname(wrong), path.dirname(right), '/usr/bin', '/bin'].join(':');
    const ffmpeg = ffmpegAt('ffmpeg');
    expect(await ffmpeg.look()).to.equal(true);
    expect([ffmpeg.finding?.file, ffmpeg.finding?.notes]).to.deep.equal([
      right,
      [`${wrong} ends with exit code 1: it prints nothing: ${ending}`],
    ]);
    const bounds = { timeMs: 15_000, memoryMb: 2_048, fileBytes: 1_000 };
    const { signal } = new AbortController();
    expect(await ffmpeg.run(['-f', 'lavfi', '-i', 'sine=d=1', '-f', 'null', '-'], { bounds, signal })).to.equal('done');
  });

  it('checks a working ffmpeg again only if its file changes or it fails', async () => {
    const reports: (readonly string[])[] = [];
    const callLog = path.join(directory, 'asked');
    const file = await wrapped(`echo "$*" >> ${callLog}`);
    const ffmpeg = ffmpegAt(file, ({ mistakes }) => reports.push(mistakes));
    await Promise.all([ffmpeg.look(), ffmpeg.look()]);
    await rm(callLog);
    await ffmpeg.look();
    await wrapped('exit 1');
    expect([await ffmpeg.look(), await ffmpeg.look()]).to.deep.equal([false, false]);
    await wrapped(`[ -e ${callLog} ] && exit 1`);
    expect(await ffmpeg.look()).to.equal(true);
    await writeFile(callLog, ''); // only ffmpeg stops working, not its file, as after an update of its libraries
    expect([await ffmpeg.look(), await ffmpeg.look({ force: true })]).to.deep.equal([true, false]);
    expect(reports).to.deep.equal([
      [],
      [`${file} ends with exit code 1: it prints nothing: ${ending}`],
      [],
      reports.at(-1),
    ]);
    expect(reports.at(-1)).to.deep.equal(reports[1]);
  });
});
