/** Tests the detection of a file’s type from its content. */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { crc32, deflateRawSync } from 'node:zlib';
import { expect } from 'chai';
import { contractDocument } from '../../../../contract/document.ts';
import { closedDocument } from '../../../../contract/published-schemas.ts';
import { identifyContent, type Finding } from '../../../../domain/media/formats/file-content.ts';
import { identificationThreads, identify } from '../../../../domain/media/processing/identification.ts';
import type { MediaPurpose } from '../../../../entities/media/values.ts';
import { archiveTypes, contentTypes, textTypes } from '../../../../domain/media/media.policy.ts';
import { identificationRules, mediaPermits } from '../../../../domain/media/processing.policy.ts';
import { zipOf } from '../../../toolkit/builders/archives.ts';
import { docx, pdf, pptx } from '../../../toolkit/builders/documents.ts';
import { contentTypesXml, packageOf, relationsXml } from '../../../toolkit/builders/office-xml.ts';
import { archiveOfManyEntries, png } from '../../../toolkit/builders/pictures.ts';
import { mp3, sound, video } from '../../../toolkit/builders/played-files.ts';

const pdfType = 'application/pdf';
const [docxType, pptxType, xlsxType, odtType, , , epubType, zipType] = archiveTypes;
const documentTypes = [pdfType, docxType, pptxType, ...textTypes] as const;
const megabyte = 1_024 * 1_024;

function storeOf(bytes: Buffer) {
  const reads: number[] = [];
  return {
    reads,
    async read(_: string, offset: number, length: number) {
      if (length < 1 || offset + length > bytes.length) throw new RangeError('Read outside of the file.');
      reads.push(length);
      return bytes.subarray(offset, offset + length);
    },
  };
}

async function found(bytes: Buffer, announced: string, purpose: MediaPurpose = 'library') {
  const store = storeOf(bytes);
  const read = (offset: number, length: number) => store.read('key', offset, length);
  const finding = await identifyContent(read, { sizeBytes: bytes.length, purpose, announced });
  const readBytes = store.reads.reduce((sum, length) => sum + length, 0);
  return { ...outcome(finding), read: readBytes, requests: store.reads.length };
}

const outcome = (finding: Finding) =>
  'error' in finding ? { error: finding.error } : { mime: finding.mime, kind: finding.kind };

/** `first` is the raw content of the first file. */
function zip(names: readonly string[], first = ''): Buffer {
  const u16 = (value: number) => Buffer.from([value & 255, value >>> 8]);
  const u32 = (value: number) => Buffer.concat([u16(value & 0xffff), u16(value >>> 16)]);
  const empty = deflateRawSync(Buffer.alloc(0));
  const locals: Buffer[] = [];
  const central: Buffer[] = [];
  let offset = 0;
  for (const [at, name] of names.entries()) {
    const isStored = at === 0 && first !== '';
    const data = isStored ? Buffer.from(first) : empty;
    const sizes = [u32(isStored ? crc32(data) : 0), u32(data.length), u32(isStored ? data.length : 0)];
    const common = [u16(20), u16(0), u16(isStored ? 0 : 8), u32(0), ...sizes, u16(name.length), u16(0)];
    const local = Buffer.concat([u32(0x04034b50), ...common, Buffer.from(name), data]);
    central.push(
      Buffer.concat([
        u32(0x02014b50),
        u16(20),
        ...common,
        u16(0),
        u16(0),
        u16(0),
        u32(0),
        u32(offset),
        Buffer.from(name),
      ]),
    );
    locals.push(local);
    offset += local.length;
  }
  const directory = Buffer.concat(central);
  const count = u16(names.length);
  const end = [u32(0x06054b50), u16(0), u16(0), count, count, u32(directory.length), u32(offset), u16(0)];
  return Buffer.concat([...locals, directory, ...end]);
}

