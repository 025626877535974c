/**
 * The operations of clients on files, called errands. Each club gets one errand of each kind, and each errand states the expected outcome
 * of its files.
 */
import { createHash, randomBytes } from 'node:crypto';
import sharp from 'sharp';
import type { Id } from '../../../../platform/core/ids.ts';
import { clientOf, readUntil, type Client } from './client.ts';
import type { Library } from './libraries.ts';
import { uploadOnce, writeAfterDeletion, type Arriving } from './uploader.ts';

/** The expected state of a file after the API has answered the last call about the file. */
export interface ExpectedFile {
  id: Id;
  clubId: Id;
  becomes: 'ready' | 'failed' | 'removed';
  visibility: 'private' | 'public';
  isArchived: boolean;
  /** SHA-256 of the bytes, in hexadecimal. An image for agents has no checksum here, because the system stores another picture. */
  digest: string | undefined;
  /** The number of renditions, which includes the stored picture of an image for agents. */
  renditions: number;
}

export interface Errands {
  /** Performs the errand with this number. Numbers start at 0. */
  run(number: number, library: Library): Promise<ExpectedFile[]>;
  readonly cuts: number;
}

const ready = { becomes: 'ready', visibility: 'private', isArchived: false } as const;

/** Together they have twelve files. */
export const errandsOfAClub = 11;

/** @param movie a video that ffmpeg can read */
export function createErrands(apiUrl: string, movie: Buffer): Errands {
  let cuts = 0;
  const uploaded = async (client: Client, file: Arriving): Promise<Id> => {
    const { id, cuts: own } = await uploadOnce(client, file);
    cuts += own;
    return id;
  };
  const isReady = ({ status }: { status: string }) => status === 'ready';

  async function upload(
    client: Client,
    file: Arriving,
    expected: Partial<ExpectedFile> & Pick<ExpectedFile, 'clubId'>,
  ): Promise<ExpectedFile> {
    const id = await uploaded(client, file);
    return { ...ready, id, digest: digestOf(file.bytes), renditions: 0, ...expected };
  }

  /** @param again whether and when the file becomes private again: never, immediately, or after it became public */
  async function publish(
    client: Client,
    expected: ExpectedFile,
    again: 'stays' | 'immediately' | 'later',
  ): Promise<ExpectedFile> {
    await readUntil(client, expected.id, isReady);
    await client.call('POST', `/media/${expected.id}/publish`);
    if (again === 'stays') return { ...expected, visibility: 'public' };
    if (again === 'later') await readUntil(client, expected.id, ({ visibility }) => visibility === 'public');
    await client.call('POST', `/media/${expected.id}/unpublish`);
    return expected;
  }

  async function remove(client: Client, expected: ExpectedFile): Promise<ExpectedFile> {
    await client.call('DELETE', `/media/${expected.id}`, { accepted: [404] }); // 404: the answer was lost
    return { ...expected, becomes: 'removed' };
  }

  /**
   * Exchanges the contents of two files. A second call would exchange the contents again, so the client reads the file before each call.
   */
  async function replace(
    client: Client,
    one: ExpectedFile,
    other: ExpectedFile,
    otherBytes: number,
  ): Promise<ExpectedFile[]> {
    for (const { id } of [one, other]) await readUntil(client, id, isReady);
    for (;;) {
      const { size_bytes: size } = await readUntil(client, one.id, isReady);
      if (size === otherBytes) break;
      await client.callOnce('POST', `/media/${one.id}/replace`, { with: other.id });
    }
    return [
      { ...one, digest: other.digest },
      { ...other, digest: one.digest, isArchived: true },
    ];
  }

  return {
    get cuts() {
      return cuts;
    },
    async run(number, library) {
      const { clubId } = library;
      const owner = clientOf(apiUrl, library, 'library');
      const club = Math.floor(number / errandsOfAClub);
      switch (number % errandsOfAClub) {
        case 0:
          return [await upload(owner, text(number), { clubId })];
        case 1:
        case 5: {
          const file = { ...(await picture(number)), purpose: 'agent image' } as const;
          return [
            await upload(clientOf(apiUrl, library, file.purpose), file, { clubId, digest: undefined, renditions: 1 }),
          ];
        }
        case 2:
          return [
            await remove(owner, await upload(owner, club % 2 ? await picture(number) : text(number), { clubId })),
          ];
        case 3:
          return [await publish(owner, await upload(owner, await picture(number), { clubId, renditions: 2 }), 'stays')];
        case 4: {
          const [one, other] = [text(number), text(number, 'other')];
          const expected = [await upload(owner, one, { clubId }), await upload(owner, other, { clubId })] as const;
          return replace(owner, ...expected, other.bytes.length);
        }
        case 6: {
          const mislabelled = { ...text(number), name: `${number}.pdf`, mime: 'application/pdf' };
          return [await upload(owner, mislabelled, { clubId, becomes: 'failed' })];
        }
        case 7: {
          const expected = await upload(owner, await picture(number), { clubId, renditions: 2 });
          return [await publish(owner, expected, club % 2 ? 'immediately' : 'later')];
        }
        case 8: {
          const id = await writeAfterDeletion(owner, text(number));
          return [{ ...ready, id, clubId, becomes: 'removed', digest: undefined, renditions: 0 }];
        }
        case 9: {
          const file = { ...text(number), purpose: 'assignment' } as const;
          return [await upload(clientOf(apiUrl, library, file.purpose), file, { clubId })];
        }
        default: {
          const expected = await upload(owner, video(number, movie), { clubId, renditions: 2 });
          return [club % 3 === 0 ? await publish(owner, expected, 'stays') : expected];
        }
      }
    },
  };
}

const digestOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

/** Makes a text file. Two kinds with the same number have different lengths, so that a client can distinguish them by size. */
function text(number: number, kind = 'one'): Arriving {
  const bytes = Buffer.from(`# Knot ${number} ${kind}\n${'bends and hitches\n'.repeat(1 + (number % 50))}`);
  return { name: `${number}.md`, mime: 'text/markdown', bytes, purpose: 'library' };
}

async function picture(number: number): Promise<Arriving> {
  const background = { r: number % 256, g: 30, b: 30 };
  const bytes = await sharp({ create: { width: 400 + number, height: 300, channels: 3, background } })
    .png()
    .toBuffer();
  return { name: `${number}.png`, mime: 'image/png', bytes, purpose: 'library' };
}

/** Makes a video of one to three upload parts. A box of random bytes, which players skip, makes the file large. */
function video(number: number, movie: Buffer): Arriving {
  const filling = randomBytes(1_000_000 * (1 + (number % 19)));
  const head = Buffer.alloc(8);
  head.writeUInt32BE(head.length + filling.length);
  head.write('free', 4);
  const bytes = Buffer.concat([movie, head, filling]);
  return { name: `${number}.mp4`, mime: 'video/mp4', bytes, purpose: 'library' };
}
