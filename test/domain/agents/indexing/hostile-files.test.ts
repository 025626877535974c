import { expect } from 'chai';
import { deflateSync } from 'node:zlib';
import { bareDocx, documentXml, zipOf } from '../../../toolkit/builders/archives.ts';
import { book } from '../../../toolkit/builders/office-files.ts';
import { extracted, readFrom, refusalOf, shortly } from '../../../toolkit/drive/extracting.ts';

const megabyte = 1_024 * 1_024;

/** A PDF of one page whose content is this stream. */
function pdfWith(stream: Uint8Array, filter = '/Filter /FlateDecode'): Uint8Array<ArrayBuffer> {
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] /Contents 4 0 R /Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> /XObject << /X 5 0 R >> >> >>',
  ];
  const parts = [
    Buffer.from('%PDF-1.7\n'),
    ...objects.map((text, at) => Buffer.from(`${at + 1} 0 obj\n${text}\nendobj\n`)),
  ];
  parts.push(
    Buffer.from(`4 0 obj\n<< /Length ${stream.length} ${filter} >>\nstream\n`),
    Buffer.from(stream),
    Buffer.from('\nendstream\nendobj\n'),
  );
  const form = '/X Do /X Do';
  parts.push(
    Buffer.from(
      `5 0 obj\n<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Length ${form.length} /Resources << /XObject << /X 5 0 R >> >> >>\nstream\n${form}\nendstream\nendobj\n`,
    ),
  );
  parts.push(Buffer.from('trailer\n<< /Root 1 0 R /Size 6 >>\n'));
  return new Uint8Array(Buffer.concat(parts));
}

/** How often this process came to its own work while something else was done: not at all, if that kept it from it. */
async function watched<T>(work: () => Promise<T>): Promise<{ result: T; turns: number }> {
  let turns = 0;
  const timer = setInterval(() => (turns += 1), 5);
  try {
    return { result: await work(), turns };
  } finally {
    clearInterval(timer);
  }
}