describe('the type of a file', () => {
  it('is detected by the content of PDF, DOCX, PPTX and images', async () => {
    const files: [string, Buffer][] = [
      [pdfType, await pdf('Knots')],
      [docxType, await docx('Knots')],
      [pptxType, await pptx('Knots')],
      ['image/png', png()],
    ];
    for (const [mime, bytes] of files) {
      for (const announced of documentTypes) {
        const kind = mime === 'image/png' ? 'image' : 'document';
        expect(await found(bytes, announced), `${mime} announced as ${announced}`).to.include({ mime, kind });
      }
    }
  });

  it('is the announced type for a text in UTF-8 or UTF-16', async () => {
    for (const announced of textTypes) {
      for (const text of [
        'a',
        '# Nós e voltas\n',
        '\ufeff<?xml version="1.0"?><html><p>Nó</p></html>',
        '\u001b[1mbold\t\f',
        '😀'.repeat(40_000),
      ])
        expect(await found(Buffer.from(text), announced), `${announced}: ${text.slice(0, 40)}`).to.include({
          mime: announced,
        });
      for (const text of ['\ufeff# Nós e voltas\n', `\ufeff${'😀'.repeat(40_000)}`, `\ufeffa${'😀'.repeat(40_000)}`]) {
        const inUtf16 = Buffer.from(text, 'utf16le');
        for (const bytes of [inUtf16, Buffer.from(inUtf16).swap16()])
          expect(await found(bytes, announced), `${announced} in UTF-16: ${text.slice(0, 40)}`).to.include({
            mime: announced,
          });
      }
      const rejected = {
        'Latin-1': Buffer.from('Voltas e nós', 'latin1'),
        'a control character': Buffer.from('a\u0001b'),
        'a NUL byte': Buffer.from('a\u0000b'),
        'UTF-16 without a mark': Buffer.from('a text', 'utf16le'),
        'UTF-16, big-endian, without a mark': Buffer.from('a text', 'utf16le').swap16(),
        'UTF-16 with a control character': Buffer.from('\ufeffa\u0001', 'utf16le'),
        'UTF-16 that is cut': Buffer.from('\ufeffab', 'utf16le').subarray(0, -1),
        'UTF-32': Buffer.from([0xff, 0xfe, 0, 0, 0x61, 0, 0, 0]),
        'UTF-32, big-endian,': Buffer.from([0, 0, 0xfe, 0xff, 0, 0, 0, 0x61]),
      };
      const errors: Record<string, string | undefined> = {};
      for (const [name, bytes] of Object.entries(rejected)) {
        const finding = await found(bytes, announced);
        errors[name] = 'error' in finding ? finding.error : undefined;
      }
      expect(errors, announced).to.deep.equal({
        'Latin-1': 'not_utf8',
        'a control character': 'not_utf8',
        'a NUL byte': 'content_not_allowed',
        'UTF-16 without a mark': 'not_utf8',
        'UTF-16, big-endian, without a mark': 'not_utf8',
        'UTF-16 with a control character': 'not_utf8',
        'UTF-16 that is cut': 'not_utf8',
        'UTF-32': 'not_utf8',
        'UTF-32, big-endian,': 'not_utf8',
      });
    }
    const endsInLatin1 = Buffer.concat([Buffer.alloc(200_000, 0x61), Buffer.from([0xe9])]);
    expect(await found(endsInLatin1, 'text/plain')).to.include({ error: 'not_utf8' });
  });

  it('is detected for text even if a character is cut between two reads', async () => {
    for (let shift = 0; shift < 4; shift++) {
      for (const length of [65_536, 131_070, 131_072, 200_001]) {
        const text = 'a'.repeat(shift) + 'é漢😀'.repeat(Math.ceil(length / 9));
        expect(await found(Buffer.from(text), 'text/plain'), `${shift} ${length}`).to.include({ mime: 'text/plain' });
      }
    }
  });

  it('is rejected for other archives, programs, old Word files and empty files', async () => {
    const others = {
      'an archive without [Content_Types].xml': zip(['a.txt', 'word/document.xml']),
      'an archive with a path outside': zip(['a/../../[Content_Types].xml', 'word/document.xml']),
      'an empty archive': zip([]),
      'an archive without a directory': Buffer.from('PK\u0003\u0004 and no directory'),
      'a Word file that is cut': (await docx('Knots')).subarray(0, -30),
      'an old Word file': Buffer.from('d0cf11e0a1b11ae1', 'hex'),
      'a program': Buffer.from('\u007fELF\u0002\u0001\u0001\u0000', 'latin1'),
      'an empty file': Buffer.alloc(0),
    };
    for (const [name, bytes] of Object.entries(others))
      for (const announced of [...documentTypes.slice(0, 3), 'image/png'])
        expect(await found(bytes, announced), `${name} announced as ${announced}`).to.include({
          error: 'content_not_allowed',
        });
    expect(await found(zip(['x', '[Content_Types].xml', 'word/document.xml']), 'text/plain')).to.include({
      mime: docxType,
    });
  });

  it('is PDF even if the header is not at the first byte', async () => {
    const late = Buffer.concat([Buffer.from('\r\nMIME-Version: 1.0\r\n'), await pdf('Knots')]);
    expect(await found(late, pdfType)).to.include({ mime: pdfType });
    expect(await found(Buffer.from('A PDF begins with %PDF-1.7'), 'text/markdown')).to.include({
      mime: 'text/markdown',
    });
  });

  it('is rejected for text that was announced as a document', async () => {
    expect(await found(Buffer.from('only words'), pdfType)).to.include({ error: 'content_not_allowed' });
  });
});

