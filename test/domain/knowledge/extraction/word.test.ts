import { expect } from 'chai';
import fc from 'fast-check';
import { bareDocx, documentXml } from '../../../toolkit/builders/archives.ts';
import { contentTypesXml, packageOf, partXml, relationsXml, wordOf } from '../../../toolkit/builders/office-xml.ts';
import { readHere, refusalOf, shortly } from '../../../toolkit/drive/extracting.ts';

type Parts = Parameters<typeof wordOf>[1];

const run = (text: string, properties = '') =>
  `<w:r><w:rPr>${properties}</w:rPr><w:t xml:space="preserve">${text}</w:t></w:r>`;
const p = (contents: string, properties = '') => `<w:p><w:pPr>${properties}</w:pPr>${contents}</w:p>`;
const para = (text: string, properties = '') => p(run(text), properties);
const style = (id: string, name: string, contents = '', type = 'paragraph') =>
  `<w:style w:type="${type}" w:styleId="${id}"><w:name w:val="${name}"/>${contents}</w:style>`;
const field = (instruction: string, result: string) =>
  `<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>${instruction}</w:instrText></w:r>` +
  `<w:r><w:fldChar w:fldCharType="separate"/></w:r>${result}<w:r><w:fldChar w:fldCharType="end"/></w:r>`;

const read = async (body: string, parts?: Parts) => readHere(wordOf(body, parts));
const blocksOf = async (body: string, parts?: Parts) =>
  shortly(await read(body, parts)).flatMap(({ blocks }) => blocks);
const textOf = async (contents: string, parts?: Parts) => (await blocksOf(p(contents), parts)).join(' ');
const warningsOf = async (body: string, parts?: Parts) => {
  const { warnings } = await read(para('words') + body, parts);
  return warnings.map(({ code, count }) => `${code} ${count}`);
};

