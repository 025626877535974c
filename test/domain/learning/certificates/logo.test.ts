/** Tests the club's logo on certificates, from the library to the page (DEC-186). */
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import { expect } from 'chai';
import sharp from 'sharp';
import { readConfig } from '../../../../config.ts';
import { printedLogoRules } from '../../../../domain/branding/printed-look.ts';
import { printCertificate, type CertificateFileDeps } from '../../../../domain/learning/certificates/files.ts';
import { findCertificate } from '../../../../domain/learning/certificates/reads.ts';
import { coloredPage, taggedTexts } from '../../../toolkit/assert/pdf-readers.ts';
import { buildClub, buildStudent, type TestClub } from '../../../toolkit/builders/clubs.ts';
import { buildLogo, chooseLook, logoDrawing, logoPixels, moveLogo } from '../../../toolkit/builders/logos.ts';
import { certificateCalls, issueCertificateByHand } from '../../../toolkit/drive/certificates.ts';
import { testDatabase, testDeps } from '../../../toolkit/stack/database.ts';
import { testBucket, testObjectStore } from '../../../toolkit/stack/storage.ts';

/** In points from the upper left corner. */
const middle = { x: 841.89 / 2, y: 68 };
const red = [208, 16, 32] as const;

/** The texts for screen readers, in order. */
async function figuresOf(pdf: Buffer): Promise<string[]> {
  return (await taggedTexts(pdf)).filter(({ role }) => role === 'Figure').map(({ text }) => text);
}

/** @param at in points */
async function printedColor(pdf: Buffer, at: { x: number; y: number }): Promise<[number, number, number]> {
  const scale = 4;
  return (await coloredPage(pdf, scale)).colorAt(at.x * scale, at.y * scale);
}