interface Described {
  properties?: Record<string, { enum?: readonly string[] } | undefined>;
}

describe('the types of uploads that a client may announce', () => {
  it('are the same in the contract and in the list of accepted types', () => {
    const schemas = closedDocument(contractDocument).components.schemas as Record<string, Described | undefined>;
    expect(schemas['MediaCreation']?.properties?.['mime']?.enum).to.deep.equal(contentTypes);
  });
});

describe('the size of a file', () => {
  it('is limited by the detected type, not by the announced type', async () => {
    const sized = async (begins: Buffer, sizeBytes: number, announced: string) => {
      const read = async (offset: number, length: number) =>
        Buffer.concat([begins, Buffer.alloc(64 * 1_024, 0x20)]).subarray(offset, offset + length);
      return outcome(await identifyContent(read, { sizeBytes, purpose: 'library', announced }));
    };
    const book = Buffer.from('%PDF-1.7\n');
    expect(await sized(book, 500 * megabyte, pdfType)).to.include({ mime: pdfType });
    expect(await sized(book, 500 * megabyte + 1, pdfType)).to.include({ error: 'too_large' });
    expect(await sized(book, 500 * megabyte + 1, 'video/mp4')).to.include({ error: 'too_large' });
    const picture = png(2, 3, { extra: 20 * megabyte });
    expect(await found(picture, pdfType)).to.include({ error: 'too_large', read: 64 * 1_024 });
    const five = png(2, 3, { extra: 5 * megabyte - png(2, 3, { extra: 1 }).length + 1 });
    expect(five).to.have.length(5 * megabyte);
    expect(await found(five, 'image/png', 'agent_image')).to.include({ mime: 'image/png' });
    const more = png(2, 3, { extra: 5 * megabyte });
    expect(await found(more, 'image/png', 'agent_image')).to.include({ error: 'too_large', read: 64 * 1_024 });
    expect(await found(more, 'image/png')).to.include({ mime: 'image/png' });
  });

  it('does not increase the reads', async () => {
    const text = Buffer.alloc(100 * megabyte, 'knots and bends\n');
    expect(await found(text, 'text/plain')).to.include({ mime: 'text/plain', read: 128 * 1_024, requests: 2 });
    const names = ['[Content_Types].xml', ...Array.from({ length: 2_000 }, (_, at) => `word/media/image${at}.png`)];
    const archive = await found(zip([...names, 'word/document.xml']), docxType);
    expect(archive).to.include({ mime: docxType });
    expect(archive.requests).to.be.at.most(6);
    const endless = await found(zip(Array.from({ length: 4_000 }, (_, at) => `${at}`.padStart(3_000, 'x'))), docxType);
    expect(endless).to.include({ error: 'content_not_allowed' });
    expect(endless.requests).to.be.at.most(66);
  });
});