describe('hostile files', function () {
  this.timeout(120_000);

  it('an archive that unpacks to more than it may: too_large, before anything else reads it', async () => {
    const bomb = documentXml([' '.repeat(100 * megabyte)]);
    expect(await refusalOf(bareDocx(bomb))).to.equal('too_large');
    expect(await refusalOf(bareDocx(documentXml(['a']), [{ name: 'word/styles.xml', content: bomb }]))).to.equal(
      'too_large',
    );
    const slides = zipOf([{ name: 'ppt/presentation.xml', content: bomb }]);
    expect(await refusalOf(slides)).to.equal('too_large');
  });

  it('a Word file that has another part of it read, of any name, which unpacks to more than it may: too_large', async () => {
    // A text that is read, were it not for its length: what it stands in is over at its beginning.
    const bomb = `${documentXml(['a'])}${' '.repeat(100 * megabyte)}`;
    for (const name of ['evil.bin', 'word/media/image1.png'])
      expect(await refusalOf(bareDocx(documentXml(['a']), [{ name, content: bomb }], name)), name).to.equal(
        'too_large',
      );
    const styles = { name: 'mammoth/style-map', content: ' '.repeat(100 * megabyte) };
    expect(await refusalOf(bareDocx(documentXml(['a']), [styles]))).to.equal('too_large');
  });

  it('what no part of it is read for, a Word file may have as much of as it likes', async () => {
    const picture = { name: 'word/media/image1.bmp', content: Buffer.alloc(100 * megabyte) };
    expect(shortly(await readFrom(bareDocx(documentXml(['Bends']), [picture])))).to.deep.equal([
      { headings: [], blocks: ['Bends'] },
    ]);
  });

  it('many parts that are each small unpack to more than they may together: too_large', async () => {
    const part = `<w:a>${' '.repeat(14 * megabyte)}</w:a>`;
    const parts = ['styles', 'numbering', 'footnotes', 'endnotes', 'comments'].map((name) => ({
      name: `word/${name}.xml`,
      content: part,
    }));
    expect(await refusalOf(bareDocx(documentXml(['a']), parts))).to.equal('too_large');
  });

  it('an archive that lies about how large it is unpacked: file_corrupt', async () => {
    const large = { name: 'word/styles.xml', content: ' '.repeat(100 * megabyte), says: 1_000 };
    expect(await refusalOf(bareDocx(documentXml(['a']), [large]))).to.equal('file_corrupt');
  });

  it('too many entries: too_large', async () => {
    const entries = Array.from({ length: 10_001 }, (_, at) => ({ name: `x/${at}`, content: '' }));
    expect(await refusalOf(bareDocx(documentXml(['a']), entries))).to.equal('too_large');
  });

  it('an entry with a password: file_encrypted', async () => {
    expect(await refusalOf(zipOf([{ name: 'word/document.xml', content: 'a', encrypted: true }]))).to.equal(
      'file_encrypted',
    );
  });

  it('names that lead out of the archive: file_corrupt', async () => {
    expect(await refusalOf(bareDocx(documentXml(['a']), [{ name: '../../etc/passwd', content: 'x' }]))).to.equal(
      'file_corrupt',
    );
  });

  it('entities of XML are not expanded, neither own nor of other files', async () => {
    const entities = `<!DOCTYPE w:document [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY file SYSTEM "file:///etc/hostname">]>`;
    const extraction = await extracted(bareDocx(documentXml(['Before &b; &file; after'], entities)));
    const text =
      extraction.result === 'read' ? extraction.passages.map((passage) => passage.text).join() : extraction.code;
    expect(text).to.match(/^(?:Before .*after|file_corrupt)$/);
    expect(text).not.to.contain('aaaa');
    const relations = `<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/hostname">]><Relationships><Relationship Id="r1" Type="a/slide" Target="../../../etc/hostname"/></Relationships>`;
    const slides = zipOf([
      {
        name: 'ppt/presentation.xml',
        content: '<p:presentation><p:sldIdLst><p:sldId r:id="r1"/></p:sldIdLst></p:presentation>',
      },
      { name: 'ppt/_rels/presentation.xml.rels', content: relations },
    ]);
    expect(await refusalOf(slides)).to.equal('file_corrupt');
  });

  it('a Word file that is no XML inside: file_corrupt', async () => {
    expect(await refusalOf(bareDocx('no <xml'))).to.equal('file_corrupt');
  });

  it('a PDF whose page draws itself over and over is read', async () => {
    const read = await readFrom(pdfWith(deflateSync('/X Do BT /F1 12 Tf 20 100 Td (Round and round) Tj ET')));
    expect(shortly(read)).to.deep.equal([{ page: 1, headings: [], blocks: ['Round and round'] }]);
  });

  it('a PDF whose page unpacks to half a gigabyte: too_large, and this process goes on with its own work', async () => {
    const half = deflateSync(deflateSync(Buffer.alloc(512 * megabyte, 32)));
    const { result, turns } = await watched(() =>
      extracted(pdfWith(half, '/Filter [/FlateDecode /FlateDecode]'), { rules: { mostBuffersMb: 100 } }),
    );
    expect(result).to.deep.equal({ result: 'unreadable', code: 'too_large' });
    expect(turns).to.be.above(20);
  });

  it('reading that takes longer than it may is broken off: took_too_long', async () => {
    expect(await refusalOf(await book(400), { rules: { extractionMs: 300 } })).to.equal('took_too_long');
  });

  it('reading that takes more memory than it may is broken off: too_large', async () => {
    const nested = `<html>${'<p>word '.repeat(3_000_000)}`;
    expect(await refusalOf(nested, { rules: { mostHeapMb: 64 } })).to.equal('too_large');
  });

  it('200 MB of text: too_large', async () => {
    expect(await refusalOf(new Uint8Array(200 * megabyte).fill(97))).to.equal('too_large');
    expect(await refusalOf('word '.repeat(2_100_000))).to.equal('too_large');
  });

  it('a passage a line, without end: too_large', async () => {
    expect(await refusalOf('# a\nb\n\n'.repeat(60_000), { says: 'text/markdown' })).to.equal('too_large');
  });

  it('elements inside one another, thousands deep, are read', async () => {
    const deep = `<html>${'<div><ol><li>'.repeat(3_000)}anchor${'</li></ol></div>'.repeat(3_000)}`;
    expect((await readFrom(deep)).passages.map(({ text }) => text)).to.deep.equal(['1. anchor']);
    const quotes = `# a\n\n${'>'.repeat(3_000)} anchor`;
    expect(await extracted(quotes).then(({ result }) => result)).to.be.oneOf(['read', 'unreadable']);
  });

  it('what is broken off from outside ends at once, with the reason that is given', async () => {
    const stop = new AbortController();
    const reading = extracted(await book(300), { signal: stop.signal, onPage: () => stop.abort(new Error('stop')) });
    expect(await reading.catch((error: Error) => error.message)).to.equal('stop');
  });
});
