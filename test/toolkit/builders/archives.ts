/** Builds ZIP archives byte by byte, so that an archive can contain false values. */
import { constants, crc32, deflateRawSync } from 'node:zlib';

const megabyte = 1_024 * 1_024;

/** A text that consists of this many megabytes of spaces and then of `end`. */
interface Bomb {
  begin: string;
  megabytes: number;
  end: string;
}

interface ArchiveEntry {
  name: string;
  /** The checksum of a ZIP bomb is wrong. This does not matter, because every reader stops before the end of the bomb. */
  content: Uint8Array | string | Bomb;
  /** The unpacked size that the archive declares. The default is the true size. */
  says?: number;
  encrypted?: boolean;
}

export function zipOf(entries: readonly ArchiveEntry[]): Uint8Array<ArrayBuffer> {
  const bodies: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, content, says, encrypted = false } of entries) {
    const { packed, length, checksum } = pack(content);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0); // version
    common.writeUInt16LE(encrypted ? 1 : 0, 2);
    common.writeUInt16LE(8, 4); // deflate
    common.writeUInt32LE(checksum, 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(says ?? length, 18);
    common.writeUInt16LE(Buffer.byteLength(name), 22);
    const body = Buffer.concat([Buffer.from('PK\x03\x04'), common, Buffer.from(name), packed]);
    const entry = Buffer.alloc(46);
    entry.write('PK\x01\x02', 'latin1');
    entry.writeUInt16LE(20, 4);
    common.copy(entry, 6);
    entry.writeUInt32LE(offset, 42);
    directory.push(entry, Buffer.from(name));
    bodies.push(body);
    offset += body.length;
  }
  const listed = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(listed.length, 12);
  end.writeUInt32LE(offset, 16);
  return new Uint8Array(Buffer.concat([...bodies, listed, end]));
}

function pack(content: ArchiveEntry['content']): { packed: Buffer; length: number; checksum: number } {
  if (typeof content === 'object' && 'megabytes' in content) {
    const { begin, megabytes, end } = content;
    const length = Buffer.byteLength(begin) + megabytes * megabyte + Buffer.byteLength(end);
    const parts = [deflatedPart(Buffer.from(begin)), deflatedSpaces(megabytes), deflateRawSync(Buffer.from(end))];
    return { packed: Buffer.concat(parts), length, checksum: 0 };
  }
  const plain = Buffer.from(content);
  return { packed: deflateRawSync(plain, { level: 1 }), length: plain.length, checksum: crc32(plain) };
}

/** Deflates bytes without an end mark, because a further part follows. */
function deflatedPart(bytes: Uint8Array): Buffer {
  return deflateRawSync(bytes, { finishFlush: constants.Z_FULL_FLUSH });
}

/** Repeats one packed megabyte. */
function deflatedSpaces(megabytes: number): Buffer {
  const part = deflatedPart(Buffer.alloc(megabyte, 32));
  return Buffer.concat(Array.from({ length: megabytes }, () => part));
}

/** Like `deflateSync` for this many megabytes of spaces, but without these spaces in memory. */
export function zlibSpaces(megabytes: number): Buffer {
  // Adler-32 of n equal bytes, in closed form.
  const [count, base] = [BigInt(megabytes * megabyte), 65_521n];
  const low = (1n + 32n * count) % base;
  const high = (count + (32n * count * (count + 1n)) / 2n) % base;
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(Number(high * 65_536n + low));
  return Buffer.concat([
    Buffer.from([0x78, 0x9c]),
    deflatedSpaces(megabytes),
    deflateRawSync(Buffer.alloc(0)),
    checksum,
  ]);
}

const wordNamespace = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"';

/**
 * @param document its document.xml
 * @param further more entries
 * @param main the path that the file declares as its main part
 */
export function bareDocx(
  document: string | Bomb,
  further: readonly ArchiveEntry[] = [],
  main = 'word/document.xml',
): Uint8Array<ArrayBuffer> {
  return zipOf([
    {
      name: '[Content_Types].xml',
      content: `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>`,
    },
    {
      name: '_rels/.rels',
      content: `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="${main}"/></Relationships>`,
    },
    { name: 'word/document.xml', content: document },
    ...further,
  ]);
}

/** @param before the text before the document's element */
export function documentXml(paragraphs: readonly string[], before = ''): string {
  const body = paragraphs.map((text) => `<w:p><w:r><w:t>${text}</w:t></w:r></w:p>`).join('');
  return `<?xml version="1.0" encoding="UTF-8"?>${before}<w:document ${wordNamespace}><w:body>${body}</w:body></w:document>`;
}

export function documentBomb(megabytes: number): Bomb {
  const [begin = '', end = ''] = documentXml(['…']).split('…');
  return { begin, megabytes, end };
}
