import { expect } from 'chai';
import { extract } from '../../../../domain/knowledge/extraction/extraction.ts';
import { handPdf, streamOf, written, type HandPage } from '../../../toolkit/builders/hand-pdf.ts';
import { scannedPdf } from '../../../toolkit/builders/scanned-files.ts';
import { extracted, readFrom } from '../../../toolkit/drive/extracting.ts';

async function read(pages: readonly HandPage[] | string, options?: Parameters<typeof handPdf>[1]) {
  const handPages = typeof pages === 'string' ? [{ content: pages }] : pages;
  const { passages, warnings } = await readFrom(handPdf(handPages, options));
  return {
    warnings,
    lines: passages.flatMap(({ text }) => text.split(/\n+/)),
    headings: passages.map(({ headings }) => headings.join(' > ')),
  };
}

const linesOf = async (...given: Parameters<typeof read>) => (await read(...given)).lines;

/** The document needs letters of a usual size. */
const prose = (y: number, page = '') =>
  written(
    [`The first line of some prose ${page} that stands on a page`, 50, y],
    [`and goes on in the second line ${page} until it ends.`, 50, y - 14],
  );

describe('the visible content of a PDF page', function () {
  this.timeout(120_000);

  describe('raised and lowered letters', () => {
    it('are separated from the number before them', async () => {
      const content = written(['A cube has 10', 50, 700], ['3', 127, 704, 7], [' m', 131, 700], ['2', 144.5, 704, 7], [' of H', 149, 700], ['2', 175, 698, 7], ['O.', 179, 700]); // prettier-ignore
      expect(await linesOf(content)).to.deep.equal(['A cube has 10³ m² of H₂O.']);
    });

    it('are recognized if only the text rise operator (Ts) moves them', async () => {
      expect(await linesOf('BT /F1 12 Tf 50 700 Td (area 10) Tj 5 Ts (2) Tj 0 Ts ( km) Tj ET')).to.deep.equal([
        'area 10² km',
      ]);
    });

    it('stay normal letters in ordinals', async () => {
      expect(await linesOf(written(['The 1', 50, 700], ['st', 80, 704, 7], [' of May', 86, 700]))).to.deep.equal([
        'The 1st of May',
      ]);
    });

    it('are read as footnote marks if the page has the footnote', async () => {
      const foot = written(['1', 50, 60, 6], ['Counted at the gate.', 54, 57, 9], ['2', 50, 48, 6], ['Without guests.', 54, 45, 9]); // prettier-ignore
      const body = written(['We had 45', 50, 700], ['1', 106, 704, 7], [' members', 110, 700], ['2', 163, 704, 7], [' in 10', 167, 700], ['3', 198, 704, 7], [' m', 202, 700], ['2', 215.5, 704, 7], ['.', 219, 700]); // prettier-ignore
      expect((await linesOf(`${prose(760)}\n${body}\n${foot}`)).slice(1)).to.deep.equal([
        'We had 45 [1] members [2] in 10³ m².',
        '[1] Counted at the gate.',
        '[2] Without guests.',
      ]);
    });
  });

  describe('tables', () => {
    const cells = (rows: string[][], at = 700, xs = [50, 200, 300]) =>
      written(...rows.flatMap((row, r) => row.flatMap((text, c): [string, number, number][] => (text === '' ? [] : [[text, xs[c] ?? 0, at - 20 * r]])))); // prettier-ignore
    const rates = [
      ['Knot', 'Strength', 'Minutes'],
      ['Bowline', '', '60'],
      ['Reef knot', '45', ''],
      ['Clove hitch', '', '20'],
    ];

    it('keep empty cells in their columns even if the table has no borders', async () => {
      expect(await linesOf(cells(rates))).to.deep.equal([
        'Knot | Strength | Minutes',
        'Bowline | | 60',
        'Reef knot | 45 |',
        'Clove hitch | | 20',
      ]);
    });

    it('are read between the paragraphs around them', async () => {
      const content = `${prose(760)}\n${cells(rates)}\n${prose(600)}`;
      const lines = await linesOf(content);
      expect(lines).to.deep.equal([
        'The first line of some prose  that stands on a page and goes on in the second line  until it ends.'.replaceAll('  ', ' '), // prettier-ignore
        'Knot | Strength | Minutes',
        'Bowline | | 60',
        'Reef knot | 45 |',
        'Clove hitch | | 20',
        'The first line of some prose that stands on a page and goes on in the second line until it ends.',
      ]);
    });

    it('keep merged cells and multi-line cells if the table has borders', async () => {
      const grid = '50 700 m 350 700 l S 50 660 m 350 660 l S 150 620 m 350 620 l S 50 580 m 350 580 l S 50 580 m 50 700 l S 150 580 m 150 700 l S 250 580 m 250 660 l S 350 580 m 350 700 l S'; // prettier-ignore
      const words = written(['Day', 55, 680], ['Time of the lesson', 155, 680], ['Monday', 55, 640], ['Swim', 155, 645], ['first', 155, 631], ['Sail', 255, 640], ['Run', 155, 600], ['Rest', 255, 600]); // prettier-ignore
      expect(await linesOf(`${grid}\n${words}`)).to.deep.equal([
        'Day | Time of the lesson | Time of the lesson',
        'Monday | Swim first | Sail',
        'Monday | Run | Rest',
      ]);
    });

    it('continue over a page break, with their header in each passage', async () => {
      const rows = Array.from({ length: 30 }, (_, at) => [`Rope ${at} of hemp and flax`, `${at}`, `${at * 2} m`]);
      const [first, second] = [cells([['Article', 'Pieces', 'Length'], ...rows.slice(0, 15)]), cells(rows.slice(15))];
      const { passages } = await readFrom(handPdf([{ content: first }, { content: second }]));
      expect(passages.length).to.be.at.least(2);
      for (const { text } of passages) expect(text.split('\n')[0]).to.equal('Article | Pieces | Length');
      expect(passages.flatMap(({ text }) => text.split('\n').slice(1))).to.deep.equal(
        rows.map((row) => row.join(' | ')),
      );
    });

    it('join the lines of a cell whose text needed several lines', async () => {
      const words = written(['Knot', 50, 700], ['Use', 200, 700], ['Price', 400, 700], ['Bowline', 50, 680], ['For a loop that holds and that', 200, 680], ['1', 400, 680], ['opens again', 200, 666], ['Hitch', 50, 640], ['For a post', 200, 640], ['2', 400, 640]); // prettier-ignore
      expect(await linesOf(words)).to.deep.equal([
        'Knot | Use | Price',
        'Bowline | For a loop that holds and that opens again | 1',
        'Hitch | For a post | 2',
      ]);
    });

    it('join the lines of a cell if the other cells are aligned to the bottom or the middle', async () => {
      const head = [
        ['Knot', 50, 700],
        ['Use', 200, 700],
        ['Price', 400, 700],
      ] as const;
      const foot = written(...head, ['For a loop that holds and that', 200, 680], ['Bowline', 50, 666], ['opens again', 200, 666], ['1', 400, 666], ['Hitch', 50, 640], ['For a post', 200, 640], ['2', 400, 640]); // prettier-ignore
      const middle = written(...head, ['For a loop that holds and that', 200, 680], ['Bowline', 50, 673], ['1', 400, 673], ['opens again', 200, 666], ['Hitch', 50, 640], ['For a post', 200, 640], ['2', 400, 640]); // prettier-ignore
      for (const content of [foot, middle])
        expect(await linesOf(content)).to.deep.equal([
          'Knot | Use | Price',
          'Bowline | For a loop that holds and that opens again | 1',
          'Hitch | For a post | 2',
        ]);
    });

    it('are not recognized in lists and in labels of forms', async () => {
      const list = written(['1.', 50, 700], ['Check the hull', 80, 700], ['2.', 50, 686], ['Check the sails', 80, 686], ['3.', 50, 672], ['Cast off', 80, 672]); // prettier-ignore
      expect(await linesOf(list)).to.deep.equal(['1. Check the hull', '2. Check the sails', '3. Cast off']);
      const labels = written(['Name:', 50, 700], ['Ana', 150, 700], ['Boat:', 50, 660], ['Laser', 150, 660], ['Level:', 50, 620], ['First', 150, 620]); // prettier-ignore
      expect(await linesOf(labels)).to.deep.equal(['Name: Ana', 'Boat: Laser', 'Level: First']);
    });
  });

  describe('columns', () => {
    const leftColumn = [
      'The wind comes from the land at',
      'night, because the land cools',
      'faster than the water does as',
      'soon as the sun has set there.',
    ];
    const right = [
      'By day it comes from the sea,',
      'and it is strongest after noon,',
      'about three, and it dies when',
      'the evening comes to the bay.',
    ];
    const text = [leftColumn.join(' '), right.join(' ')];

    it('are read one after the other even if the file stores them line by line', async () => {
      const content = written(...leftColumn.flatMap((words, at): [string, number, number][] => [[words, 50, 700 - 14 * at], [right[at] ?? '', 320, 700 - 14 * at]])); // prettier-ignore
      expect(await linesOf(content)).to.deep.equal(text);
    });

    it('are read one after the other if the file stores them one after the other', async () => {
      const column = (lines: string[], x: number) => written(...lines.map((words, at): [string, number, number] => [words, x, 700 - 14 * at])); // prettier-ignore
      expect(await linesOf(`${column(leftColumn, 50)}\n${column(right, 320)}`)).to.deep.equal(text);
    });
  });

  describe('words in another direction', () => {
    it('are read in the order that people see, if the page is rotated', async () => {
      const content = 'BT /F1 12 Tf 0 1 -1 0 100 50 Tm (This page lies) Tj 0 1 -1 0 114 50 Tm (on its side.) Tj ET';
      expect(await linesOf([{ content, entries: '/Rotate 90' }])).to.deep.equal(['This page lies on its side.']);
      expect(await linesOf([{ content }])).to.deep.equal(['This page lies on its side.']);
    });

    it('are omitted if they belong to a slanted watermark', async () => {
      const mark = 'BT 0.8 g /F1 80 Tf 0.7071 0.7071 -0.7071 0.7071 150 250 Tm (DRAFT) Tj 0 g ET';
      const { lines, headings } = await read([{ content: `${mark}\n${prose(700)}` }]);
      expect(lines).to.deep.equal([
        'The first line of some prose that stands on a page and goes on in the second line until it ends.',
      ]);
      expect(headings).to.deep.equal(['']);
    });

    it('at the side of a page are recognized, and come last', async () => {
      const side = 'BT /F1 10 Tf 0 1 -1 0 30 300 Tm (At the side) Tj ET';
      expect((await linesOf(`${side}\n${prose(700)}`)).at(-1)).to.equal('At the side');
    });
  });

  it('contains letters once if the file paints the letters twice', async () => {
    expect(await linesOf(written(['Bold words', 50, 700], ['Bold words', 50.3, 700]))).to.deep.equal(['Bold words']);
  });

  it('joins widely spaced letters into words', async () => {
    const spaced = Array.from('SAFE BOATS').flatMap((letter, at): [string, number, number][] => letter === ' ' ? [] : [[letter, 50 + 14 * at, 700]]); // prettier-ignore
    expect(await linesOf(written(...spaced))).to.deep.equal(['SAFE BOATS']);
    expect(await linesOf('BT /F1 12 Tf 6 Tc 50 700 Td (SAFE BOATS) Tj ET')).to.deep.equal(['SAFE BOATS']);
    expect(await linesOf(written(['1 2 3 4 5 6', 50, 700]))).to.deep.equal(['1 2 3 4 5 6']);
  });

  it('joins a large initial letter with the rest of its word', async () => {
    const content = written(['O', 50, 672, 40], ['nce there was a boat that', 84, 700], ['sailed around the world in', 84, 686], ['a year, and came back to its', 84, 672], ['harbour.', 50, 658]); // prettier-ignore
    expect(await linesOf(content)).to.deep.equal([
      'Once there was a boat that sailed around the world in a year, and came back to its harbour.',
    ]);
  });

  it('omits text outside of the page', async () => {
    const content = written(['Inside.', 100, 700], ['Outside.', 100, 790], ['Far away.', 700, 700]);
    expect(await linesOf([{ content, entries: '/CropBox [50 50 550 750]' }])).to.deep.equal(['Inside.']);
  });

  it('keeps the hyphens that belong to words, and ranges of years', async () => {
    const content = written(['The well-known boat is well-', 50, 700], ['known for its Nord-', 50, 686], ['West course of 1990-', 50, 672], ['1995, and for its sails.', 50, 658]); // prettier-ignore
    expect(await linesOf(content)).to.deep.equal([
      'The well-known boat is well-known for its Nord-West course of 1990-1995, and for its sails.',
    ]);
  });

  describe('content that cannot be read', () => {
    const image = '<< /Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8 /Length 1 >>\nstream\n0\nendstream'; // prettier-ignore
    const withImage = { resources: '/XObject << /I 100 0 R >>' };

    it('causes a warning for each page that is only a picture, but not for an empty page', async () => {
      const pages = [
        { content: prose(700) },
        { content: 'q 500 0 0 700 50 50 cm /I Do Q', ...withImage },
        { content: '' },
      ];
      const { warnings } = await read(pages, { objects: [image] });
      expect(warnings).to.deep.equal([{ code: 'page_is_a_picture', count: 1, pages: [2] }]);
    });

    it('causes a refusal if all pages are only pictures', async () => {
      const file = handPdf([{ content: 'q 500 0 0 700 50 50 cm /I Do Q', ...withImage }], { objects: [image] });
      expect(await extracted(file)).to.deep.equal({
        result: 'unreadable',
        code: 'no_text',
        warnings: [{ code: 'page_is_a_picture', count: 1, pages: [1] }],
        scanned: { pages: [1], pageCount: 1 },
      });
    });

    it('is listed for OCR if the page is only a picture', async () => {
      const pictures = Array.from({ length: 102 }, (_, at) => at + 1).filter((page) => page !== 50);
      const { scanned, warnings } = await readFrom(await scannedPdf(pictures, 102));
      expect([scanned?.pageCount, scanned?.pages.length, scanned?.pages.at(-1)]).to.deep.equal([102, 101, 102]);
      expect(warnings.map(({ count, pages: named }) => [count, named.length])).to.deep.equal([[101, 100]]);
    });

    it('is reported only for the requested pages', async () => {
      const picture = { content: 'q 500 0 0 700 50 50 cm /I Do Q', ...withImage };
      const file = handPdf([picture, { content: prose(700, 'two') }, picture, { content: prose(700, 'four') }], {
        objects: [image],
      });
      const { onPage, pages } = { onPage: () => undefined, pages: [3, 4, 9] };
      const { signal } = new AbortController();
      const extraction = await extract(
        { kind: 'media', language: 'en', bytes: file, says: null, pages },
        { onPage, signal },
      );
      expect(extraction).to.include({ result: 'read', pageCount: 4 });
      expect(extraction.warnings).to.deep.equal([{ code: 'page_is_a_picture', count: 1, pages: [3] }]);
      expect(extraction.result === 'read' && extraction.passages.map(({ page }) => page)).to.deep.equal([4]);
    });

    it('causes a warning for pictures beside text, but not for ornaments', async () => {
      const picture = 'q 200 0 0 100 50 300 cm /I Do Q';
      const { warnings } = await read([{ content: `${prose(700)} ${picture}`, ...withImage }], { objects: [image] });
      expect(warnings).to.deep.equal([{ code: 'picture_without_text', count: 1, pages: [1] }]);
      const small = await read([{ content: `${prose(700)} q 20 0 0 20 50 300 cm /I Do Q`, ...withImage }], { objects: [image] }); // prettier-ignore
      expect(small.warnings).to.deep.equal([]);
      const scan = await read([{ content: `q 600 0 0 800 0 0 cm /I Do Q 3 Tr ${prose(700)}`, ...withImage }], { objects: [image] }); // prettier-ignore
      expect([scan.warnings, scan.lines.length]).to.deep.equal([[], 1]);
      const logo = `q 200 0 0 100 50 300 cm /I Do Q`;
      const pages = ['one', 'two', 'three'].map((page) => ({ content: `${prose(700, page)} ${logo}`, ...withImage }));
      expect((await read(pages, { objects: [image] })).warnings).to.deep.equal([]);
    });

    it('causes a warning for hidden layers', async () => {
      const content = `${prose(700)}\n/OC /L BDC ${written(['A secret', 50, 500])} EMC`;
      const catalog = '/OCProperties << /OCGs [100 0 R] /D << /OFF [100 0 R] >> >>';
      const layer = '<< /Type /OCG /Name (Layer) >>';
      const resources = '/Properties << /L 100 0 R >>';
      const off = await read([{ content, resources }], { objects: [layer], catalog });
      expect(off.lines.join()).not.to.contain('secret');
      expect(off.warnings).to.deep.equal([{ code: 'hidden_left_out', count: 1, pages: [1] }]);
      const on = await read([{ content, resources }], { objects: [layer], catalog: catalog.replace('OFF', 'ON') });
      expect([on.lines.at(-1), on.warnings]).to.deep.equal(['A secret', []]);
    });

    it('causes a warning for letters without a character code', async () => {
      const font = '<< /Type /Font /Subtype /Type0 /BaseFont /Own /Encoding /Identity-H /DescendantFonts [101 0 R] >>';
      const descendant = '<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Own /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> /FontDescriptor 102 0 R /DW 500 >>'; // prettier-ignore
      const descriptor = '<< /Type /FontDescriptor /FontName /Own /Flags 4 /FontBBox [0 0 1000 1000] /ItalicAngle 0 /Ascent 800 /Descent -200 /CapHeight 700 /StemV 80 >>'; // prettier-ignore
      const content = `${prose(700)}\nBT /F1 12 Tf 50 500 Td (Before) Tj /F2 12 Tf <0036004400030051> Tj ET`;
      const page = { content, resources: '' };
      const file = handPdf([page], { objects: [font, descendant, descriptor] });
      const text = Buffer.from(file).toString('latin1').replace('/F1 3 0 R', '/F1 3 0 R /F2 100 0 R');
      const { passages, warnings } = await readFrom(new Uint8Array(Buffer.from(text, 'latin1')));
      expect(passages.map(({ text: words }) => words).join()).to.match(/Before$/);
      expect(warnings).to.deep.equal([{ code: 'letters_unmapped', count: 1, pages: [1] }]);
    });

    it('causes a warning for a page whose content is encrypted or broken', async () => {
      const pages = [{ content: prose(700) }, { content: 'BT (closed) Tj ) ) x' }];
      expect((await read(pages)).warnings).to.deep.equal([{ code: 'part_skipped', count: 1, pages: [2] }]);
      const crypt = '/Filter /Crypt /DecodeParms << /Type /CryptFilterDecodeParms /Name /Club >>';
      const text = Buffer.from(handPdf(pages)).toString('latin1').replace('/Length 20', `/Length 20 ${crypt}`);
      const { warnings } = await readFrom(new Uint8Array(Buffer.from(text, 'latin1')));
      expect(warnings).to.deep.equal([{ code: 'part_encrypted', count: 1, pages: [2] }]);
    });

    it('causes a warning for files inside the file', async () => {
      const catalog = '/Names << /EmbeddedFiles << /Names [(a.txt) 100 0 R] >> >>';
      const objects = [
        '<< /Type /Filespec /F (a.txt) /EF << /F 101 0 R >> >>',
        streamOf('hello', '/Type /EmbeddedFile'),
      ];
      const { warnings } = await read([{ content: prose(700) }], { objects, catalog });
      expect(warnings).to.deep.equal([{ code: 'part_skipped', count: 1, pages: [] }]);
    });
  });

  it('contains text annotations and the values of a form beside their labels, but no comments', async () => {
    const widget = (entries: string, rect: string) => `<< /Type /Annot /Subtype /Widget /P 10 0 R /Rect [${rect}] /F 4 ${entries} >>`; // prettier-ignore
    const objects = [
      widget('/FT /Tx /T (name) /V (Ana Prado) /DA (/Helv 12 Tf)', '110 695 300 715'),
      widget('/FT /Ch /T (level) /Ff 131072 /Opt [[(b) (Beginner)] [(a) (Advanced)]] /V (b) /DA (/Helv 12 Tf)', '110 655 300 675'), // prettier-ignore
      widget('/FT /Btn /T (swims) /V /Yes /AS /Yes /AP << /N << /Yes 105 0 R /Off 105 0 R >> >>', '50 615 64 629'),
      '<< /Type /Annot /Subtype /FreeText /P 10 0 R /Rect [50 500 300 520] /Contents (Paid in full) /DA (/Helv 12 Tf 0 g) /F 4 >>', // prettier-ignore
      '<< /Type /Annot /Subtype /Text /P 10 0 R /Rect [400 500 420 520] /Contents (A comment) /F 4 >>',
      streamOf('', '/Type /XObject /Subtype /Form /BBox [0 0 14 14]'),
    ];
    const content = written(['Name:', 50, 700], ['Level:', 50, 660], ['I can swim', 70, 618]);
    const entries = '/Annots [100 0 R 101 0 R 102 0 R 103 0 R 104 0 R]';
    const catalog = '/AcroForm << /Fields [100 0 R 101 0 R 102 0 R] /DA (/Helv 0 Tf 0 g) >>';
    expect(await linesOf([{ content, entries }], { objects, catalog })).to.deep.equal([
      'Name: Ana Prado',
      'Level: Beginner',
      '☒ I can swim',
      'Paid in full',
    ]);
  });

  describe('structure', () => {
    const tagged = { catalog: '/MarkInfo << /Marked true >> /StructTreeRoot 100 0 R' };
    const mark = (tag: string, id: number, content: string) => `/${tag} << /MCID ${id} >> BDC ${content} EMC`;
    const element = (role: string, parent: number, kids: string, entries = '') =>
      `<< /Type /StructElem /S /${role} /P ${parent} 0 R /Pg 10 0 R /K [${kids}] ${entries} >>`;
    const parents = (numbers: number[]) => `<< /Nums [0 [${numbers.map((number) => `${number} 0 R`).join(' ')}]] >>`;

    it('provides headings, order and alternative texts, and omits page headers', async () => {
      const content = [
        `/Artifact BMC ${written(['The running head', 50, 780])} EMC`,
        mark('P', 1, written(['It holds.', 50, 600])),
        mark('H1', 0, written(['The loop', 50, 700])),
        mark('Figure', 2, 'q 200 0 0 100 50 300 cm /I Do Q'),
      ].join('\n');
      const objects = [
        '<< /Type /StructTreeRoot /K [101 0 R] /ParentTree 105 0 R >>',
        element('Document', 100, '102 0 R 103 0 R 104 0 R'),
        element('H1', 101, '0'),
        element('Figure', 101, '2', '/Alt (A bowline around a post)'),
        element('P', 101, '1'),
        parents([102, 104, 103]),
        '<< /Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8 /Length 1 >>\nstream\n0\nendstream',
      ];
      const page = { content, entries: '/StructParents 0', resources: '/XObject << /I 106 0 R >>' };
      const { lines, headings, warnings } = await read([page], { objects, ...tagged });
      expect(headings).to.deep.equal(['The loop']);
      expect(lines).to.deep.equal(['[Picture: A bowline around a post]', 'It holds.']);
      expect(warnings).to.deep.equal([]);
    });

    it('provides tables with cells over several rows and columns', async () => {
      const words: [string, number, number][] = [['Day', 50, 700], ['Time', 150, 700], ['Monday', 50, 680], ['Swim', 150, 680], ['Sail', 250, 680], ['Rest', 150, 660]]; // prettier-ignore
      const content = words.map((word, at) => mark('TD', at, written(word))).join('\n');
      const objects = [
        '<< /Type /StructTreeRoot /K [101 0 R] /ParentTree 111 0 R >>',
        element('Table', 100, '102 0 R 103 0 R 104 0 R'),
        element('TR', 101, '105 0 R 106 0 R'),
        element('TR', 101, '107 0 R 108 0 R 109 0 R'),
        element('TR', 101, '110 0 R 112 0 R'),
        element('TH', 102, '0'),
        element('TH', 102, '1', '/A << /O /Table /ColSpan 2 >>'),
        element('TD', 103, '2', '/A << /O /Table /RowSpan 2 >>'),
        element('TD', 103, '3'),
        element('TD', 103, '4'),
        element('TD', 104, ''),
        parents([105, 106, 107, 108, 109, 112]),
        element('TD', 104, '5'),
      ];
      expect(await linesOf([{ content, entries: '/StructParents 0' }], { objects, ...tagged })).to.deep.equal([
        'Day | Time | Time',
        'Monday | Swim | Sail',
        'Monday | | Rest',
      ]);
    });

    it('is ignored if it lacks some words of the page', async () => {
      const content = `${mark('P', 0, written(['Told.', 50, 700]))}\n${prose(600)}`;
      const objects = [
        '<< /Type /StructTreeRoot /K [101 0 R] /ParentTree 102 0 R >>',
        element('P', 100, '0'),
        parents([101]),
      ];
      expect(await linesOf([{ content, entries: '/StructParents 0' }], { objects, ...tagged })).to.deep.equal([
        'Told.',
        'The first line of some prose that stands on a page and goes on in the second line until it ends.',
      ]);
    });

    it('provides the characters of letters that have no code', async () => {
      const content = `/Span << /ActualText <FEFF06450650> >> BDC ${written(['x', 50, 700])} EMC`;
      expect(await linesOf(content)).to.deep.equal(['\u0645\u0650']);
    });
  });
});