describe('the logo on certificates (DEC-186)', function () {
  this.timeout(30_000);
  let club: TestClub;
  let id: string;
  let deps: CertificateFileDeps;
  beforeEach(async () => {
    club = await buildClub();
    const student = await buildStudent(club.id, { name: '王小明' });
    ({ id } = await issueCertificateByHand(club, { student }));
    deps = { db: (await testDeps()).db, storage: await testObjectStore() };
  });

  const print = async (storage: Partial<CertificateFileDeps['storage']> = {}) =>
    printCertificate(
      { ...deps, storage: { ...deps.storage, ...storage } },
      await findCertificate(deps.db, club.id, id),
      new Date(),
    );
  const clubName = async () => (await findCertificate(deps.db, club.id, id)).clubName;
  /** A visible logo is a figure with the name of the club. */
  const showsLogo = async (bytes: Buffer) => (await figuresOf(bytes)).includes(await clubName());
  const storedKeys = async () => (await testBucket()).objects(`certificates/${club.id}/`);
  const variantKey = async (mediaId: string, role: string) => {
    const [row] = await (
      await testDatabase()
    ).query<{ key: string }[]>('SELECT object_key AS key FROM media_renditions WHERE media_id = $1 AND role = $2', [
      mediaId,
      role,
    ]);
    return row?.key ?? '';
  };
  const distance = (one: readonly number[], other: readonly number[]) =>
    Math.max(...one.map((value, at) => Math.abs(value - (other[at] ?? 0))));

  const square = (isOpaque = false) => logoPixels(400, 400, { isOpaque });
  const kinds: [string, string, () => Promise<Buffer>][] = [
    ['PNG with transparency', 'image/png', () => square().png().toBuffer()],
    ['PNG of 256 colours', 'image/png', () => square().png({ palette: true }).toBuffer()],
    ['JPEG', 'image/jpeg', () => square(true).jpeg().toBuffer()],
    ['JPEG in CMYK', 'image/jpeg', () => square(true).toColourspace('cmyk').jpeg().toBuffer()],
    ['WEBP with transparency', 'image/webp', () => square().webp().toBuffer()],
    ['GIF', 'image/gif', () => square().gif().toBuffer()],
    ['AVIF', 'image/avif', () => square().avif().toBuffer()],
    ['SVG', 'image/svg+xml', async () => logoDrawing(400, 400)],
  ];
  for (const [kind, mime, draw] of kinds)
    it(`shows a ${kind} in its colours, with the club’s name for screen readers`, async () => {
      await chooseLook(club, { logo_media_id: await buildLogo(club, await draw(), mime) });
      const bytes = await print();
      expect(await figuresOf(bytes)).to.include(await clubName());
      const [edge, hole] = [
        await printedColor(bytes, { ...middle, x: middle.x - 18 }),
        await printedColor(bytes, middle),
      ];
      // The red of a CMYK image without a profile is different.
      expect(distance(edge, red), `edge ${edge.join(' ')}`).to.be.below(kind.includes('CMYK') ? 60 : 24);
      expect(Math.min(...hole), `hole ${hole.join(' ')}`).to.be.above(235);
      expect(bytes.toString('latin1')).to.not.contain('DeviceCMYK');
      expect(bytes.length).to.be.below(120 * 1_024);
    });

  it('shows the paper through transparent parts', async () => {
    const holeOf = async (isOpaque: boolean) => {
      await chooseLook(club, { logo_media_id: await buildLogo(club, await square(isOpaque).png().toBuffer()) });
      return printedColor(await print(), middle);
    };
    expect(await holeOf(true)).to.deep.equal([255, 255, 255]);
    expect((await holeOf(false))[2]).to.be.below(250);
  });

  for (const [what, width, height] of [
    ['very wide', 4_000, 40],
    ['very tall', 40, 4_000],
    ['very small', 12, 12],
  ] as const)
    it(`keeps a ${what} logo inside its box and keeps its proportions`, async () => {
      const plain = await print();
      const drawn = await logoPixels(width, height, { isOpaque: true }).png().toBuffer();
      await chooseLook(club, { logo_media_id: await buildLogo(club, drawn) });
      const bytes = await print();
      const box = await redBoxOf(bytes);
      if (!box) throw new Error('The page has no picture');
      const most = Math.min(300 / width, 44 / height, 0.75);
      expect(box.width).to.be.closeTo(width * most, 1);
      expect(box.height).to.be.closeTo(height * most, 1);
      expect(box.x + box.width / 2).to.be.closeTo(841.89 / 2, 0.5);
      expect(await redBoxOf(plain)).to.equal(undefined);
    });

  it('appears on the certificates of a club whose language is Arabic', async () => {
    await (
      await testDatabase()
    ).query(`UPDATE clubs SET name = 'أكاديمية الميناء', language = 'ar' WHERE id = $1`, [club.id]);
    ({ id } = await issueCertificateByHand(club));
    await chooseLook(club, { logo_media_id: await buildLogo(club, await square().png().toBuffer()) });
    const bytes = await print();
    expect((await figuresOf(bytes))[0]).to.equal('أكاديمية الميناء');
    expect(distance(await printedColor(bytes, { ...middle, x: middle.x - 18 }), red)).to.be.below(24);
  });

  it('uses the smallest variant that is large enough', async () => {
    const read: string[] = [];
    const storage: Partial<CertificateFileDeps['storage']> = {
      stream: async (key, ...rest) => {
        read.push(key.replace(/^.*\d-(\w+)-\d$/, '$1'));
        return deps.storage.stream(key, ...rest);
      },
    };
    for (const [width, height] of [
      [1_000, 1_000],
      [2_000, 400],
    ] as const) {
      await chooseLook(club, {
        logo_media_id: await buildLogo(club, await logoPixels(width, height).png().toBuffer()),
      });
      await print(storage);
    }
    expect(read).to.deep.equal(['thumbnail', 'preview']);
  });

  it('skips a variant that has more bytes than the limit', async () => {
    const logo = await buildLogo(club, await logoPixels(2_000, 400).png().toBuffer());
    await chooseLook(club, { logo_media_id: logo });
    await (
      await testDatabase()
    ).query(`UPDATE media_renditions SET size_bytes = $2 WHERE media_id = $1 AND role = 'preview'`, [
      logo,
      printedLogoRules.mostFileBytes + 1,
    ]);
    const keys: string[] = [];
    const bytes = await print({
      stream: async (key, ...rest) => {
        keys.push(key);
        return deps.storage.stream(key, ...rest);
      },
    });
    expect(keys).to.deep.equal([await variantKey(logo, 'thumbnail')]);
    expect(await showsLogo(bytes)).to.equal(true);
  });

  it('reduces a logo until its bytes are within the limit', async () => {
    const [width, height] = [1_600, 240];
    const noise = sharp(randomBytes(width * height * 4), { raw: { width, height, channels: 4 } });
    await chooseLook(club, { logo_media_id: await buildLogo(club, await noise.png().toBuffer()) });
    const bytes = await print();
    expect(await showsLogo(bytes)).to.equal(true);
    expect(bytes.length).to.be.below(printedLogoRules.mostPictureBytes + 120 * 1_024);
  });

  it('is the club’s current logo, even if a stored PDF shows another logo', async () => {
    const plain = await print();
    await chooseLook(club, { logo_media_id: await buildLogo(club, await square().png().toBuffer()) });
    const first = await print();
    await chooseLook(club, { logo_media_id: await buildLogo(club, await logoPixels(300, 400).png().toBuffer()) });
    const second = await print();
    await chooseLook(club, {});
    const without = await print();
    expect([first.equals(plain), second.equals(first), without.equals(plain)]).to.deep.equal([false, false, true]);
  });

  it('is drawn with equal bytes each time', async () => {
    await chooseLook(club, { logo_media_id: await buildLogo(club, await square().png().toBuffer()) });
    const ignoringStore = { async put() {} };
    const [one, other] = [await print(ignoringStore), await print(ignoringStore)];
    expect(one.equals(other)).to.equal(true);
    const stored = await print();
    expect((await storedKeys()).length).to.equal(1);
    expect((await certificateCalls(club, id).print()).bytes.equals(stored)).to.equal(true);
  });

  it('is omitted while its file is not public', async () => {
    const logo = await buildLogo(club, await square().png().toBuffer());
    await chooseLook(club, { logo_media_id: logo });
    expect(await showsLogo(await print())).to.equal(true);
    await moveLogo(club, logo, 'unpublish');
    expect(await showsLogo(await print())).to.equal(false);
  });

  it('is read once if several certificates are printed together', async () => {
    await chooseLook(club, { logo_media_id: await buildLogo(club, await square().png().toBuffer()) });
    let reads = 0;
    const stream: CertificateFileDeps['storage']['stream'] = async (...file) => {
      reads += 1;
      return deps.storage.stream(...file);
    };
    const printed = await Promise.all(Array.from({ length: 10 }, () => print({ stream, read: async () => undefined })));
    expect(reads).to.equal(1);
    expect(new Set(printed.map((bytes) => bytes.toString('base64'))).size).to.equal(1);
  });

  describe('if it cannot be read', () => {
    let logo: string;
    let key: string;
    let bucket: string;
    beforeEach(async () => {
      logo = await buildLogo(club, await square().png().toBuffer());
      await chooseLook(club, { logo_media_id: logo });
      key = await variantKey(logo, 'thumbnail');
      bucket = readConfig().storage.publicBucket;
    });

    for (const [what, damaged] of [
      [
        'breaks off',
        (bytes: Buffer) =>
          Buffer.concat([
            bytes.subarray(0, bytes.length / 2),
            Buffer.alloc(bytes.length - Math.floor(bytes.length / 2)),
          ]),
      ],
      ['is noise', (bytes: Buffer) => randomBytes(bytes.length)],
      ['has more pixels than the limit', (bytes: Buffer) => withSize(bytes, 60_000)],
    ] as const)
      it(`does not prevent a certificate if the logo ${what}`, async () => {
        const bytes = await (await testBucket()).contentOf(key, bucket);
        await (await testBucket()).store(key, damaged(bytes), bucket);
        const printed = await print();
        expect(printed.toString('latin1', 0, 5)).to.equal('%PDF-');
        expect(await showsLogo(printed)).to.equal(false);
        expect(await storedKeys()).to.have.length(1);
      });

    it('is omitted while its file is missing, and appears again after the file is restored', async () => {
      const bytes = await (await testBucket()).contentOf(key, bucket);
      await deps.storage.remove(key);
      expect(await showsLogo(await print())).to.equal(false);
      expect(await storedKeys()).to.deep.equal([]);
      await deps.storage.put(key, 'image/png', Readable.from([bytes]));
      expect(await showsLogo(await print())).to.equal(true);
      expect(await storedKeys()).to.have.length(1);
    });

    it('is not stored as missing if the store’s response breaks off', async () => {
      const breaking = async () =>
        Readable.from(
          (async function* () {
            yield Buffer.alloc(10);
            throw new Error('The connection broke');
          })(),
        );
      expect(await showsLogo(await print({ stream: breaking }))).to.equal(false);
      expect(await storedKeys()).to.deep.equal([]);
    });

    it('delays the print only up to a time limit if the store never answers', async () => {
      const since = performance.now();
      const printed = await print({ stream: () => new Promise(() => {}) });
      expect(performance.now() - since).to.be.within(
        printedLogoRules.patienceMs - 100,
        printedLogoRules.patienceMs + 3_000,
      );
      expect(await showsLogo(printed)).to.equal(false);
    });
  });
});