describe('a file that was announced as an image', () => {
  it('is an image or a PDF, but never an archive', async () => {
    for (const announced of ['image/png', 'image/jpeg', 'image/gif', 'image/webp']) {
      expect(await found(png(), announced)).to.include({ mime: 'image/png' });
      expect(await found(await pdf('Knots'), announced)).to.include({ mime: pdfType });
      for (const archive of [await docx('Knots'), await pptx('Knots')])
        expect(await found(archive, announced)).to.include({ error: 'content_not_allowed', requests: 1 });
      expect(await found(await pdf('Knots'), announced, 'agent_image')).to.include({ error: 'content_not_allowed' });
    }
  });
});

describe('an archive', () => {
  it('is refused without a read if it has more than 4,096 entries', async () => {
    const names = Array.from({ length: 4_094 }, (_, at) => String(at));
    const parts = ['[Content_Types].xml', 'word/document.xml'];
    expect(await found(zip([...names, ...parts]), docxType)).to.include({ mime: docxType });
    const tooMany = await found(zip([...parts, ...names, 'one more']), docxType);
    expect(tooMany).to.include({ error: 'content_not_allowed' });
    expect(tooMany.requests, 'the service reads only the head of the file and the end of the directory').to.equal(2);
    expect(await found(zip([...parts, ...names, 'one more']), zipType)).to.include({ error: 'content_not_allowed' });
    expect(await found(archiveOfManyEntries(), zipType)).to.include({ error: 'content_not_allowed' });
  });

  it('is not read completely if it has more entries than its directory states', async () => {
    const lying = zip(Array.from({ length: 5_000 }, (_, at) => String(at)));
    lying.writeUInt16LE(4_000, lying.length - 14);
    lying.writeUInt16LE(4_000, lying.length - 12);
    expect(await found(lying, zipType)).to.include({ mime: zipType });
  });

  it('is a plain archive only if it was announced as an archive', async () => {
    const archives: Record<string, Buffer> = {
      [docxType]: await docx('Knots'),
      [xlsxType]: zip(['[Content_Types].xml', 'xl/workbook.xml']),
      [odtType]: zip([`mimetype`, 'content.xml'], odtType),
      [epubType]: zip([`mimetype`, 'META-INF/container.xml'], epubType),
    };
    for (const [mime, bytes] of Object.entries(archives))
      for (const announced of [mime, zipType, pdfType])
        expect(await found(bytes, announced), `${mime} announced as ${announced}`).to.include({
          mime,
          kind: 'document',
        });
    const any = zip(['a.txt', 'b/c.txt']);
    expect(await found(any, zipType)).to.include({ mime: zipType, kind: 'document' });
    for (const announced of [docxType, pdfType, 'text/plain', 'image/png', 'video/mp4'])
      expect(await found(any, announced), announced).to.include({ error: 'content_not_allowed' });
  });
});

