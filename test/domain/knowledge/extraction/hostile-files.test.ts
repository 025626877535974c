import { expect } from 'chai';
import { deflateSync } from 'node:zlib';
import { bareDocx, documentBomb, documentXml, zipOf, zlibSpaces } from '../../../toolkit/builders/archives.ts';
import { book } from '../../../toolkit/builders/office-files.ts';
import { messageOf } from '../../../../dev/problem.ts';
import { extracted, readFrom, refusalOf, shortly } from '../../../toolkit/drive/extracting.ts';

const megabyte = 1_024 * 1_024;

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

/** `turns` counts how often this process ran other code during the work. It is 0 if the work blocked the process. */
async function watched<T>(work: () => Promise<T>): Promise<{ result: T; turns: number }> {
  let turns = 0;
  const timer = setInterval(() => (turns += 1), 5);
  try {
    return { result: await work(), turns };
  } finally {
    clearInterval(timer);
  }
}

describe('reading hostile files', function () {
  this.timeout(120_000);

  it('rejects an archive as too_large if its main part unpacks to 100 MB', async () => {
    const bomb = documentBomb(100);
    expect(await refusalOf(bareDocx(bomb))).to.equal('too_large');
    expect(await refusalOf(bareDocx(documentXml(['a']), [{ name: 'word/styles.xml', content: bomb }]))).to.equal(
      'too_large',
    );
    const slides = zipOf([{ name: 'ppt/presentation.xml', content: bomb }]);
    expect(await refusalOf(slides)).to.equal('too_large');
  });

  it('rejects a Word file as too_large if it refers to a huge part of any name', async () => {
    // The reader would accept this part if it were shorter.
    const bomb = { begin: documentXml(['a']), megabytes: 100, end: '' };
    for (const name of ['evil.bin', 'word/media/image1.png'])
      expect(await refusalOf(bareDocx(documentXml(['a']), [{ name, content: bomb }], name)), name).to.equal(
        'too_large',
      );
  });

  it('reads a Word file with a huge part to which no other part refers', async () => {
    const picture = { name: 'word/media/image1.bmp', content: { begin: '', megabytes: 100, end: '' } };
    expect(shortly(await readFrom(bareDocx(documentXml(['Bends']), [picture])))).to.deep.equal([
      { headings: [], blocks: ['Bends'] },
    ]);
  });

  it('rejects an archive as too_large if its small parts together are too large', async () => {
    const part = { begin: '<w:a>', megabytes: 14, end: '</w:a>' };
    const parts = ['styles', 'numbering', 'footnotes', 'endnotes', 'settings'].map((name) => ({
      name: `word/${name}.xml`,
      content: part,
    }));
    expect(await refusalOf(bareDocx(documentXml(['a']), parts))).to.equal('too_large');
  });

  it('rejects an archive as file_corrupt if it states a wrong unpacked size', async () => {
    const large = { name: 'word/styles.xml', content: { begin: '', megabytes: 100, end: '' }, says: 1_000 };
    expect(await refusalOf(bareDocx(documentXml(['a']), [large]))).to.equal('file_corrupt');
  });

  it('rejects an archive as too_large if it has more than 10,000 entries', async () => {
    const entries = Array.from({ length: 10_001 }, (_, at) => ({ name: `x/${at}`, content: '' }));
    expect(await refusalOf(bareDocx(documentXml(['a']), entries))).to.equal('too_large');
  });

  it('rejects an archive as file_encrypted if an entry is encrypted', async () => {
    expect(await refusalOf(zipOf([{ name: 'word/document.xml', content: 'a', encrypted: true }]))).to.equal(
      'file_encrypted',
    );
  });

  it('rejects an archive as file_corrupt if entry names point outside the archive', async () => {
    expect(await refusalOf(bareDocx(documentXml(['a']), [{ name: '../../etc/passwd', content: 'x' }]))).to.equal(
      'file_corrupt',
    );
  });

  it('does not expand internal or external XML entities', async () => {
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

  it('rejects a Word file as file_corrupt if its parts are not XML', async () => {
    expect(await refusalOf(bareDocx('no <xml'))).to.equal('file_corrupt');
  });

  it('reads a PDF whose page draws itself recursively', async () => {
    const read = await readFrom(pdfWith(deflateSync('/X Do BT /F1 12 Tf 20 100 Td (Round and round) Tj ET')));
    expect(shortly(read)).to.deep.equal([{ page: 1, headings: [], blocks: ['Round and round'] }]);
  });

  it('rejects a PDF page of 512 MB as too_large, without blocking this process', async () => {
    const half = deflateSync(zlibSpaces(512));
    const { result, turns } = await watched(() =>
      extracted(pdfWith(half, '/Filter [/FlateDecode /FlateDecode]'), { rules: { maxBuffersMb: 100 } }),
    );
    expect(result).to.deep.equal({ result: 'unreadable', code: 'too_large', warnings: [] });
    expect(turns).to.be.above(20);
  });

  it('stops with took_too_long at the time limit for the reading', async () => {
    const read = async () => refusalOf(await book(400), { rules: { extractionMs: 300 } });
    // A thread with too little CPU time does not reach the limit, so the test tries again.
    const patiently = async (tries: number): Promise<string> =>
      read().catch((error: unknown) => {
        if (tries === 1 || !messageOf(error).startsWith('The thread has had')) throw error;
        return patiently(tries - 1);
      });
    expect(await patiently(10)).to.equal('took_too_long');
  });

  it('stops with too_large at the memory limit for the reading', async () => {
    const nested = `<html>${'<p>word '.repeat(3_000_000)}`;
    expect(await refusalOf(nested, { rules: { maxHeapMb: 64 } })).to.equal('too_large');
  });

  it('rejects 200 MB of text, and more than ten million characters, as too_large', async () => {
    expect(await refusalOf(new Uint8Array(200 * megabyte).fill(97))).to.equal('too_large');
    expect(await refusalOf('word '.repeat(2_100_000))).to.equal('too_large');
  });

  it('rejects 60,000 passages as too_large', async () => {
    expect(await refusalOf('# a\nb\n\n'.repeat(60_000), { says: 'text/markdown' })).to.equal('too_large');
  });

  it('reads elements nested thousands deep', async () => {
    const deep = `<html>${'<div><ol><li>'.repeat(3_000)}anchor${'</li></ol></div>'.repeat(3_000)}`;
    expect((await readFrom(deep)).passages.map(({ text }) => text)).to.deep.equal(['1. anchor']);
    const quotes = `# a\n\n${'>'.repeat(3_000)} anchor`;
    expect(shortly(await readFrom(quotes))).to.deep.equal([{ headings: ['a'], blocks: ['anchor'] }]);
  });

  it('stops immediately with the caller’s reason if the caller aborts', async () => {
    const stop = new AbortController();
    const reading = extracted(await book(300), { signal: stop.signal, onPage: () => stop.abort(new Error('stop')) });
    expect(await reading.catch((error: Error) => error.message)).to.equal('stop');
  });
});