describe('reading a Word file', function () {
  this.timeout(60_000);

  describe('parts of the file', () => {
    const document = partXml('w:document', `<w:body>${para('Tides')}</w:body>`);
    const type = 'wordprocessingml.document.main+xml';
    const files: Record<string, Record<string, string>> = {
      'a main part that a relationship names': {
        '_rels/.rels': relationsXml({ r: ['officeDocument', 'word/document2.xml'] }),
        'word/document2.xml': document,
      },
      'an absolute target': {
        '_rels/.rels': relationsXml({ r: ['officeDocument', '/word/document2.xml'] }),
        'word/document2.xml': document,
      },
      'a target in a different case than the name of the part': {
        '_rels/.rels': relationsXml({ r: ['officeDocument', 'Word/Document.XML'] }),
        'word/document.xml': document,
      },
      'a target with an escaped blank': {
        '_rels/.rels': relationsXml({ r: ['officeDocument', 'word/my%20document.xml'] }),
        'word/my document.xml': document,
      },
      'a main part whose name stands only in the list of content types': {
        '[Content_Types].xml': contentTypesXml({ 'a/b.xml': type }),
        'a/b.xml': document,
      },
      'a main part with the usual name that no other part mentions': { 'word/document.xml': document },
      'the strict relation': {
        '_rels/.rels': `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r" Type="http://purl.oclc.org/ooxml/officeDocument/relationships/officeDocument" Target="word/document2.xml"/></Relationships>`,
        'word/document2.xml': document,
      },
    };
    for (const [what, parts] of Object.entries(files))
      it(`reads ${what}`, async () => {
        expect(shortly(await readHere(packageOf(parts)))).to.deep.equal([{ headings: [], blocks: ['Tides'] }]);
      });

    it('are read even if they use strict namespaces and unusual prefixes', async () => {
      const strict = documentXml(['Tides']).replace(/http:[^"]*/, 'http://purl.oclc.org/ooxml/wordprocessingml/main');
      expect(shortly(await readHere(bareDocx(strict)))[0]?.blocks).to.deep.equal(['Tides']);
      const prefixed = documentXml(['Tides']).replaceAll('w:', 'x1:').replace('xmlns:w=', 'xmlns:x1=');
      expect(shortly(await readHere(bareDocx(prefixed)))[0]?.blocks).to.deep.equal(['Tides']);
      const unprefixed = documentXml(['Tides'])
        .replace('xmlns:w', 'xmlns')
        .replace(/(<\/?)w:/g, '$1');
      expect(shortly(await readHere(bareDocx(unprefixed)))[0]?.blocks).to.deep.equal(['Tides']);
    });

    it('are read if another part is broken, with a warning', async () => {
      for (const name of ['styles', 'numbering', 'footnotes', 'endnotes', 'settings']) {
        const { passages, warnings } = await readHere(
          bareDocx(documentXml(['Tides']), [{ name: `word/${name}.xml`, content: '<w:a><w:b></w:a>' }]),
        );
        expect(
          passages.map(({ text }) => text),
          name,
        ).to.deep.equal(['Tides']);
        expect(warnings, name).to.deep.equal([{ code: 'part_skipped', count: 1, pages: [] }]);
      }
    });

    it('are refused as file_corrupt if the main part is cut', async () => {
      const whole = documentXml(['Tides', 'Knots']);
      for (const end of [20, 40, 100]) expect(await refusalOf(bareDocx(whole.slice(0, -end)))).to.equal('file_corrupt');
      expect(await refusalOf(bareDocx(documentXml(['a</w:r>'])))).to.equal('file_corrupt');
    });

    it('are refused as file_corrupt if the elements are nested too deep', async () => {
      const nested = '<w:sdt><w:sdtContent>'.repeat(20_000) + para('a') + '</w:sdtContent></w:sdt>'.repeat(20_000);
      expect(await refusalOf(wordOf(nested))).to.equal('file_corrupt');
      const many = '<w:sdt><w:sdtContent>'.repeat(900) + para('a') + '</w:sdtContent></w:sdt>'.repeat(900);
      expect(await blocksOf(many)).to.deep.equal(['a']);
    });
  });

  describe('headings', () => {
    it('are recognized by outline level, base style or translated style name', async () => {
      const styles = [
        style('Titel', 'Title'),
        style('berschrift1', 'heading 1', '<w:pPr><w:outlineLvl w:val="0"/></w:pPr>'),
        style('U2', 'Überschrift 2'),
        style('Own', 'Our chapters', '<w:basedOn w:val="U2"/>'),
        style('Loop', 'a', '<w:basedOn w:val="Loop2"/>'),
        style('Loop2', 'b', '<w:basedOn w:val="Loop"/>'),
        style('TOCHeading', 'TOC Heading', '<w:basedOn w:val="berschrift1"/><w:pPr><w:outlineLvl w:val="9"/></w:pPr>'),
      ].join('');
      const of = (id: string) => `<w:pStyle w:val="${id}"/>`;
      const body = [
        para('Sea', of('berschrift1')),
        para('Knots', of('Own')),
        para('one'),
        para('Loops', '<w:outlineLvl w:val="2"/>'),
        para('two', of('Loop')),
        para('Contents', of('TOCHeading')),
        para('A book', of('Titel')),
        para('three', of('Missing')),
      ].join('');
      expect(shortly(await read(body, { styles }))).to.deep.equal([
        { headings: ['Sea', 'Knots'], blocks: ['one'] },
        { headings: ['Sea', 'Knots', 'Loops'], blocks: ['two', 'Contents'] },
        { headings: ['A book'], blocks: ['three'] },
      ]);
    });
  });

  describe('tables', () => {
    const cell = (text: string, properties = '') => `<w:tc><w:tcPr>${properties}</w:tcPr>${para(text)}</w:tc>`;
    const row = (cells: string, properties = '') => `<w:tr><w:trPr>${properties}</w:trPr>${cells}</w:tr>`;
    const table = (rows: string, properties = '') => `<w:tbl><w:tblPr>${properties}</w:tblPr>${rows}</w:tbl>`;
    const restart = '<w:vMerge w:val="restart"/>';
    const goesOn = '<w:vMerge/>';

    it('keep the column of each cell, even in rows with empty, missing or merged cells', async () => {
      const rows = [
        row(cell('Day') + cell('Morning') + cell('Noon') + cell('Evening')),
        row(cell('Monday', restart) + cell('') + cell('Sail', '<w:gridSpan w:val="2"/>')),
        row(cell('', goesOn) + cell('Row') + cell('') + cell('Rest')),
        row(cell('Swim') + cell('Eat'), '<w:gridBefore w:val="2"/>'),
        row(cell('Friday') + cell('Bend', '<w:hMerge w:val="restart"/>') + cell('', '<w:hMerge/>') + cell('Splice')),
      ];
      expect(await blocksOf(table(rows.join('')))).to.deep.equal([
        'Day | Morning | Noon | Evening',
        'Monday | | Sail | Sail',
        'Monday | Row | | Rest',
        '| | Swim | Eat',
        'Friday | Bend | Bend | Splice',
      ]);
    });

    it('repeat their header in every passage if the row or the table style marks it', async () => {
      const rows = Array.from({ length: 60 }, (_, at) => row(cell(`Knot ${at}`) + cell(`${at} minutes`))).join('');
      const header = cell('Knot') + cell('1');
      const marked = table(row(header, '<w:tblHeader/>') + rows);
      const styled = table(row(header) + rows, '<w:tblStyle w:val="T"/><w:tblLook w:val="04A0"/>');
      const styles = style('T', 'Grid', '<w:tblStylePr w:type="firstRow"/>', 'table');
      for (const file of [wordOf(marked), wordOf(styled, { styles })]) {
        const { passages } = await readHere(file);
        expect(passages.length).to.be.above(2);
        for (const { text } of passages) expect(text.split('\n')[0]).to.equal('Knot | 1');
      }
      const plain = await readHere(wordOf(styled));
      expect(plain.passages[1]?.text.split('\n')[0]).to.match(/^Knot \d+ \|/);
    });

    it('omit deleted rows and cells, and hidden rows with a warning', async () => {
      const rows =
        row(cell('a') + cell('b')) +
        row(cell('gone') + cell('gone'), '<w:del w:id="1"/>') +
        row(cell('unseen') + cell('unseen'), '<w:hidden/>') +
        row(cell('gone', '<w:cellDel w:id="2"/>') + cell('1') + cell('2'));
      const { passages, warnings } = await read(table(rows));
      expect(passages[0]?.text).to.equal('a | b\n1 | 2');
      expect(warnings).to.deep.equal([{ code: 'hidden_left_out', count: 1, pages: [] }]);
    });

    it('are read as text if a cell contains them', async () => {
      const inner = table(row(cell('Port') + cell('Red')) + row(cell('Starboard') + cell('Green')));
      const outer =
        row(cell('Sign') + cell('Meaning')) + row(cell('Lights') + `<w:tc>${para('Sides:')}${inner}</w:tc>`);
      expect(await blocksOf(table(outer))).to.deep.equal([
        'Sign | Meaning',
        'Lights | Sides: Port, Red; Starboard, Green',
      ]);
      const framed = table(row(`<w:tc>${para('Knots', '<w:outlineLvl w:val="0"/>')}${para('They hold.')}</w:tc>`));
      expect(shortly(await read(framed))).to.deep.equal([{ headings: ['Knots'], blocks: ['They hold.'] }]);
    });

    it('keep each word in its row and column, for tables of any shape', async () => {
      const shapes = fc.array(fc.array(fc.stringMatching(/^[a-z]{0,5}$/), { minLength: 3, maxLength: 3 }), {
        minLength: 1,
        maxLength: 12,
      });
      await fc.assert(
        fc.asyncProperty(shapes, async (values) => {
          const header = row(['Aa', 'Bb', 'Cc'].map((text) => cell(text)).join(''), '<w:tblHeader/>');
          const rows = values.map((one) => row(one.map((text) => cell(text)).join('')));
          const found = (await read(table(header + rows.join('')))).passages.flatMap(({ text }) =>
            text
              .split('\n')
              .slice(1)
              .map((line) => ` ${line} `.split('|').map((one) => one.trim())),
          );
          expect(found).to.deep.equal(values.filter((one) => one.some((text) => text !== '')));
        }),
        { numRuns: 15 },
      );
    });
  });

  describe('letters', () => {
    const up = '<w:vertAlign w:val="superscript"/>';
    const down = '<w:vertAlign w:val="subscript"/>';

    it('are separated from their neighbours if they are raised or lowered', async () => {
      expect(await textOf(run('10') + run('1', up) + run('2', up) + run(' m'))).to.equal('10¹² m');
      expect(await textOf(run('H') + run('2', down) + run('O'))).to.equal('H₂O');
      expect(await textOf(run('10') + run('3', '<w:position w:val="8"/>'))).to.equal('10³');
      expect(await textOf(run('v') + run('0', '<w:position w:val="-6"/>'))).to.equal('v₀');
      expect(await textOf(run('10') + run('3', '<w:position w:val="1"/>'))).to.equal('103');
      expect(await textOf(run('H') + run('2', '<w:position w:val="-2"/><w:sz w:val="19"/>'))).to.equal('H₂');
      const styles =
        style('Up', 'up', `<w:rPr>${up}</w:rPr>`, 'character') +
        style('Power', 'power', '<w:basedOn w:val="Up"/>', 'character');
      expect(await textOf(run('10') + run('3', '<w:rStyle w:val="Power"/>'), { styles })).to.equal('10³');
      const off = '<w:rStyle w:val="Up"/><w:vertAlign w:val="baseline"/>';
      expect(await textOf(run('10') + run('3', off), { styles })).to.equal('103');
    });

    it('are read from each element of a run', async () => {
      const contents =
        '<w:r><w:t>one</w:t><w:tab/><w:t>two</w:t><w:br/><w:t>three</w:t><w:cr/><w:t>four</w:t><w:ptab/><w:t>five</w:t></w:r>' +
        '<w:r><w:t xml:space="preserve"> co</w:t><w:noBreakHyphen/><w:t>op cat</w:t><w:softHyphen/><w:t>amaran</w:t></w:r>';
      expect(await textOf(contents)).to.equal('one two three four five co-op catamaran');
    });

    it('become the visible signs if their font is a symbol font', async () => {
      const sym = (font: string, code: string) => `<w:r><w:sym w:font="${font}" w:char="${code}"/></w:r>`;
      expect(await textOf(run('Turn ') + sym('Symbol', 'F062'))).to.equal('Turn β');
      expect(await textOf(run('a \uF0B3 b'))).to.equal('a ≥ b');
      expect(await textOf(run('a', '<w:rFonts w:ascii="Symbol"/>') + run(' is an angle'))).to.equal('α is an angle');
      expect(await textOf(run('ok ') + sym('Wingdings', 'F0FC'))).to.equal('ok ✓');
      const { passages, warnings } = await read(p(run('x') + sym('Wingdings', 'F01F')));
      expect(passages[0]?.text).to.equal('x');
      expect(warnings).to.deep.equal([{ code: 'letters_unmapped', count: 1, pages: [] }]);
    });

    it('are followed by their furigana in brackets', async () => {
      const ruby = (base: string, reading: string) =>
        `<w:r><w:ruby><w:rubyPr/><w:rt><w:r><w:t>${reading}</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>${base}</w:t></w:r></w:rubyBase></w:ruby></w:r>`;
      expect(await textOf(run('毎朝、') + ruby('港', 'みなと') + run('で'))).to.equal('毎朝、港(みなと)で');
      expect(await textOf(ruby('漢', 'かん') + ruby('字', 'じ'))).to.equal('漢字(かんじ)');
    });

    it('are read inside grouping elements', async () => {
      for (const tag of ['w:bdo', 'w:dir', 'w:smartTag', 'w:customXml', 'w:hyperlink', 'w:ins', 'w:moveTo'])
        expect(await textOf(`${run('a ')}<${tag}>${run('b')}</${tag}>${run(' c')}`), tag).to.equal('a b c');
      expect(await textOf(`<w:fldSimple w:instr="DATE">${run('3 May')}</w:fldSimple>`)).to.equal('3 May');
      expect(await textOf(`<w:sdt><w:sdtPr/><w:sdtContent>${run('Ana')}</w:sdtContent></w:sdt>`)).to.equal('Ana');
    });

    it('are joined with the rest of the word if they are an enlarged initial', async () => {
      const body = para('O', '<w:framePr w:dropCap="drop" w:lines="3"/>') + para('nce upon a time');
      expect(await blocksOf(body)).to.deep.equal(['Once upon a time']);
    });
  });

  describe('fields and controls', () => {
    it('keep their visible text even if they are nested or have no end mark', async () => {
      expect(await textOf(run('On ') + field('DATE', run('3 May')))).to.equal('On 3 May');
      const nested = `<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>IF </w:instrText></w:r>${field('PAGE', run('7'))}<w:r><w:fldChar w:fldCharType="separate"/></w:r>${run('yes')}<w:r><w:fldChar w:fldCharType="end"/></w:r>`;
      expect(await textOf(nested)).to.equal('yes');
      const begin = '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>TOC</w:instrText></w:r>';
      const separate = '<w:r><w:fldChar w:fldCharType="separate"/></w:r>';
      const long =
        p(begin + separate + run('Knots 3')) +
        para('Bends 4') +
        p('<w:r><w:fldChar w:fldCharType="end"/></w:r>' + run('Then'));
      expect(await blocksOf(long)).to.deep.equal(['Knots 3', 'Bends 4', 'Then']);
      expect(await blocksOf(p(run('a') + begin) + para('b'))).to.deep.equal(['a', 'b']);
    });

    it('show check boxes and choices, but no placeholders', async () => {
      const box = (data: string) =>
        `<w:r><w:fldChar w:fldCharType="begin"><w:ffData>${data}</w:ffData></w:fldChar></w:r><w:r><w:instrText>FORM</w:instrText></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r>`;
      expect(await textOf(box('<w:checkBox><w:default w:val="0"/><w:checked/></w:checkBox>') + run(' swims'))).to.equal(
        '☒ swims',
      );
      expect(await textOf(box('<w:checkBox><w:default w:val="0"/></w:checkBox>') + run(' sails'))).to.equal('☐ sails');
      const list = '<w:ddList><w:result w:val="1"/><w:listEntry w:val="red"/><w:listEntry w:val="green"/></w:ddList>';
      expect(await textOf(run('is ') + box(list))).to.equal('is green');
      const control = (properties: string, contents: string) =>
        `<w:sdt><w:sdtPr>${properties}</w:sdtPr><w:sdtContent>${contents}</w:sdtContent></w:sdt>`;
      expect(
        await textOf(control('<w14:checkbox><w14:checked w14:val="1"/></w14:checkbox>', run('☒')) + run(' rows')),
      ).to.equal('☒ rows');
      expect(await textOf(run('Name: ') + control('<w:showingPlcHdr/>', run('Click here')))).to.equal('Name:');
      expect(await blocksOf(para('a') + control('<w:showingPlcHdr/>', para('Click here')))).to.deep.equal(['a']);
    });
  });

  describe('changes, comments and hidden words', () => {
    it('are read with all changes accepted, and without the comments', async () => {
      const contents =
        run('opens at ') +
        `<w:del><w:r><w:delText>nine</w:delText></w:r></w:del><w:ins>${run('ten')}</w:ins>` +
        `<w:moveFrom>${run('moved away')}</w:moveFrom><w:moveTo>${run(' sharp')}</w:moveTo>` +
        '<w:commentRangeStart w:id="0"/><w:r><w:commentReference w:id="0"/></w:r>';
      expect(await textOf(contents)).to.equal('opens at ten sharp');
      const joined = p(run('The pool '), '<w:rPr><w:del w:id="1"/></w:rPr>') + para('is heated.');
      expect(await blocksOf(joined)).to.deep.equal(['The pool is heated.']);
      expect(await blocksOf(`${para('a')}<w:del>${para('b')}</w:del><w:moveTo>${para('c')}</w:moveTo>`)).to.deep.equal([
        'a',
        'c',
      ]);
    });

    it('omit words that their own format or a style hides, with a warning', async () => {
      const styles =
        style('H', 'hidden', '<w:rPr><w:vanish/></w:rPr>', 'character') +
        style('HP', 'secret', '<w:rPr><w:vanish/></w:rPr>');
      const body =
        p(run('a ') + run('b', '<w:vanish/>') + run('c', '<w:vanish w:val="0"/>')) +
        p(run('d ') + run('e', '<w:rStyle w:val="H"/>')) +
        para('f', '<w:pStyle w:val="HP"/>') +
        p(run('g', '<w:vanish w:val="false"/>'), '<w:pStyle w:val="HP"/>');
      const { passages, warnings } = await read(body, { styles });
      expect(passages[0]?.text).to.equal('a c\n\nd\n\ng');
      expect(warnings).to.deep.equal([{ code: 'hidden_left_out', count: 3, pages: [] }]);
    });
  });

  describe('notes', () => {
    const note = (kind: string, id: number, text: string) =>
      `<w:${kind} w:id="${id}"><w:p><w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:${kind}Ref/></w:r>${run(` ${text}`)}</w:p></w:${kind}>`;
    const refer = (kind: string, id: number, inside = '') =>
      `<w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:${kind}Reference w:id="${id}"${inside === '' ? '' : ' w:customMarkFollows="1"'}/>${inside}</w:r>`;
    const parts = {
      footnotes:
        '<w:footnote w:type="separator" w:id="-1"><w:p><w:r><w:separator/></w:r></w:p></w:footnote>' +
        note('footnote', 1, 'Measured in 2024.') +
        note('footnote', 2, 'Without guests.') +
        `<w:footnote w:id="3">${para('* By hand.')}</w:footnote>`,
      endnotes: note('endnote', 1, 'By the club.'),
    };

    it('are read once, after their paragraph or at the end', async () => {
      const body =
        p(run('It holds 300') + refer('footnote', 1) + run(' litres') + refer('endnote', 1) + run('.')) +
        para('Next.') +
        p(run('For 40') + refer('footnote', 2) + run(' and 50') + refer('footnote', 3, '<w:t>*</w:t>'));
      expect(await blocksOf(body, parts)).to.deep.equal([
        'It holds 300 [1] litres [i].',
        '[1] Measured in 2024.',
        'Next.',
        'For 40 [2] and 50 [*]',
        '[2] Without guests.',
        '* By hand.',
        '[i] By the club.',
      ]);
    });

    it('have marks in the format that the document sets', async () => {
      const settings = '<w:footnotePr><w:numFmt w:val="lowerLetter"/><w:numStart w:val="3"/></w:footnotePr>';
      expect(await blocksOf(p(run('a') + refer('footnote', 1)), { ...parts, settings })).to.deep.equal([
        'a [c]',
        '[c] Measured in 2024.',
      ]);
    });

    it('are read after the table if a cell of the table refers to them', async () => {
      const body = `<w:tbl><w:tr><w:tc>${para('a')}</w:tc><w:tc>${p(run('45') + refer('footnote', 1))}</w:tc></w:tr></w:tbl>`;
      expect(await blocksOf(body, parts)).to.deep.equal(['a | 45 [1]', '[1] Measured in 2024.']);
    });
  });

  describe('pictures, boxes and embedded parts', () => {
    const picture = (docPr: string) =>
      `<w:r><w:drawing><wp:inline><wp:docPr id="1" name="x" ${docPr}</wp:docPr><a:graphic><a:graphicData><pic:pic><pic:nvPicPr><pic:cNvPr id="0" name="y"/></pic:nvPicPr><pic:blipFill/></pic:pic></a:graphicData></a:graphic></wp:inline></w:drawing></w:r>`;
    const decorative = '<a:extLst><a:ext uri="{C}"><adec:decorative val="1"/></a:ext></a:extLst>';
    const box = (contents: string) =>
      `<wps:wsp><wps:txbx><w:txbxContent>${contents}</w:txbxContent></wps:txbx></wps:wsp>`;
    const drawing = (inside: string, docPr = '') =>
      `<w:drawing><wp:anchor><wp:docPr id="1" name="x" ${docPr}/><a:graphic><a:graphicData>${inside}</a:graphicData></a:graphic></wp:anchor></w:drawing>`;
    const old = (contents: string) =>
      `<w:pict><v:shape><v:textbox><w:txbxContent>${contents}</w:txbxContent></v:textbox></v:shape></w:pict>`;

    it('are replaced by their alternative texts', async () => {
      expect(await textOf(run('See') + picture('descr="A reef&#xA;knot">') + run('here.'))).to.equal(
        'See [Picture: A reef knot] here.',
      );
      expect(await textOf(picture('title="A bend">'))).to.equal('[Picture: A bend]');
      expect(await warningsOf(p(picture('>')))).to.deep.equal(['picture_without_text 1']);
      expect(await warningsOf(p(picture(`>${decorative}`)))).to.deep.equal([]);
      const vml = (alt: string) =>
        `<w:r><w:pict><v:shape ${alt}><v:imagedata r:id="x" o:title="IMG_1"/></v:shape></w:pict></w:r>`;
      expect(await textOf(vml('alt="A hitch"'))).to.equal('[Picture: A hitch]');
      expect(await warningsOf(p(vml('')))).to.deep.equal(['picture_without_text 1']);
    });

    it('include each text box once, after its paragraph', async () => {
      const shapes: Record<string, string> = {
        'with fallback': `<mc:AlternateContent><mc:Choice Requires="wps">${drawing(box(para('Never.')))}</mc:Choice><mc:Fallback>${old(para('Never.'))}</mc:Fallback></mc:AlternateContent>`,
        'without fallback': `<mc:AlternateContent><mc:Choice Requires="wps">${drawing(box(para('Never.')))}</mc:Choice></mc:AlternateContent>`,
        'in a namespace that is unknown': `<mc:AlternateContent><mc:Choice Requires="am3d"><am3d:model3d/></mc:Choice><mc:Fallback>${old(para('Never.'))}</mc:Fallback></mc:AlternateContent>`,
        plain: drawing(box(para('Never.'))),
        old: old(para('Never.')),
        'in a group': drawing(
          `<wpg:wgp xmlns:wpg="http://schemas.microsoft.com/office/word/2010/wordprocessingGroup">${box(para('Never.'))}</wpg:wgp>`,
        ),
      };
      for (const [name, shape] of Object.entries(shapes))
        expect(
          await blocksOf(p(run('It holds') + `<w:r>${shape}</w:r>` + run(' well.')) + para('Then.')),
          name,
        ).to.deep.equal(['It holds well.', 'Never.', 'Then.']);
    });

    it('omit hidden drawings, and include the letters of WordArt', async () => {
      const hidden = p(`<w:r>${drawing(box(para('Never.')), 'hidden="1"')}</w:r>`);
      expect(await warningsOf(hidden)).to.deep.equal(['hidden_left_out 1']);
      expect(await textOf('<w:r><w:pict><v:shape><v:textpath string="REGATTA"/></v:shape></w:pict></w:r>')).to.equal(
        'REGATTA',
      );
    });

    it('cause a warning if embedded documents are skipped', async () => {
      expect(
        await warningsOf(
          p('<w:r><w:object><v:shape><v:imagedata/></v:shape><o:OLEObject ProgID="Excel.Sheet.12"/></w:object></w:r>'),
        ),
      ).to.deep.equal(['part_skipped 1']);
      expect(await warningsOf('<w:altChunk r:id="x"/>')).to.deep.equal(['part_skipped 1']);
    });
  });

  it('reads every word of a generated document once and in order', async () => {
    const word = fc.stringMatching(/^[a-z]{4,8}$/);
    const words = fc.array(word, { minLength: 1, maxLength: 4 }).map((all) => all.join(' '));
    const wrapped = fc.tuple(words, fc.constantFrom('', 'w:ins', 'w:hyperlink', 'w:smartTag')).map(([text, tag]) => {
      const inside = text.split(' ').map((one) => run(`${one} `)).join(''); // prettier-ignore
      return { text, xml: p(tag === '' ? inside : `<${tag}>${inside}</${tag}>`) };
    });
    const tables = fc.tuple(words, words, words, words).map((cells) => ({
      text: cells.join(' '),
      xml: `<w:tbl>${[0, 2].map((at) => `<w:tr>${cells.slice(at, at + 2).map((text) => `<w:tc>${para(text)}</w:tc>`).join('')}</w:tr>`).join('')}</w:tbl>`, // prettier-ignore
    }));
    const headings = words.map((text) => ({ text, xml: para(text, '<w:outlineLvl w:val="1"/>') }));
    const controls = words.map((text) => ({ text, xml: `<w:sdt><w:sdtContent>${para(text)}</w:sdtContent></w:sdt>` }));
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(wrapped, tables, headings, controls), { minLength: 1, maxLength: 8 }),
        async (all) => {
          const found = shortly(await read(all.map(({ xml }) => xml).join('')));
          let last = '';
          const texts = found.flatMap(({ headings: path, blocks }) => {
            const heading = path.at(-1) ?? '';
            const isNew = heading !== last;
            last = heading;
            return isNew && heading !== '' ? [heading, ...blocks] : blocks;
          });
          expect(texts.join(' ').replaceAll(' |', '')).to.equal(all.map(({ text }) => text).join(' '));
        },
      ),
      { numRuns: 20 },
    );
  });
});
