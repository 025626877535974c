import { expect } from 'chai';
import { zipOf } from '../../../toolkit/builders/archives.ts';
import { unzipped, zipped } from '../../../toolkit/builders/repacking.ts';
import { docxHeading, docxOf, docxTable, docxText, pptxOf, sentences } from '../../../toolkit/builders/office-files.ts';
import { extracted, readFrom, refusalOf, shortly } from '../../../toolkit/drive/extracting.ts';
import { extract } from '../../../../domain/knowledge/extraction/extraction.ts';

describe('reading text from documents', function () {
  this.timeout(60_000);

  describe('DOCX', () => {
    it('reads headings, paragraphs, lists and tables, without pages', async () => {
      const read = await readFrom(
        await docxOf([
          docxHeading('Knots', 1),
          docxText('A bowline holds. It unties, too.'),
          docxHeading('Hitches', 2),
          docxText('A clove hitch slips.'),
          docxTable([
            ['Knot', 'Use'],
            ['Reef knot', 'Sails'],
          ]),
        ]),
      );
      expect(read.pageCount).to.equal(null);
      expect(shortly(read)).to.deep.equal([
        { headings: ['Knots'], blocks: ['A bowline holds. ', 'It unties, too.'].map((block) => block.trimEnd()) },
        { headings: ['Knots', 'Hitches'], blocks: ['A clove hitch slips.', 'Knot | Use', 'Reef knot | Sails'] },
      ]);
    });
  });

  describe('PPTX', () => {
    it('reads a slide as a page, with its title as heading, its texts, tables and notes', async () => {
      const pages: string[] = [];
      const file = await pptxOf([
        { title: 'Anchors', texts: ['Drop it slowly.', 'Mind the chain.'], notes: 'Tell of the storm.' },
        { title: 'A title alone' },
        {
          texts: ['Without a title'],
          rows: [
            ['Depth', 'Chain'],
            ['5 m', '20 m'],
          ],
        },
      ]);
      const read = await readFrom(file, { onPage: (at, total) => pages.push(`${at} of ${total}`) });
      expect(read.pageCount).to.equal(3);
      expect(shortly(read)).to.deep.equal([
        { page: 1, headings: ['Anchors'], blocks: ['Drop it slowly.', 'Mind the chain.', 'Tell of the storm.'] },
        { page: 2, headings: [], blocks: ['A title alone'] },
        { page: 3, headings: [], blocks: ['Without a title', 'Depth | Chain', '5 m | 20 m'] },
      ]);
      expect(pages).to.deep.equal(['1 of 3', '2 of 3', '3 of 3']);
    });

    it('reads slides in the order of the presentation, not of their file names', async () => {
      const entries = unzipped(await pptxOf([{ texts: ['made first'] }, { texts: ['made second'] }]));
      const presentation = entries.get('ppt/presentation.xml') ?? '';
      const [first = '', second = ''] = presentation.match(/<p:sldId [^>]*>/g) ?? [];
      entries.set('ppt/presentation.xml', presentation.replace(first, '@').replace(second, first).replace('@', second));
      expect(shortly(await readFrom(zipped(entries)))).to.deep.equal([
        { page: 1, headings: [], blocks: ['made second'] },
        { page: 2, headings: [], blocks: ['made first'] },
      ]);
    });
  });

  describe('Markdown', () => {
    const markdown = [
      '# Knots',
      'A *bowline* holds; see [the loop](https://example.com/loop). It does',
      'not slip.',
      '## Steps',
      '3. Make a loop',
      '4. Pass the end',
      '',
      '- soft',
      '  - softer',
      '',
      '```',
      'if (tide) {',
      '    wait();',
      '```',
      '',
      '| Knot | Use |',
      '|---|---|',
      '| Reef | Sails |',
    ].join('\n');

    it('reads headings, numbered lists, code and tables', async () => {
      expect(shortly(await readFrom(markdown))).to.deep.equal([
        { headings: ['Knots'], blocks: ['A bowline holds; see the loop.', 'It does not slip.'] },
        {
          headings: ['Knots', 'Steps'],
          blocks: [
            '3. Make a loop',
            '4. Pass the end',
            'soft',
            'softer',
            'if (tide) {',
            'wait();',
            'Knot | Use',
            'Reef | Sails',
          ],
        },
      ]);
    });

    it('is the format of lessons', async () => {
      const read = (text: string) =>
        extract(
          { kind: 'lesson', language: 'pt', markdown: text },
          { onPage: () => {}, signal: new AbortController().signal },
        );
      const lesson = await read('Nós. São úteis.');
      expect(lesson.result === 'read' && shortly(lesson)).to.deep.equal([
        { headings: [], blocks: ['Nós.', 'São úteis.'] },
      ]);
      expect(await read(' \n')).to.deep.equal({ result: 'read', pageCount: null, passages: [], warnings: [] });
    });
  });

  describe('HTML', () => {
    it('keeps headings, and skips scripts, styles and navigation', async () => {
      const html = `<!doctype html><html><head><title>Site</title><style>p { color: red }</style><script>alert('x')</script>
        <body><nav><a href="/">Home</a></nav><h1>Knots &amp; bends</h1><div>A bowline<br>holds.<p>It <b>un</b>ties.
        <ol start="2"><li>Make a loop<li>Pass the end</ol><h3>Tools</h3><table><tr><th>Tool<td>Use<tr><td>Fid<td>
        <p>Open</p><p>strands</p></table><pre>a
  b</pre><noscript>Please</noscript></body></html>`;
      expect(shortly(await readFrom(html))).to.deep.equal([
        {
          headings: ['Knots & bends'],
          blocks: ['A bowline holds.', 'It unties.', '2. Make a loop', '3. Pass the end'],
        },
        { headings: ['Knots & bends', 'Tools'], blocks: ['Tool | Use', 'Fid | Open strands', 'a', 'b'] },
      ]);
    });

    it('keeps the text of a table inside a table', async () => {
      const html = '<html><table><tr><td>a</td><td>b<table><tr><td>c</td></tr></table>d</td><td>e</td></tr></table>';
      const blocks = shortly(await readFrom(html)).flatMap((passage) => passage.blocks);
      expect(blocks.join(' ').replace(/[| ]/g, '')).to.equal('abcde');
    });
  });

  describe('plain text', () => {
    const paragraphs = 'Uma âncora segura.\nEla é pesada.\n\nO nó <não> solta, 2 * 3 * 4.';
    const blocks = ['Uma âncora segura.', 'Ela é pesada.', 'O nó <não> solta, 2 * 3 * 4.'];
    const encoded: Record<string, Uint8Array<ArrayBuffer>> = {
      'UTF-8': new Uint8Array(Buffer.from(paragraphs)),
      'UTF-8 with a byte order mark': new Uint8Array(Buffer.from(`\uFEFF${paragraphs}`)),
      'UTF-16, little-endian,': new Uint8Array(Buffer.from(`\uFEFF${paragraphs}`, 'utf16le')),
      'UTF-16, big-endian,': new Uint8Array(Buffer.from(`\uFEFF${paragraphs}`, 'utf16le').swap16()),
      'Latin-1': new Uint8Array(Buffer.from(paragraphs, 'latin1')),
    };
    for (const [encoding, bytes] of Object.entries(encoded)) {
      it(`reads ${encoding} without losing a character`, async () => {
        expect(shortly(await readFrom(bytes))).to.deep.equal([{ headings: [], blocks }]);
      });
    }

    it('reads a text that begins like an image or a program', async () => {
      expect(shortly(await readFrom('BMW is a make of cars. MZ was one of motorcycles.'))).to.have.length(1);
      expect(shortly(await readFrom('MZ was a make of motorcycles.'))).to.have.length(1);
    });
  });

  describe('detection of the file type', () => {
    it('uses the stated type only to distinguish Markdown from plain text', async () => {
      const text = 'a *word* <b>';
      expect(shortly(await readFrom(text))[0]?.blocks).to.deep.equal(['a *word* <b>']);
      expect(shortly(await readFrom(text, { says: 'text/markdown' }))[0]?.blocks).to.deep.equal(['a word']);
      expect(
        shortly(await readFrom(await docxOf([docxText('Word')]), { says: 'application/pdf' }))[0]?.blocks,
      ).to.deep.equal(['Word']);
    });

    const png = Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
      'base64',
    );
    const compound = Buffer.concat([Buffer.from('D0CF11E0A1B11AE1', 'hex'), Buffer.alloc(2_000)]);
    const files: { what: string; bytes: Uint8Array | string; code: string }[] = [
      { what: 'an image', bytes: png, code: 'unsupported_type' },
      {
        what: 'a program',
        bytes: Buffer.concat([Buffer.from('\x7fELF\x02\x01\x01'), Buffer.alloc(500, 1)]),
        code: 'unsupported_type',
      },
      {
        what: 'bytes of an unknown kind',
        bytes: Buffer.from(Array.from({ length: 900 }, (_, at) => (at * 37) % 256)),
        code: 'unsupported_type',
      },
      { what: 'RTF', bytes: '{\\rtf1 text}', code: 'unsupported_type' },
      { what: 'XML other than HTML', bytes: '<?xml version="1.0"?><feed>a</feed>', code: 'unsupported_type' },
      { what: 'an old Word file', bytes: compound, code: 'unsupported_type' },
      {
        what: 'an encrypted Word file',
        bytes: Buffer.concat([compound, Buffer.from('EncryptedPackage', 'utf16le')]),
        code: 'file_encrypted',
      },
      { what: 'an empty file', bytes: '', code: 'no_text' },
      { what: 'white space and dashes', bytes: ' \n — | …\n', code: 'no_text' },
    ];
    for (const { what, bytes, code } of files)
      it(`rejects ${what} as ${code}`, async () =>
        expect(await refusalOf(new Uint8Array(Buffer.from(bytes)))).to.equal(code));

    it('rejects an archive as unsupported_type if the archive is not a document', async () => {
      expect(await refusalOf(zipOf([{ name: 'a.txt', content: 'text' }]))).to.equal('unsupported_type');
    });

    it('reads XHTML as HTML', async () => {
      const xhtml = `<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml"><body><h1>A</h1><p>b</p></body></html>`;
      expect(shortly(await readFrom(xhtml))).to.deep.equal([{ headings: ['A'], blocks: ['b'] }]);
    });
  });

  it('returns 1,300 paragraphs completely and in order', async () => {
    const paragraphs = Array.from({ length: 1_300 }, (_, at) => `Paragraph ${at} begins. ${sentences(8, at)}`);
    const read = await extracted(paragraphs.join('\n\n'));
    const numbers =
      read.result === 'read' ? read.passages.map(({ text }) => /Paragraph (\d+) begins/.exec(text)?.[1]) : [];
    expect(numbers).to.deep.equal(paragraphs.map((_, at) => String(at)));
  });
});