/** @returns the rectangle around all red of the page, in points */
async function redBoxOf(pdf: Buffer): Promise<{ x: number; width: number; height: number } | undefined> {
  const scale = 4;
  const { width, height, colorAt } = await coloredPage(pdf, scale);
  const isRed = ([r, g]: readonly number[]) => (r ?? 0) - (g ?? 0) > 60;
  const found: [number, number][] = [];
  for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) if (isRed(colorAt(x, y))) found.push([x, y]);
  if (found.length === 0) return undefined;
  const span = (of: number[]) => {
    const [least, most] = extremesOf(of);
    return { from: least / scale, size: (most - least + 1) / scale };
  };
  const [across, down] = [span(found.map(([x]) => x)), span(found.map(([, y]) => y))];
  return { x: across.from, width: across.size, height: down.size };
}

function extremesOf(values: readonly number[]): [number, number] {
  return values.reduce<[number, number]>(
    ([least, most], value) => [Math.min(least, value), Math.max(most, value)],
    [Infinity, -Infinity],
  );
}

function withSize(png: Buffer, side: number): Buffer {
  const changed = Buffer.from(png);
  changed.writeUInt32BE(side, 16);
  changed.writeUInt32BE(side, 20);
  changed.writeUInt32BE(crc32(changed.subarray(12, 29)), 29);
  return changed;
}
