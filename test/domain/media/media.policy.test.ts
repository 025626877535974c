import { expect } from 'chai';
import {
  contentTypes,
  expiryRules,
  isAllowedType,
  isImageType,
  isReadWhole,
  isResumable,
  isTextType,
  kindOf,
  maxBytes,
  mayRun,
  mediaRules,
  resumableRules,
} from '../../../domain/media/media.policy.ts';
import {
  identificationRules,
  isKeptAsPicture,
  keptPictureBox,
  mediaPermits,
  movingRules,
  pageRules,
  pictureBox,
  processingRules,
  renditionBoxes,
  renditionVersion,
  videoBounds,
  videoPermits,
  videoRules,
  videoSize,
  waitAfterFault,
} from '../../../domain/media/processing.policy.ts';
import type { MediaPurpose } from '../../../entities/media/values.ts';

const mediaPurposes = ['library', 'assignment', 'agent_image', 'post', 'avatar'] as const satisfies MediaPurpose[];
const megabyte = 1_048_576;
const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 86_400_000];

describe('the accepted files (MED-2 to MED-4)', () => {
  const office = 'application/vnd.openxmlformats-officedocument';
  /** Whether a browser could run the type, show it as a picture, or show it as text. */
  const types = {
    'application/pdf': ['document'],
    [`${office}.wordprocessingml.document`]: ['document'],
    [`${office}.presentationml.presentation`]: ['document'],
    [`${office}.spreadsheetml.sheet`]: ['document'],
    'application/vnd.oasis.opendocument.text': ['document'],
    'application/vnd.oasis.opendocument.presentation': ['document'],
    'application/vnd.oasis.opendocument.spreadsheet': ['document'],
    'application/epub+zip': ['document'],
    'application/zip': ['document'],
    'text/markdown': ['document', 'text'],
    'text/html': ['document', 'text'],
    'text/csv': ['document', 'text'],
    'text/plain': ['document', 'text'],
    'image/png': ['image', 'picture'],
    'image/jpeg': ['image', 'picture'],
    'image/gif': ['image', 'picture'],
    'image/webp': ['image', 'picture'],
    'image/avif': ['image'],
    'image/svg+xml': ['image', 'runs'],
    'audio/mpeg': ['audio'],
    'audio/mp4': ['audio'],
    'audio/aac': ['audio'],
    'audio/ogg': ['audio'],
    'audio/wav': ['audio'],
    'audio/flac': ['audio'],
    'audio/webm': ['audio'],
    'video/mp4': ['video', 'in parts'],
    'video/quicktime': ['video', 'in parts'],
    'video/webm': ['video', 'in parts'],
    'video/x-matroska': ['video', 'in parts'],
  };

  it('have one of the listed types, each with its kind and properties', () => {
    const found = contentTypes.map((type) => [
      type,
      [
        kindOf(type),
        ...(isTextType(type) ? ['text'] : []),
        ...(isImageType(type) ? ['picture'] : []),
        ...(mayRun(type) ? ['runs'] : []),
        ...(isResumable(type) ? ['in parts'] : []),
      ],
    ]);
    expect(Object.fromEntries(found)).to.deep.equal(types);
    const candidates = [...Object.keys(types), 'image/tiff', 'text/xml', ''];
    expect(candidates.filter((type) => !isAllowedType(type))).to.deep.equal(['image/tiff', 'text/xml', '']);
  });

  it('count as executable if a browser can run their type', () => {
    const run = ['application/xhtml+xml', 'application/xml', 'text/xml', 'application/javascript', 'image/svg+xml'];
    expect(run.filter((type) => !mayRun(type))).to.deep.equal([]);
    expect(['text/html', 'application/pdf', 'application/xmlish-free'].filter(mayRun)).to.deep.equal([
      'application/xmlish-free',
    ]);
  });

  it('have a limit in megabytes for each purpose and kind', () => {
    const sizes = mediaPurposes.map((purpose) => [
      purpose,
      ['image/png', 'video/mp4', 'audio/mpeg', 'application/pdf'].map((type) => maxBytes(purpose, type) / megabyte),
    ]);
    expect(Object.fromEntries(sizes)).to.deep.equal({
      library: [20, 10_240, 500, 500],
      assignment: [100, 2_048, 100, 100],
      agent_image: [5, 0, 0, 0],
      post: [20, 0, 0, 20],
      avatar: [10, 0, 0, 0],
    });
  });

  for (const [mime, sizeBytes, expected] of [
    ['image/png', 20 * megabyte, true],
    ['image/png', String(20 * megabyte), true],
    ['image/png', 20 * megabyte + 1, false],
    ['image/avif', 1, false],
    [null, 1, false],
  ] as const)
    it(`${expected ? 'are' : 'are not'} read in one piece if they have ${sizeBytes} bytes and the type ${mime ?? 'unknown'}`, () => {
      expect(isReadWhole({ mime, sizeBytes })).to.equal(expected);
    });
});