describe('an office file whose main part has an unusual name', () => {
  const word = 'wordprocessingml.document.main+xml';
  const relation = (target: string, type = 'officeDocument') => ({
    '_rels/.rels': relationsXml({ r: [type, target] }),
  });
  const types = (parts: Record<string, string>) => ({ '[Content_Types].xml': contentTypesXml(parts) });
  const packed = (parts: Record<string, string>) => Buffer.from(packageOf(parts));
  const document = { 'word/document2.xml': '<a/>' };

  it('is detected by the relation or the content type of its main part', async () => {
    const named = types({ 'word/document2.xml': word });
    const files: Record<string, [string, Buffer]> = {
      'a relative target': [docxType, packed({ ...named, ...relation('word/document2.xml'), ...document })],
      'an absolute target': [docxType, packed({ ...named, ...relation('/word/document2.xml'), ...document })],
      'another case': [docxType, packed({ ...named, ...relation('Word/Document2.XML'), ...document })],
      'no relations': [docxType, packed({ ...named, ...document })],
      'broken relations': [docxType, packed({ ...named, '_rels/.rels': '<Relationships>', ...document })],
      'usual names in a different case': [docxType, packed({ '[content_types].xml': '', 'Word/Document.XML': '' })],
      'the strict relation': [
        docxType,
        packed({
          ...named,
          '_rels/.rels': relationsXml({ r: ['officeDocument', 'word/document2.xml'] }).replaceAll(
            'http://schemas.openxmlformats.org/officeDocument/2006',
            'http://purl.oclc.org/ooxml/officeDocument',
          ),
          ...document,
        }),
      ],
      'a type for all parts with its extension': [
        docxType,
        packed({
          '[Content_Types].xml': contentTypesXml({}).replace(
            'application/xml',
            `application/vnd.openxmlformats-officedocument.${word}`,
          ),
          ...relation('word/document2.xml'),
          ...document,
        }),
      ],
      slides: [
        pptxType,
        packed({
          ...types({ 'a/b.xml': 'presentationml.presentation.main+xml' }),
          ...relation('a/b.xml'),
          'a/b.xml': '',
        }),
      ],
      'a table': [
        xlsxType,
        packed({ ...types({ 'a/b.xml': 'spreadsheetml.sheet.main+xml' }), ...relation('a/b.xml'), 'a/b.xml': '' }),
      ],
    };
    for (const [name, [mime, bytes]] of Object.entries(files)) {
      const finding = await found(bytes, docxType);
      expect(finding, name).to.include({ mime });
      expect(finding.requests, name).to.be.at.most(4);
    }
  });

  it('counts as a plain archive if it is a template or has macros', async () => {
    const named = types({ 'word/document2.xml': word });
    const files: Record<string, Buffer> = {
      'parts in a folder': packed({ 'a/[Content_Types].xml': '', 'a/word/document.xml': '' }),
      'a document inside': packed({ 'a.docx': 'x', 'b.txt': 'x' }),
      'no types of contents': packed({ ...relation('word/document2.xml'), ...document }),
      'a part that is missing': packed({ ...named, ...relation('word/document2.xml') }),
      'a part of a different type': packed({ ...types({}), ...relation('word/document2.xml'), ...document }),
      'a relation of a different kind': packed({
        ...types({}),
        ...relation('word/document2.xml', 'image'),
        ...document,
      }),
      'a template': packed({ ...types({ 'word/document2.xml': 'wordprocessingml.template.main+xml' }), ...document }),
      macros: packed({
        '[Content_Types].xml': contentTypesXml({ 'word/document2.xml': 'x' }).replace(
          /application\/vnd\.openxmlformats-officedocument\.x/,
          'application/vnd.ms-word.document.macroEnabled.main+xml',
        ),
        ...document,
      }),
    };
    for (const [name, bytes] of Object.entries(files)) {
      expect(await found(bytes, zipType), name).to.include({ mime: zipType });
      expect(await found(bytes, docxType), name).to.include({ error: 'content_not_allowed' });
    }
  });

  it('counts as a plain archive if its list of types is too large', async () => {
    const long = contentTypesXml({ 'word/document2.xml': word }) + ' '.repeat(megabyte);
    const bomb = { begin: contentTypesXml({ 'word/document2.xml': word }), megabytes: 100, end: '' };
    const entries = [{ name: 'word/document2.xml', content: '' }];
    for (const naming of [{ content: long }, { content: bomb }, { content: bomb, says: 1_000 }]) {
      const bytes = Buffer.from(zipOf([{ name: '[Content_Types].xml', ...naming }, ...entries]));
      expect(await found(bytes, zipType)).to.include({ mime: zipType });
    }
  });

  it('causes an error if the store fails', async () => {
    const bytes = packed({
      ...types({ 'word/document2.xml': word }),
      'x.bin': randomBytes(300_000).toString('latin1'),
      ...document,
    });
    const store = storeOf(bytes);
    const read = async (offset: number, length: number) => {
      if (store.reads.length === 2) throw new Error('The store is gone');
      return store.read('key', offset, length);
    };
    const looking = identifyContent(read, { sizeBytes: bytes.length, purpose: 'library', announced: docxType });
    expect(await looking.catch((error: Error) => error.message)).to.equal('The store is gone');
  });
});

