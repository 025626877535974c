/** ZIP archives written byte by byte, so that they can say what is not so. */
import { crc32, deflateRawSync } from 'node:zlib';

interface ArchiveEntry {
  name: string;
  content: Uint8Array | string;
  /** What it says to come to, unpacked; the truth unless told. */
  says?: number;
  encrypted?: boolean;
}

export function zipOf(entries: readonly ArchiveEntry[]): Uint8Array<ArrayBuffer> {
  const bodies: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, content, says, encrypted = false } of entries) {
    const plain = Buffer.from(content);
    const packed = deflateRawSync(plain, { level: 1 }); // some are bombs of 100 MB
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0); // version
    common.writeUInt16LE(encrypted ? 1 : 0, 2);
    common.writeUInt16LE(8, 4); // deflate
    common.writeUInt32LE(crc32(plain), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(says ?? plain.length, 18);
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

const wordNamespace = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"';

/** The least that a Word file is. @param document its document.xml @param further entries beside it @param main the part it says to read */
export function bareDocx(
  document: string,
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

/** A document.xml of these paragraphs. @param before what stands before the document's element */
export function documentXml(paragraphs: readonly string[], before = ''): string {
  const body = paragraphs.map((text) => `<w:p><w:r><w:t>${text}</w:t></w:r></w:p>`).join('');
  return `<?xml version="1.0" encoding="UTF-8"?>${before}<w:document ${wordNamespace}><w:body>${body}</w:body></w:document>`;
}
