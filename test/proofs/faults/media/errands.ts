/** What is done with files: twelve of each club, of every kind, each with what must be true of it in the end. */
import { createHash, randomBytes } from 'node:crypto';
import sharp from 'sharp';
import type { Id } from '../../../../platform/core/ids.ts';
import { clientOf, readUntil, type Client } from './client.ts';
import type { Library } from './libraries.ts';
import { uploadOnce, writeAfterDeletion, type Arriving } from './uploader.ts';

/** A file whose last call was answered. */
export interface Told {
  id: Id;
  clubId: Id;
  becomes: 'ready' | 'failed' | 'removed';
  visibility: 'private' | 'public';
  isArchived: boolean;
  /** SHA-256 of its bytes, in hexadecimal; undefined of an image for agents, which is kept as another picture. */
  digest: string | undefined;
  /** What must have been made of it, with the picture that is kept of an image for agents. */
  renditions: number;
}

export interface Errands {
  /** Does the errand of this number, from 0. @returns the files that it has left */
  run(number: number, library: Library): Promise<Told[]>;
  readonly cuts: number;
}

const ready = { becomes: 'ready', visibility: 'private', isArchived: false } as const;

/** How many errands a club has: one of each kind, which leave twelve files. */
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

  async function keep(client: Client, file: Arriving, told: Partial<Told> & Pick<Told, 'clubId'>): Promise<Told> {
    const id = await uploaded(client, file);
    return { ...ready, id, digest: digestOf(file.bytes), renditions: 0, ...told };
  }

  /** @param again whether it becomes private again, at once or when it has become public */
  async function publish(client: Client, told: Told, again: 'stays' | 'at once' | 'later'): Promise<Told> {
    await readUntil(client, told.id, isReady);
    await client.call('POST', `/media/${told.id}/publish`);
    if (again === 'stays') return { ...told, visibility: 'public' };
    if (again === 'later') await readUntil(client, told.id, ({ visibility }) => visibility === 'public');
    await client.call('POST', `/media/${told.id}/unpublish`);
    return told;
  }

  async function remove(client: Client, told: Told): Promise<Told> {
    await client.call('DELETE', `/media/${told.id}`, { accepted: [404] }); // 404: the answer was lost
    return { ...told, becomes: 'removed' };
  }

  /** Repeated blindly it would undo itself, so a client whose answer was lost looks first. */
  async function replace(client: Client, one: Told, other: Told, otherBytes: number): Promise<Told[]> {
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
          return [await keep(owner, text(number), { clubId })];
        case 1:
        case 5: {
          const file = { ...(await picture(number)), purpose: 'agent image' } as const;
          return [
            await keep(clientOf(apiUrl, library, file.purpose), file, { clubId, digest: undefined, renditions: 1 }),
          ];
        }
        case 2:
          return [await remove(owner, await keep(owner, club % 2 ? await picture(number) : text(number), { clubId }))];
        case 3:
          return [await publish(owner, await keep(owner, await picture(number), { clubId, renditions: 2 }), 'stays')];
        case 4: {
          const [one, other] = [text(number), text(number, 'other')];
          const told = [await keep(owner, one, { clubId }), await keep(owner, other, { clubId })] as const;
          return replace(owner, ...told, other.bytes.length);
        }
        case 6: {
          const lying = { ...text(number), name: `${number}.pdf`, mime: 'application/pdf' };
          return [await keep(owner, lying, { clubId, becomes: 'failed' })];
        }
        case 7: {
          const told = await keep(owner, await picture(number), { clubId, renditions: 2 });
          return [await publish(owner, told, club % 2 ? 'at once' : 'later')];
        }
        case 8: {
          const id = await writeAfterDeletion(owner, text(number));
          return [{ ...ready, id, clubId, becomes: 'removed', digest: undefined, renditions: 0 }];
        }
        case 9: {
          const file = { ...text(number), purpose: 'assignment' } as const;
          return [await keep(clientOf(apiUrl, library, file.purpose), file, { clubId })];
        }
        default: {
          const told = await keep(owner, video(number, movie), { clubId, renditions: 2 });
          return [club % 3 === 0 ? await publish(owner, told, 'stays') : told];
        }
      }
    },
  };
}

const digestOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

/** Of one number each has another length: by it a client sees which content a file has. */
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

/** Of one to three parts, by a box of bytes that players pass over. */
function video(number: number, movie: Buffer): Arriving {
  const filling = randomBytes(1_000_000 * (1 + (number % 19)));
  const head = Buffer.alloc(8);
  head.writeUInt32BE(head.length + filling.length);
  head.write('free', 4);
  const bytes = Buffer.concat([movie, head, filling]);
  return { name: `${number}.mp4`, mime: 'video/mp4', bytes, purpose: 'library' };
}
