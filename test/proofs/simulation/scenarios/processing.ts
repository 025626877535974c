/** Processes files in a simulation without threads, child processes, ffmpeg or a disk. */
import type { Finding } from '../../../../domain/media/formats/file-content.ts';
import { isImageType, kindOf, type ContentType, type MediaError } from '../../../../domain/media/media.policy.ts';
import { isKeptAsPicture } from '../../../../domain/media/processing.policy.ts';
import type { FileReaders } from '../../../../domain/media/processing/readers.ts';
import type { ProcessingDeps } from '../../../../domain/media/processing/step.ts';
import type { MediaPurpose } from '../../../../entities/media/values.ts';
import { createClubPermits } from '../../../../platform/engine/club-permits.ts';
import { mailPictureRules } from '../../../../platform/infra/images/mail-picture.ts';
import type { Box } from '../../../../platform/infra/images/pictures.ts';
import type { ObjectStore } from '../../../../platform/infra/store/object-store.ts';
import type { Database } from '../../../../platform/infra/postgres/database.ts';
import type { Simulation } from '../simulation.ts';

interface SimulatedDeps {
  storage: ObjectStore;
  readers: FileReaders;
  /** The scenario gets each fault of the product through this function. An unavailable store is no such fault. */
  onFault: (error: unknown) => void;
}

export function simulatedProcessing(db: Database, deps: SimulatedDeps): ProcessingDeps {
  return {
    db,
    ...deps,
    onOutcome: () => {},
    failpoint: () => Promise.resolve(),
    video: {
      ffmpeg: {
        look: () => Promise.resolve(false),
        finding: undefined,
        isThere: false,
        run: () => Promise.reject(new Error('There is no ffmpeg')),
      },
      workDirectory: '/nowhere',
      freeBytes: () => Promise.resolve(0),
      permits: createClubPermits(1),
    },
  };
}

const natures = {
  image: { mime: 'image/png' },
  /** An image with a readable size, but with content that cannot be decoded. */
  torn: { mime: 'image/png' },
  animated: { error: 'image_animated' },
  pdf: { mime: 'application/pdf' },
  /** A file that needs a password. */
  locked: { mime: 'application/pdf' },
  text: { mime: 'text/plain' },
  video: { mime: 'video/mp4' },
  evil: { error: 'content_not_allowed' },
  /** A file that kills each process that reads it. */
  deadly: { mime: 'image/png' },
} as const satisfies Record<string, { mime: ContentType } | { error: MediaError }>;
export type Nature = keyof typeof natures;
export const everyNature = Object.keys(natures) as readonly Nature[];

export const contentOf = (nature: Nature, number: number) =>
  Buffer.from(`${nature} ${number} ${'.'.repeat(number % 7)}`);

function natureOf(content: Buffer): Nature | undefined {
  const [word] = content.toString().split(' ');
  return everyNature.find((nature) => nature === word);
}

/** @param announced the announced type */
export function findingOf(
  nature: Nature,
  { purpose, announced }: { purpose: MediaPurpose; announced: string },
): { mime: ContentType } | { error: MediaError } {
  const finding = natures[nature];
  if ('error' in finding) return finding;
  const isWanted = isImageType(finding.mime) || !isKeptAsPicture(purpose);
  const isNamed = kindOf(finding.mime) !== 'video' || kindOf(announced) === 'video';
  return isWanted && isNamed ? finding : { error: 'content_not_allowed' };
}

export const pictureOf = (content: Buffer, { width }: Box) => Buffer.from(`${content.toString()} in ${width}`);

const readerMoods = ['reads', 'is slow', 'breaks'] as const;
export type ReaderMood = (typeof readerMoods)[number];

/** This duration is longer than a lease that is not renewed. */
const slowMs = 15_000;

/** @param mood a function that returns how files are read at the moment */
export function simulatedReaders(sim: Simulation, mood: () => ReaderMood): FileReaders {
  async function open(label: string, content: Buffer, signal?: AbortSignal): Promise<Nature | undefined> {
    const nature = natureOf(content);
    const readerMood = await sim.outside(label, mood);
    if (readerMood === 'is slow') await pause(signal);
    signal?.throwIfAborted();
    if (readerMood === 'breaks' || nature === 'deadly') throw new ThreadEnded();
    return nature;
  }

  return {
    async identify(contents, { purpose, mime, sizeBytes: size }, { signal }): Promise<Finding | undefined> {
      const sizeBytes = Number(size);
      const content = await contents.read(0, sizeBytes);
      if (!content) return undefined;
      const nature = await open('a file is identified', content, signal);
      const finding = findingOf(nature ?? 'evil', { purpose, announced: mime ?? '' });
      return 'error' in finding
        ? { sizeBytes, ...finding }
        : { sizeBytes, ...finding, kind: kindOf(finding.mime), ...sizes };
    },
    async shrinkImage(bytes, boxes) {
      const nature = await open('an image is shrunk', bytes);
      return nature === 'image' ? boxes.map((box) => picture(bytes, box)) : undefined;
    },
    async makeMailPicture(bytes) {
      const nature = await open('a picture for e-mails is made', bytes);
      return nature === 'image' ? { ...picture(bytes, mailBox), standsStill: false } : 'image_unreadable';
    },
    async drawFirstPage(pdf, box, { signal }) {
      const pieces: Buffer[] = [];
      for await (const piece of pdf) pieces.push(piece);
      const content = Buffer.concat(pieces);
      const nature = await open('a page is drawn', content, signal);
      return nature === 'pdf' ? picture(content, box) : undefined;
    },
  };
}

const sizes = { width: 40, height: 30, durationMs: 1_000 };

/** The box of the picture for e-mails. */
export const mailBox = { width: mailPictureRules.width };

const picture = (content: Buffer, box: Box) => ({
  bytes: pictureOf(content, box),
  type: 'image/png' as const,
  width: 4,
  height: 4,
});

/** The error if the process that reads a file dies. It counts as a fault of the product. */
export class ThreadEnded extends Error {
  override name = 'ThreadEnded';
}

function pause(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, slowMs);
    signal?.addEventListener('abort', () => resolve(), { once: true });
  });
}