describe('the limits of files', () => {
  it('allow 15 minutes for an upload, and an hour for its completion', () => {
    expect(mediaRules).to.deep.equal({
      uploadMs: 15 * minuteMs,
      completionMs: hourMs,
      lateMs: 5 * minuteMs,
      arrivalMs: dayMs,
      maxLibraryAddresses: 200,
      agentImageSide: 8_000,
      maxUnusedImages: 20,
      unusedImageMs: 7 * dayMs,
      maxUnsentFiles: 20,
      unsentFileMs: 7 * dayMs,
      maxUnsentPostFiles: 20,
      maxAvatarUploads: 10,
      maxTracks: 20,
    });
  });

  it('allow a day for a resumable upload, and a week with renewed tokens (MED-26)', () => {
    expect(resumableRules).to.deep.equal({
      tokenMs: dayMs,
      renewableMs: 7 * dayMs,
      maxOpen: 100,
      leaseMs: 6_000,
      renewalMs: 2_000,
      lockWaitMs: 15_000,
    });
  });

  it('keep a video for 30 days if the plan has no videos, and warn a week before (MED-10)', () => {
    expect(expiryRules).to.deep.equal({
      keepMs: 30 * dayMs,
      warningMs: 7 * dayMs,
      oneWarningMs: dayMs,
      inUseMs: dayMs,
    });
  });

  it('allow a thread 100 files, with 5 s for each identification', () => {
    expect(identificationRules).to.deep.equal({
      filesPerThread: 100,
      workMs: 5_000,
      maxHeapMb: 64,
      maxBuffersMb: 64,
    });
  });

  it('lease a file for 10 s', () => {
    expect(processingRules).to.deep.equal({
      leaseMs: 10_000,
      renewalMs: 2_500,
      maxFaults: 7,
      watchMs: 2_000,
      maxWatching: 200,
      maxOldFiles: 50,
      emptyAfterMs: 30 * minuteMs,
    });
    expect(movingRules).to.deep.equal({
      leaseMs: 10_000,
      renewalMs: 2_500,
      busyMs: 10 * minuteMs,
      linkSeconds: 300,
      readableMs: { private: hourMs, public: 6 * minuteMs },
    });
  });

  it('allow retries after 1 and 10 s, then after 1, 10, 40 and 120 min, and then no more', () => {
    const waits = [1, 2, 3, 4, 5, 6, 7, 8].map((faults) => waitAfterFault(faults));
    const minutes = [1, 10, 40, 120].map((count) => count * minuteMs);
    expect(waits).to.deep.equal([1_000, 10_000, ...minutes, undefined, undefined]);
  });

  it('allow two to four files to be processed at the same time, and one to three videos', () => {
    expect([1, 2, 3, 4, 5, 6, 64].map(mediaPermits)).to.deep.equal([2, 2, 2, 3, 4, 4, 4]);
    expect([1, 4, 64].map(videoPermits)).to.deep.equal([1, 2, 3]);
  });
});

describe('pictures of files (MED-22, MED-28)', () => {
  it('are a preview and a thumbnail, or one picture for an agent image or an avatar', () => {
    const preview = { width: 1_600, height: 1_600 };
    expect(renditionBoxes).to.deep.equal({ preview, thumbnail: { width: 320, height: 320 } });
    const pictureBoxes = mediaPurposes.filter(isKeptAsPicture).map((purpose) => [purpose, keptPictureBox(purpose)]);
    expect(Object.fromEntries(pictureBoxes)).to.deep.equal({
      agent_image: preview,
      avatar: { width: 512, height: 512, isSquare: true },
    });
    expect(keptPictureBox('library')).to.equal(undefined);
    expect([renditionVersion, pictureBox, pageRules]).to.deep.equal([
      1,
      { width: 640, height: 640 },
      { mostBytes: 104_857_600 },
    ]);
  });
});

describe('renditions of videos (MED-24)', () => {
  it('have fixed limits', () => {
    expect(videoRules).to.deep.equal({
      longSide: 1_280,
      shortSide: 720,
      bitsASecond: 3_000_000,
      soundBitsASecond: 128_000,
      longestMs: 12 * hourMs,
      mostPixels: 36_000_000,
      memoryMb: 2_048,
      threads: 2,
      pictureAtMs: 3_000,
      pictureMs: minuteMs,
      reserveBytes: 536_870_912,
      permitWaitMs: 15_000,
      diskWaitMs: 5 * minuteMs,
      ffmpegWaitMs: hourMs,
    });
  });

  for (const [given, made] of [
    ['1920x1080', '1280x720'],
    ['1080x1920', '720x1280'],
    ['3840x1000', '1280x332'],
    ['1000x1000', '720x720'],
    ['1280x720', '1280x720'],
    ['641x361', '640x360'],
    ['64x1', '64x2'],
    ['1x1', '2x2'],
  ] as const)
    it(`have the size ${made} for ${given}`, () => {
      const [width = 0, height = 0] = given.split('x').map(Number);
      const size = videoSize({ width, height });
      expect(`${size.width}x${size.height}`).to.equal(made);
    });

  it('may take 10 min plus six times the video’s duration, but at most 5 h', () => {
    expect(videoBounds(0)).to.deep.equal({ timeMs: 10 * minuteMs, memoryMb: 2_048, fileBytes: 33_554_432 });
    expect(videoBounds(minuteMs)).to.deep.equal({
      timeMs: 16 * minuteMs,
      memoryMb: 2_048,
      fileBytes: 33_554_432 + 28_152_000,
    });
    expect(videoBounds(hourMs).timeMs).to.equal(5 * hourMs);
    expect(videoBounds(1).fileBytes).to.equal(33_554_432 + 470);
  });
});
