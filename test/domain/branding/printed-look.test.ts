/** Tests how the logo of a document is read from the store, even if the store fails (DEC-186). */
import { Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { expect } from 'chai';
import { readLogo, type LogoFile } from '../../../domain/branding/printed-look.ts';
import type { ObjectStore } from '../../../platform/infra/store/object-store.ts';
import { newId } from '../../../platform/core/ids.ts';
import { logoPixels } from '../../toolkit/builders/logos.ts';

const size = { width: 1_200, height: 176 };

describe('the picture of a logo (DEC-186)', function () {
  this.timeout(20_000);
  let bytes: Buffer;
  before(async () => {
    bytes = await logoPixels(200, 200).png().toBuffer();
  });

  const file = (): LogoFile => ({ key: `public/${newId()}`, sizeBytes: bytes.length, width: 200, height: 200 });
  const storeOf = (content: () => Buffer) => {
    const counts = { reads: 0, now: 0, most: 0 };
    const storage: Pick<ObjectStore, 'stream'> = {
      async stream() {
        counts.reads += 1;
        counts.now += 1;
        counts.most = Math.max(counts.most, counts.now);
        await wait(20);
        counts.now -= 1;
        return Readable.from([content()]);
      },
    };
    return { storage, counts };
  };

  it('is created once for each file, and is cached', async () => {
    const { storage, counts } = storeOf(() => bytes);
    const [club, logo] = [newId(), file()];
    const read = () => readLogo(storage, club, logo, size);
    const [one, other] = await Promise.all([read(), read()]);
    expect(one).to.include({ width: 176, height: 176, coding: 'deflate' });
    expect([one === other, (await read()) === one, counts.reads]).to.deep.equal([true, true, 1]);
  });

  it('is created from at most two files at the same time in all clubs', async () => {
    const { storage, counts } = storeOf(() => bytes);
    const pictures = await Promise.all(Array.from({ length: 3 }, () => readLogo(storage, newId(), file(), size)));
    expect(pictures.filter((picture) => typeof picture === 'string')).to.deep.equal([]);
    expect([counts.reads, counts.most]).to.deep.equal([3, 2]);
  });

  it('is created from at most one file of a club at the same time', async () => {
    const { storage, counts } = storeOf(() => bytes);
    const club = newId();
    await Promise.all(Array.from({ length: 2 }, () => readLogo(storage, club, file(), size)));
    expect([counts.reads, counts.most]).to.deep.equal([2, 1]);
  });

  it('is unavailable if the stored file is too short, and is read again later', async () => {
    let content = bytes.subarray(0, 100);
    const { storage, counts } = storeOf(() => content);
    const [club, logo] = [newId(), file()];
    expect(await readLogo(storage, club, logo, size)).to.equal('unavailable');
    content = bytes;
    expect(await readLogo(storage, club, logo, size)).to.be.an('object');
    expect(counts.reads).to.equal(2);
  });

  it('is unreadable if the bytes are not an image, and is never read again', async () => {
    const { storage, counts } = storeOf(() => Buffer.alloc(bytes.length, 0x61));
    const [club, logo] = [newId(), file()];
    expect(await readLogo(storage, club, logo, size)).to.equal('unreadable');
    expect(await readLogo(storage, club, logo, size)).to.equal('unreadable');
    expect(counts.reads).to.equal(1);
  });
});