describe('audio and video', () => {
  const measures = async (bytes: Buffer, announced: string) => {
    const read = async (offset: number, length: number) => bytes.subarray(offset, offset + length);
    const { sizeBytes: _, ...rest } = await identifyContent(read, {
      sizeBytes: bytes.length,
      purpose: 'library',
      announced,
    });
    return rest;
  };

  it('are detected by their containers', async () => {
    const size = { width: 320, height: 240, durationMs: 2_000, kind: 'video', hasWideColors: false };
    expect(await measures(await video('mp4'), 'video/webm')).to.deep.equal({ mime: 'video/mp4', ...size });
    expect(await measures(await video('mov'), 'video/mp4')).to.deep.equal({ mime: 'video/quicktime', ...size });
    expect(await measures(await video('webm'), 'video/mp4')).to.deep.equal({ mime: 'video/webm', ...size });
    expect(await measures(await video('mkv'), 'video/mp4')).to.deep.equal({ mime: 'video/x-matroska', ...size });
    const sounds = { 'audio/wav': await sound('wav'), 'audio/mp4': await sound('m4a') };
    for (const [mime, bytes] of Object.entries(sounds))
      for (const announced of ['audio/mpeg', 'video/mp4'])
        expect(await measures(bytes, announced)).to.deep.equal({ mime, kind: 'audio', durationMs: 1_000 });
    expect(await measures(mp3(), 'audio/mpeg')).to.deep.equal({ mime: 'audio/mpeg', kind: 'audio', durationMs: 1_045 });
  });

  it('are refused if only the content is a video, because plans limit videos', async () => {
    for (const announced of ['audio/mp4', pdfType, 'image/png', 'text/plain'])
      expect(await measures(await video('mp4'), announced), announced).to.deep.equal({ error: 'content_not_allowed' });
  });

  it('are refused for playlists, cut files and files without streams', async () => {
    const whole = await video('mp4');
    const others = {
      'an HLS playlist': Buffer.from('#EXTM3U\n#EXT-X-VERSION:3\n#EXTINF:9,\nhttp://169.254.169.254/latest\n'),
      'a DASH manifest': Buffer.from('<?xml version="1.0"?><MPD><BaseURL>file:///etc/passwd</BaseURL></MPD>'),
      'a list for concatenation': Buffer.from("ffconcat version 1.0\nfile '/etc/passwd'\n"),
      'a cut MP4': whole.subarray(0, 300),
      'an MP4 with only its brand': whole.subarray(0, 32),
      zeros: Buffer.alloc(5_000),
    };
    for (const [name, bytes] of Object.entries(others))
      expect(await measures(bytes, 'video/mp4'), name).to.deep.equal({ error: 'content_not_allowed' });
  });
});

