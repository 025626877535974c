/** Tests the colours of the MP4 and the picture of a video (MED-31). */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { Readable } from 'node:stream';
import { expect } from 'chai';
import sharp from 'sharp';
import { playedFileOf } from '../../../../domain/media/formats/played-file.ts';
import type { FileClaim } from '../../../../domain/media/processing/claims.ts';
import { makeVideo } from '../../../../domain/media/processing/video.ts';
import {
  describedVideo,
  ffmpegOutput,
  shownColor,
  videoOf,
  type Coding,
  type Rgb,
} from '../../../toolkit/builders/coded-videos.ts';
import { processingDeps } from '../../../toolkit/drive/processing.ts';

interface Made {
  video: Buffer;
  thumbnail: Buffer;
}

describe('colours of a video (MED-31)', function () {
  this.timeout(60_000);
  let root: string;
  beforeEach(async () => {
    root = await mkdtemp(path.join(tmpdir(), "odd: 'name', [of] a; directory-"));
  });
  afterEach(() => rm(root, { recursive: true }));

  const measured = (bytes: Buffer) =>
    playedFileOf(async (offset, length) => bytes.subarray(offset, offset + length), bytes.length);

  async function madeOf(bytes: Buffer): Promise<Made> {
    const found = await measured(bytes);
    const claim = { ...found, clubId: 'club', objectKey: 'file', fence: 1, sizeBytes: String(bytes.length) };
    const stored = new Map<string, Buffer>();
    const storage = {
      put: async (key: string, _: string, body: Readable) =>
        void stored.set(key.split('-')[1] ?? '', await buffer(body)),
    };
    const { video: deps } = await processingDeps();
    const contents = { stream: async () => (async function* () { yield bytes; })() }; // prettier-ignore
    const options = { signal: new AbortController().signal, tell() {} };
    await makeVideo(storage, { ...deps, workDirectory: root }, contents, claim as unknown as FileClaim, options);
    expect([...stored.keys()]).to.have.members(['video', 'thumbnail']);
    return Object.fromEntries(stored) as unknown as Made;
  }

  const close = (color: readonly number[], expected: readonly number[], within = 5) =>
    color.every((value, at) => Math.abs(value - (expected[at] ?? 0)) <= within);

  async function expectColor(bytes: Buffer, expected: Rgb): Promise<void> {
    const { video, thumbnail } = await madeOf(bytes);
    expect(await describedVideo(video)).to.match(/^h264 .*yuv420p\(tv, bt709(?:, progressive)?\)/);
    const colors = [await shownColor(video), await middleOf(thumbnail)];
    for (const color of colors) expect(close(color, expected), `${color.join()} is ${expected.join()}`).to.equal(true);
  }
  async function middleOf(picture: Buffer): Promise<number[]> {
    const { data, info } = await sharp(picture).raw().toBuffer({ resolveWithObject: true });
    const middle = 3 * (info.width * Math.floor(info.height / 2) + Math.floor(info.width / 2));
    return [...data.subarray(middle, middle + 3)];
  }

  const hlg = { primaries: 'bt2020', transfer: 'arib-std-b67' };
  const pq = { primaries: 'bt2020', transfer: 'smpte2084' };
  const hdr10 =
    ':hdr=1:master-display=G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,1):max-cll=1000,400';
  const sdr = { primaries: 'bt709', transfer: 'bt709' };
  const cases: Readonly<Record<string, { coding: Coding; color: Rgb; shows: Rgb }>> = {
    'HLG: paper white is bright, but no highlight': {
      coding: { says: hlg, matrix: 'bt2020nc' },
      color: [0.75, 0.75, 0.75],
      shows: [230, 230, 230],
    },
    'HLG: a colour keeps its saturation': {
      coding: { says: hlg, matrix: 'bt2020nc' },
      color: [0.7, 0.1, 0.1],
      shows: [246, 0, 0],
    },
    'PQ with HDR10 metadata: paper white': {
      coding: { says: pq, matrix: 'bt2020nc', more: hdr10 },
      color: [0.58, 0.58, 0.58],
      shows: [230, 230, 230],
    },
    'PQ: dark areas stay dark': {
      coding: { says: pq, matrix: 'bt2020nc' },
      color: [0.2, 0.2, 0.2],
      shows: [40, 40, 40],
    },
    'SDR of 10 bits': { coding: { says: sdr, matrix: 'bt709' }, color: [0.7, 0.2, 0.1], shows: [178, 51, 26] },
    'SDR of 10 bits and the full range': {
      coding: { says: sdr, matrix: 'bt709', isFullRange: true },
      color: [0.7, 0.2, 0.1],
      shows: [178, 51, 26],
    },
    'SDR of BT.2020': {
      coding: { says: { primaries: 'bt2020', transfer: 'bt2020-10' }, matrix: 'bt2020nc' },
      color: [0.6, 0.3, 0.3],
      shows: [183, 56, 74],
    },
    'Display P3': {
      coding: { says: { primaries: 'smpte432', transfer: 'bt709' }, matrix: 'bt709' },
      color: [0.6, 0.3, 0.3],
      shows: [164, 71, 74],
    },
    'SDR of 8 bits and the full range': {
      coding: { says: sdr, matrix: 'bt709', bits: 8, isFullRange: true },
      color: [0.7, 0.2, 0.1],
      shows: [178, 51, 26],
    },
    'SDR with BT.601 in its metadata': {
      coding: { says: { primaries: 'smpte170m', transfer: 'smpte170m' }, matrix: 'smpte170m', bits: 8 },
      color: [0.7, 0.2, 0.1],
      shows: [178, 51, 26],
    },
    'SDR with few lines and without colour data': {
      coding: { matrix: 'smpte170m', bits: 8 },
      color: [0.7, 0.2, 0.1],
      shows: [178, 51, 26],
    },
    'SDR with 720 lines and without colour data': {
      coding: { matrix: 'bt709', bits: 8, size: '1280x720' },
      color: [0.7, 0.2, 0.1],
      shows: [178, 51, 26],
    },
  };
  for (const [title, { coding, color, shows }] of Object.entries(cases))
    it(`are correct for ${title}`, async () => expectColor(await videoOf(color, coding), shows));

  it('are black in transparent areas', async () => {
    const half = ['-f', 'lavfi', '-i', 'color=c=white@0.5:s=320x180:r=5:d=1,format=argb', '-c:v', 'qtrle'];
    await expectColor(await ffmpegOutput(half, 'mov'), [128, 128, 128]);
  });

  it('are kept in a rotated HDR video with odd sides', async () => {
    const lying = await videoOf([0.75, 0.75, 0.75], { says: hlg, matrix: 'bt2020nc', size: '640x360' });
    const turned = await ffmpegOutput(['-c', 'copy', '-metadata:s:v', 'rotate=90', '-tag:v', 'hvc1'], 'mov', lying);
    expect(await measured(turned)).to.include({ width: 360, height: 640 });
    const standing = await madeOf(turned);
    expect(await measured(standing.video)).to.include({ width: 360, height: 640 });
    expect(await sharp(standing.thumbnail).metadata()).to.include({ width: 360, height: 640 });
    expect(close(await shownColor(standing.video), [230, 230, 230])).to.equal(true);

    const odd = await videoOf([0.7, 0.2, 0.1], { says: sdr, matrix: 'bt709', bits: 8, size: '321x241' });
    expect(await measured((await madeOf(odd)).video)).to.include({ width: 320, height: 240 });
  });

  it('are recognized as wide if the container states HDR or a wide colour space', async () => {
    const colored = (more: string[]) => ['-c', 'copy', '-movflags', 'write_colr', '-tag:v', 'hvc1', ...more];
    const bytes = await videoOf([0.5, 0.5, 0.5], { says: hlg, matrix: 'bt2020nc' });
    expect(await measured(await ffmpegOutput(colored([]), 'mov', bytes))).to.include({ hasWideColors: true });
    const plain = await videoOf([0.5, 0.5, 0.5], { says: sdr, matrix: 'bt709' });
    expect(await measured(await ffmpegOutput(colored([]), 'mov', plain))).to.include({ hasWideColors: false });
  });
});
