import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import { expect } from 'chai';
import fc from 'fast-check';
import yauzl from 'yauzl';
import {
  archiveNames,
  layOutZip,
  partsOf,
  safeName,
  type ZipFile,
  type ZipLayout,
} from '../../../domain/repositories/zip.policy.ts';
import { askPython, whyNoPython } from '../../toolkit/assert/python.ts';

const modifiedAt = new Date('2026-03-01T12:05:08.000Z');
const fileOf = (name: string, content: Buffer): ZipFile & { content: Buffer } => ({
  name,
  content,
  size: content.length,
  crc32: crc32(content),
  modifiedAt,
});

/** From this position on. A file without content consists of zeros. */
function bytesOf(layout: ZipLayout, contents: readonly Buffer[], from = 0, length = layout.size - from): Buffer {
  return Buffer.concat(
    partsOf(layout, from, length).map((part) => {
      if ('bytes' in part) return part.bytes;
      expect(part.length).to.be.within(1, length); // the readers need only a few of the zeros
      return contents[part.file]?.subarray(part.from, part.from + part.length) ?? Buffer.alloc(part.length);
    }),
  );
}

class LayoutReader extends yauzl.RandomAccessReader {
  readonly #layout: ZipLayout;
  constructor(layout: ZipLayout) {
    super();
    this.#layout = layout;
  }
  override _readStreamForRange(start: number, end: number): Readable {
    return Readable.from([bytesOf(this.#layout, [], start, end - start)]);
  }
}

describe('ZIP archives (REPO-6)', () => {
  if (whyNoPython !== undefined) it.skip(`are not checked with Python: ${whyNoPython}`);
  let folder: string;
  before('a folder', async () => {
    folder = await mkdtemp(join(tmpdir(), 'zip-'));
  });
  after(() => rm(folder, { recursive: true }));

  const files = [
    fileOf('cards.txt', Buffer.from('A bowline\n')),
    fileOf('Übung 1 結び.pdf', Buffer.alloc(70_000, 'knot')),
    fileOf('empty', Buffer.alloc(0)),
  ];

  it('can be read by yauzl and Python, and have the predicted length', async () => {
    const layout = layOutZip(files);
    const archive = bytesOf(
      layout,
      files.map(({ content }) => content),
    );
    expect(archive).to.have.length(layout.size);
    const zip = await yauzl.fromBufferPromise(archive, { strictFileNames: true });
    const entries = [];
    for await (const entry of zip.eachEntry()) {
      const content = await (await zip.openReadStreamPromise(entry)).toArray();
      entries.push([entry.fileName, Buffer.concat(content as Buffer[]), entry.getLastModDate({ timezone: 'UTC' })]);
    }
    expect(entries).to.deep.equal(files.map(({ name, content }) => [name, content, modifiedAt]));
    const path = join(folder, 'small.zip');
    const handle = await open(path, 'w');
    await handle.write(archive);
    await handle.close();
    if (whyNoPython !== undefined) return;
    expect(
      await askPython(
        path,
        `z = zipfile.ZipFile(sys.argv[1])
print(json.dumps([z.testzip(), [[i.filename, i.file_size, i.CRC, list(i.date_time)] for i in z.infolist()]]))`,
      ),
    ).to.deep.equal([null, files.map(({ name, size, crc32: sum }) => [name, size, sum, [2026, 3, 1, 12, 5, 8]])]);
  });

  it('have equal bytes if they are read in parts or as a whole', () => {
    const anyFile = fc.record({ name: fc.string({ minLength: 1 }), content: fc.uint8Array({ maxLength: 300 }) });
    fc.assert(
      fc.property(fc.array(anyFile, { maxLength: 6 }), fc.nat(), fc.nat(), (originals, one, other) => {
        const names = archiveNames(originals.map(({ name }) => name));
        const any = originals.map(({ content }, place) => fileOf(names[place] ?? '', Buffer.from(content)));
        const contents = any.map(({ content }) => content);
        const layout = layOutZip(any);
        const whole = bytesOf(layout, contents);
        expect(whole).to.have.length(layout.size);
        const [from, to] = [one % layout.size, other % layout.size].toSorted((a, b) => a - b) as [number, number];
        expect(bytesOf(layout, contents, from, to - from + 1)).to.deep.equal(whole.subarray(from, to + 1));
        const cut = [bytesOf(layout, contents, 0, from), bytesOf(layout, contents, from)];
        expect(Buffer.concat(cut)).to.deep.equal(whole);
      }),
    );
  });

  it('can be read by yauzl and Python if they are larger than 4 GB', async () => {
    const large = 5_000_000_000;
    const zeros = { crc32: 0, modifiedAt };
    const many: ZipFile[] = [
      { name: 'first.mp4', size: 0xffff_fffe, ...zeros },
      { name: 'second.mp4', size: large, ...zeros },
      { name: 'third.mp4', size: 0xffff_ffff, ...zeros },
      { name: 'last.txt', size: 3, ...zeros },
    ];
    const layout = layOutZip(many);
    expect(layout.size).to.be.above(large + 2 * 0xffff_fffe);
    const zip = await yauzl.fromRandomAccessReaderPromise(new LayoutReader(layout), layout.size, {});
    const entries = [];
    for await (const entry of zip.eachEntry()) entries.push([entry.fileName, entry.uncompressedSize]);
    expect(entries).to.deep.equal(many.map(({ name, size }) => [name, size]));
    // The file is sparse: the bytes between the headers use no disk space.
    const path = join(folder, 'large.zip');
    const handle = await open(path, 'w');
    for (const segment of layout.segments)
      if ('bytes' in segment) await handle.write(segment.bytes, 0, segment.length, segment.start);
    await handle.close();
    if (whyNoPython !== undefined) return;
    expect(
      await askPython(
        path,
        `z = zipfile.ZipFile(sys.argv[1])
print(json.dumps([[i.filename, i.file_size, len(z.open(i).read(3))] for i in z.infolist() if i.file_size > 3]))`,
      ),
    ).to.deep.equal(many.slice(0, 3).map(({ name, size }) => [name, size, 3]));
  });

  /** The first values that do not fit into 32 and 16 bits. */
  const [max32, max16] = [0xffff_ffff, 0xffff];

  it('store a file’s position in 64 bits if it is at least 4 GB, and otherwise in 32 bits', async () => {
    const headerOfFirst = 30 + 'first'.length;
    for (const [place, extraBytes, version] of [
      [max32 - 1, 0, 20],
      [max32, 12, 45],
    ] as const) {
      const zeros = { crc32: 0, modifiedAt };
      const layout = layOutZip([
        { name: 'first', size: place - headerOfFirst, ...zeros },
        { name: 'second', size: 3, ...zeros },
      ]);
      const zip = await yauzl.fromRandomAccessReaderPromise(new LayoutReader(layout), layout.size, {});
      const entries = [];
      for await (const entry of zip.eachEntry()) entries.push(entry);
      expect(entries[1]).to.include({
        relativeOffsetOfLocalHeader: place,
        extraFieldLength: extraBytes,
        versionNeededToExtract: version,
      });
    }
  });

  it('store a file’s size in the header in 64 bits if it is at least 4 GB, and otherwise in 32 bits', () => {
    const headerOf = (size: number) => {
      const [segment] = layOutZip([{ name: 'first', size, crc32: 0, modifiedAt }]).segments;
      const header = segment && 'bytes' in segment ? segment.bytes : Buffer.alloc(0);
      const sizes = header.length > 40 ? [header.readBigUInt64LE(39), header.readBigUInt64LE(47)] : [];
      return [
        header.readUInt16LE(4),
        header.readUInt32LE(18),
        header.readUInt32LE(22),
        header.readUInt16LE(28),
        ...sizes,
      ];
    };
    expect(headerOf(max32 - 1)).to.deep.equal([20, max32 - 1, max32 - 1, 0]);
    expect(headerOf(max32)).to.deep.equal([45, max32, max32, 20, BigInt(max32), BigInt(max32)]);
  });

  it('count at least 65,535 files in 64 bits, and fewer files in 16 bits', async () => {
    const archiveOf = (count: number) =>
      layOutZip(Array.from({ length: count }, (_, number) => ({ name: `${number}`, size: 0, crc32: 0, modifiedAt })));
    const endOf = (layout: ZipLayout) => bytesOf(layout, [], layout.size - 22);
    for (const count of [max16 - 1, max16]) {
      const layout = archiveOf(count);
      const zip = await yauzl.fromRandomAccessReaderPromise(new LayoutReader(layout), layout.size, {});
      expect(zip.entryCount).to.equal(count);
      expect([endOf(layout).readUInt16LE(8), endOf(layout).readUInt16LE(10)]).to.deep.equal([count, count]);
      const locator = bytesOf(layout, [], layout.size - 42, 4).readUInt32LE();
      expect(locator === 0x0706_4b50).to.equal(count === max16);
    }
  });

  it('store the directory’s position in 64 bits if it is at least 4 GB, and otherwise in 32 bits', () => {
    const headerOfFile = 30 + 'first'.length;
    for (const [place, bytesAfterDirectory] of [
      [max32 - 1, 22],
      [max32, 56 + 20 + 22],
    ] as const) {
      const layout = layOutZip([{ name: 'first', size: place - headerOfFile, crc32: 0, modifiedAt }]);
      expect(layout.size - place - (46 + 'first'.length)).to.equal(bytesAfterDirectory);
      expect(bytesOf(layout, [], layout.size - 6, 4).readUInt32LE()).to.equal(place);
    }
  });

  it('consist of headers, contents, directory and end, without empty parts', () => {
    const layout = layOutZip(files);
    const names = files.reduce((sum, { name }) => sum + Buffer.byteLength(name), 0);
    const contents = files.reduce((sum, { size }) => sum + size, 0);
    expect(layout.size).to.equal(files.length * (30 + 46) + 2 * names + contents + 22);
    expect(layout.segments.filter(({ length }) => length === 0)).to.deep.equal([]);
    for (const { start, length } of layout.segments) expect(partsOf(layout, start, length)).to.have.length(1);
  });

  it('have times from 1980 to 2107, or else the nearest of them', async () => {
    const timeOf = async (at: string) => {
      const layout = layOutZip([{ name: 'a', size: 0, crc32: 0, modifiedAt: new Date(at) }]);
      const zip = await yauzl.fromBufferPromise(bytesOf(layout, []), {});
      const entries = [];
      for await (const entry of zip.eachEntry()) entries.push(entry.getLastModDate({ timezone: 'UTC' }).toISOString());
      return entries[0];
    };
    for (const [at, shownTime] of [
      ['1979-12-31T23:59:59Z', '1980-01-01T00:00:00.000Z'],
      ['1980-06-02T01:02:04Z', '1980-06-02T01:02:04.000Z'],
      ['2107-05-30T22:58:57Z', '2107-05-30T22:58:56.000Z'],
      ['2108-01-01T00:00:00Z', '2107-12-31T23:59:58.000Z'],
    ] as const)
      expect(await timeOf(at)).to.equal(shownTime);
  });

  it('are a valid empty archive if there are no files', async () => {
    const layout = layOutZip([]);
    const zip = await yauzl.fromBufferPromise(bytesOf(layout, []), {});
    expect([layout.size, zip.entryCount]).to.deep.equal([22, 0]);
  });
});

describe('names in archives (REPO-6)', () => {
  it('contain no folder, and are accepted by every file system', () => {
    const table: readonly (readonly [given: string, name: string])[] = [
      ['plan.pdf', 'plan.pdf'],
      ['../../etc/passwd', '.._.._etc_passwd'],
      [String.raw`C:\temp\x.txt`, 'C__temp_x.txt'],
      ['a<b>:"|?*.txt', 'a_b______.txt'],
      ['..', 'file'],
      ['  ', 'file'],
      ['notes. . ', 'notes'],
      ['con.txt', '_con.txt'],
      ['LPT1', '_LPT1'],
      ['console.txt', 'console.txt'],
      ['falcon', 'falcon'],
      ['com1.txt', '_com1.txt'],
      ['comx', 'comx'],
      ['  plan.pdf', 'plan.pdf'],
      ['\u202Efdp.exe', '_fdp.exe'],
      ['a\u0000b\nc', 'a_b_c'],
      ['e\u0301.txt', '\u00E9.txt'],
      ['\ud800.txt', '_.txt'],
    ];
    expect(table.map(([original]) => [original, safeName(original)])).to.deep.equal(table);
  });

  it('are cut between characters if they are too long, and keep their extension', () => {
    for (const end of [' b', `.${'y'.repeat(30)}`])
      expect(safeName(`${'a'.repeat(199)}${end}`)).to.equal('a'.repeat(199));
    expect(safeName(`${'a'.repeat(300)}.pdf`)).to.equal(`${'a'.repeat(196)}.pdf`);
    expect(safeName(`${'結'.repeat(100)}.pdf`)).to.equal(`${'結'.repeat(65)}.pdf`);
  });

  it('are numbered in order if a file system would treat them as equal', () => {
    expect(archiveNames(['plan.pdf', 'Plan.PDF', 'plan.pdf', 'plan (2).pdf', 'plan', 'ＰＬＡＮ'])).to.deep.equal([
      'plan.pdf',
      'Plan (2).PDF',
      'plan (3).pdf',
      'plan (2) (2).pdf',
      'plan',
      'ＰＬＡＮ (2)',
    ]);
    expect(
      archiveNames(['.hidden', '.hidden', 'a.b.c', 'a.b.c', `a.${'b'.repeat(16)}`, `a.${'b'.repeat(16)}`]),
    ).to.deep.equal(['.hidden', '.hidden (2)', 'a.b.c', 'a.b (2).c', `a.${'b'.repeat(16)}`, `a (2).${'b'.repeat(16)}`]);
    expect(archiveNames(['straße', 'STRASSE', '\u0130', 'i\u0307'])).to.deep.equal([
      'straße',
      'STRASSE (2)',
      '\u0130',
      'i\u0307 (2)',
    ]);
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' }), { maxLength: 30 }), (originals) => {
        const names = archiveNames(originals);
        expect(new Set(names.map((name) => name.normalize('NFC').toLowerCase())).size).to.equal(originals.length);
        for (const name of names) expect(Buffer.byteLength(name)).to.be.within(1, 220);
      }),
    );
  });
});