describe('an image in a different format than PNG, JPEG, GIF and WEBP', () => {
  const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="4" height="3"/>';

  it('is detected as SVG by its root element', async () => {
    const heads = ['', '\ufeff', '<?xml version="1.0"?>\n<!-- a knot -->\n<!DOCTYPE svg>\n'];
    for (const head of heads)
      expect(await found(Buffer.from(head + svg), 'image/svg+xml')).to.include({
        mime: 'image/svg+xml',
        kind: 'image',
      });
    for (const other of ['<html><svg/></html>', 'svg', '<!DOCTYPE svg [<!ENTITY a "b">]><svg/>', `<svgx/>${svg}`])
      expect(await found(Buffer.from(other), 'image/svg+xml'), other).to.include({ error: 'content_not_allowed' });
    expect(await found(Buffer.from(svg), 'text/plain')).to.include({ mime: 'text/plain', kind: 'document' });
    expect(await found(Buffer.from(svg), 'image/svg+xml', 'agent_image')).to.include({ error: 'content_not_allowed' });
  });

  it('is detected as AVIF by its brand', async () => {
    const avif = Buffer.concat([Buffer.from([0, 0, 0, 28]), Buffer.from('ftypavif'), Buffer.alloc(40)]);
    expect(await found(avif, 'image/png')).to.include({ mime: 'image/avif', kind: 'image' });
    expect(await found(avif, 'image/png', 'agent_image')).to.include({ error: 'content_not_allowed' });
  });
});

describe('the identification of a file', () => {
  const signal = new AbortController().signal;
  type Store = ReturnType<typeof storeOf>;
  const contentsOf = ({ read }: Pick<Store, 'read'>) => ({
    read: (offset: number, length: number) => read('key', offset, length),
  });
  const fileOf = (bytes: Buffer, mime: string) =>
    ({ purpose: 'library', mime, sizeBytes: String(bytes.length) }) as const;
  const identified = (store: Pick<Store, 'read'>, bytes: Buffer, mime: string) =>
    identify(contentsOf(store), fileOf(bytes, mime), { signal });

  it('refuses a file if the thread takes too long', async () => {
    const threads = identificationThreads({ ...identificationRules, workMs: 0 });
    const ended = async (mime: string, bytes: Buffer) => {
      const finding = await identify(contentsOf(storeOf(bytes)), fileOf(bytes, mime), { signal, threads });
      return finding && outcome(finding);
    };
    expect(await ended('image/png', png(40, 30))).to.deep.equal({ error: 'image_broken' });
    expect(await ended(docxType, await docx('Knots'))).to.deep.equal({ error: 'content_not_allowed' });
    expect(identificationRules).to.deep.equal({ filesPerThread: 100, workMs: 5_000, maxHeapMb: 64, maxBuffersMb: 64 });
  });

  it('ends at the limits of the heap and of the buffers of its thread', async () => {
    const bytes = png(40, 30);
    const store = storeOf(bytes);
    // Long enough to measure the memory.
    const read: typeof store.read = (...given) => sleep(500).then(() => store.read(...given));
    for (const changed of [{ maxHeapMb: 10 }, { maxBuffersMb: 0 }]) {
      const threads = identificationThreads({ ...identificationRules, ...changed });
      const finding = await identify(contentsOf({ read }), fileOf(bytes, 'image/png'), { signal, threads });
      expect(finding && outcome(finding), JSON.stringify(changed)).to.deep.equal({ error: 'image_broken' });
    }
  });

  it('throws, and does not fail the file, if the store fails', async () => {
    const bytes = await docx('Knots');
    const whole = storeOf(bytes);
    expect(await identified(whole, bytes, docxType)).to.include({ mime: docxType });
    expect(whole.reads, 'more than one read can fail').to.have.length.above(1);
    for (const failsAt of whole.reads.keys()) {
      const store = storeOf(bytes);
      let reads = 0;
      const read: typeof store.read = (key, offset, length) =>
        reads++ === failsAt ? Promise.reject(new Error('The store is away.')) : store.read(key, offset, length);
      const error = await identified({ read }, bytes, docxType).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      expect(error, `read ${failsAt}`).to.have.property('message', 'The store is away.');
      expect(reads, 'the identification stops at the failed read').to.equal(failsAt + 1);
    }
  });

  it('returns undefined if the file is erased during the identification', async () => {
    expect(await identified({ read: async () => undefined as never }, png(), 'image/png')).to.equal(undefined);
  });

  it('gets two permits on up to three cores, three on four, and four on more', () => {
    expect([1, 2, 3, 4, 64].map(mediaPermits)).to.deep.equal([2, 2, 2, 3, 4]);
  });
});
