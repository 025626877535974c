import { expect } from 'chai';
import fc from 'fast-check';
import { partXml, relationsXml, slidesOf } from '../../../toolkit/builders/office-xml.ts';
import { readHere, refusalOf, shortly } from '../../../toolkit/drive/extracting.ts';

type Slide = Parameters<typeof slidesOf>[0][number];

const run = (text: string, properties = '', inside = '') =>
  `<a:r><a:rPr${properties}>${inside}</a:rPr><a:t>${text}</a:t></a:r>`;
const p = (contents: string, properties = '') => `<a:p>${properties}${contents}</a:p>`;
const named = (kind: string, attributes = '', place = '', further = '') =>
  `<p:nv${kind}Pr><p:cNvPr id="2" name="x"${attributes}>${further}</p:cNvPr><p:nvPr>${place}</p:nvPr></p:nv${kind}Pr>`;
const shape = (paragraphs: string, { attributes = '', place = '', list = '', fill = '' } = {}) =>
  `<p:sp>${named('Sp', attributes, place)}<p:spPr>${fill}</p:spPr><p:txBody><a:bodyPr/><a:lstStyle>${list}</a:lstStyle>${paragraphs}</p:txBody></p:sp>`;
const text = (words: string) => shape(p(run(words)));
const title = (words: string) => shape(p(run(words)), { place: '<p:ph type="title"/>' });
const picture = (attributes = '', further = '', media = '') =>
  `<p:pic>${named('Pic', attributes, media, further)}<p:blipFill/></p:pic>`;
const frame = (inside: string, attributes = '') =>
  `<p:graphicFrame>${named('GraphicFrame', attributes)}<a:graphic><a:graphicData>${inside}</a:graphicData></a:graphic></p:graphicFrame>`;

const read = (slides: readonly Slide[], further: Readonly<Record<string, string>> = {}) =>
  readHere(slidesOf(slides, further));
const blocksOf = async (shapes: string, slide: Omit<Slide, 'shapes'> = {}, further: Record<string, string> = {}) =>
  shortly(await read([{ shapes, ...slide }], further)).flatMap(({ blocks }) => blocks);
const warningsOf = async (shapes: string, slide: Omit<Slide, 'shapes'> = {}, further: Record<string, string> = {}) => {
  const { warnings } = await read([{ shapes: text('first') }, { shapes, ...slide }], further);
  return warnings.map(({ code, count, pages }) => `${code} ${count} on ${pages.join()}`);
};

describe('reading slides', () => {
  it('reads the title first, then shapes and groups in the order of the file', async () => {
    const shapes =
      text('one') +
      `<p:grpSp>${named('GrpSp')}${text('two')}<p:grpSp>${text('three')}</p:grpSp></p:grpSp>` +
      title('Tides') +
      text('four');
    expect(shortly(await read([{ shapes, notes: text('said') }]))).to.deep.equal([
      { page: 1, headings: ['Tides'], blocks: ['one', 'two', 'three', 'four', 'said'] },
    ]);
  });

  it('reads the shapes of a column from top to bottom, and shapes side by side in file order', async () => {
    const at = (words: string, x: number, y: number, cx = 10, cy = 10) =>
      text(words).replace(
        '<p:spPr>',
        `<p:spPr><a:xfrm><a:off x="${x}" y="${y}"/><a:ext cx="${cx}" cy="${cy}"/></a:xfrm>`,
      );
    const column =
      at('foot', 0, 80) +
      at('middle', 1, 40) +
      at('head', 0, 10, 100) +
      at('no place', 0, 0).replace(/<a:xfrm>.*<\/a:xfrm>/, '');
    expect(await blocksOf(column)).to.deep.equal(['head', 'middle', 'foot', 'no place']);
    const beside = at('right', 50, 10) + at('left', 0, 20) + at('left below', 0, 60) + at('right below', 50, 50);
    expect(await blocksOf(beside)).to.deep.equal(['right', 'left', 'left below', 'right below']);
    const over = at('one', 0, 10, 100, 100) + at('upon', 0, 5, 50, 50);
    expect(await blocksOf(over)).to.deep.equal(['one', 'upon']);
  });

  it('omits the number, date and footer of a slide', async () => {
    const furniture = ['sldNum', 'dt', 'ftr', 'hdr'].map((type) =>
      shape(p(run('7')), { place: `<p:ph type="${type}"/>` }),
    );
    const contents = run('Slide ') + '<a:fld type="slidenum"><a:rPr/><a:t>7</a:t></a:fld><a:br/>' + run('of 9');
    expect(await blocksOf(furniture.join('') + shape(p(contents)))).to.deep.equal(['Slide 7 of 9']);
  });

  it('reads raised and lowered letters', async () => {
    expect(
      await blocksOf(
        shape(p(run('10') + run('3', ' baseline="30000"') + run(' H') + run('2', ' baseline="-25000"') + run('O'))),
      ),
    ).to.deep.equal(['10³ H₂O']);
    expect(await blocksOf(shape(p(run('10') + run('3', ' baseline="30%"'))))).to.deep.equal(['10³']);
    const list = '<a:lvl1pPr><a:defRPr baseline="30000"/></a:lvl1pPr>';
    expect(await blocksOf(shape(p(run('10', ' baseline="0"') + run('3')), { list }))).to.deep.equal(['10³']);
  });

  it('reads the signs of symbol fonts', async () => {
    const arrow = run('à', '', '<a:sym typeface="Wingdings"/>');
    expect(await blocksOf(shape(p(run('ebb ') + arrow + run(' flood à'))))).to.deep.equal(['ebb 🡪 flood à']);
    expect(await blocksOf(shape(p(run('a', '', '<a:latin typeface="Symbol"/>'))))).to.deep.equal(['α']);
  });

  it('reads an equation only once, inside a text or as a shape', async () => {
    const equation =
      '<a14:m><m:oMathPara><m:oMath><m:sSup><m:e><m:r><m:t>x</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup></m:oMath></m:oMathPara></a14:m>';
    const either = (choice: string, fallback: string) =>
      `<mc:AlternateContent><mc:Choice Requires="a14">${choice}</mc:Choice><mc:Fallback>${fallback}</mc:Fallback></mc:AlternateContent>`;
    expect(await blocksOf(shape(p(run('so ') + either(equation, run('[picture]')))))).to.deep.equal(['so x²']);
    expect(await blocksOf(either(shape(p(equation)), shape(p(run(' ')))))).to.deep.equal(['x²']);
  });

  describe('lists', () => {
    const auto = (type: string, further = '', level = 0) =>
      `<a:pPr lvl="${level}"><a:buAutoNum type="${type}"${further}/></a:pPr>`;

    it('keep the numbers that are shown', async () => {
      const all = [
        p(run('a'), auto('arabicPeriod', ' startAt="3"')),
        p(run('b'), auto('arabicPeriod', ' startAt="3"')),
        p('', auto('arabicPeriod', ' startAt="3"')),
        p(run('c'), auto('alphaLcParenR', '', 1)),
        p(run('d'), auto('alphaLcParenR', '', 1)),
        p(run('e'), auto('arabicPeriod', ' startAt="3"')),
        p(run('f'), auto('alphaLcParenR', '', 1)),
        p(run('g'), '<a:pPr><a:buChar char="•"/></a:pPr>'),
        p(run('h'), auto('arabicPeriod', ' startAt="3"')),
        p(run('i'), auto('romanUcParenBoth')),
        p(run('j'), auto('circleNumDbPlain')),
        p(run('k'), auto('hindiNumPeriod')),
        p(run('l'), auto('hebrew2Minus')),
        p(run('m'), auto('ea1ChsPeriod')),
      ];
      expect(await blocksOf(shape(all.join('')))).to.deep.equal([
        '3. a', '4. b', 'a) c', 'b) d', '5. e', 'a) f', 'g', '3. h', '(I) i', '① j', '१. k', 'א- l', '一. m',
      ]); // prettier-ignore
    });

    it('take their numbers from their shape, the layout or the master', async () => {
      const list = (type: string) => `<a:lvl1pPr><a:buAutoNum type="${type}"/></a:lvl1pPr>`;
      const place = '<p:ph idx="1"/>';
      const tree = (inside: string) => `<p:cSld><p:spTree>${inside}</p:spTree></p:cSld>`;
      const further = (layout: string, master: string) => ({
        'ppt/layouts/l.xml': partXml('p:sldLayout', tree(layout)),
        'ppt/layouts/_rels/l.xml.rels': relationsXml({ m: ['slideMaster', '../masters/m.xml'] }),
        'ppt/masters/m.xml': partXml(
          'p:sldMaster',
          `${tree('')}<p:txStyles><p:bodyStyle>${master}</p:bodyStyle></p:txStyles>`,
        ),
      });
      const relations = { l: ['slideLayout', '../layouts/l.xml'] } as const;
      const words = p(run('a')) + p(run('b'));
      expect(await blocksOf(shape(words, { list: list('arabicPlain') }))).to.deep.equal(['1 a', '2 b']);
      const layout = further(shape('', { place, list: list('arabicParenR') }), list('alphaUcPeriod'));
      expect(await blocksOf(shape(words, { place }), { relations }, layout)).to.deep.equal(['1) a', '2) b']);
      expect(await blocksOf(shape(words, { place }), { relations }, further('', list('alphaUcPeriod')))).to.deep.equal([
        'A. a',
        'B. b',
      ]);
      expect(await blocksOf(shape(words), { relations }, layout)).to.deep.equal(['a', 'b']);
    });
  });

  describe('tables', () => {
    const cell = (words: string, attributes = '') => `<a:tc${attributes}><a:txBody>${p(run(words))}</a:txBody></a:tc>`;
    const table = (rows: string[], properties = '') =>
      frame(`<a:tbl><a:tblPr${properties}/>${rows.map((cells) => `<a:tr>${cells}</a:tr>`).join('')}</a:tbl>`);

    it('keep the column of each cell, even beside empty, wide and high cells', async () => {
      const rows = [
        cell('Day') + cell('Morning') + cell('Evening'),
        cell('Monday', ' rowSpan="2"') + cell('') + cell('Sail'),
        cell('', ' vMerge="1"') + cell('Row', ' gridSpan="2"') + cell('', ' hMerge="1"'),
        cell('') + cell('Swim') + cell(''),
      ];
      expect(await blocksOf(table(rows))).to.deep.equal([
        'Day | Morning | Evening',
        'Monday | | Sail',
        'Monday | Row | Row',
        '| Swim |',
      ]);
    });

    it('repeat their header row in every passage', async () => {
      const rows = [
        cell('Knot') + cell('1'),
        ...Array.from({ length: 60 }, (_, at) => cell(`Knot ${at}`) + cell(`${at} minutes`)),
      ];
      const { passages } = await read([{ shapes: table(rows, ' firstRow="1"') }]);
      expect(passages.length).to.be.above(2);
      for (const passage of passages) expect(passage.text.split('\n')[0]).to.equal('Knot | 1');
    });
  });

  describe('charts and diagrams', () => {
    const points = (values: string[]) =>
      values.map((value, at) => (value === '' ? '' : `<c:pt idx="${at}"><c:v>${value}</c:v></c:pt>`)).join('');
    const series = (name: string, categories: string[], values: string[], format = 'General', order = 0) =>
      `<c:ser><c:order val="${order}"/><c:tx><c:strRef><c:strCache>${points([name])}</c:strCache></c:strRef></c:tx><c:cat><c:strRef><c:strCache>${points(categories)}</c:strCache></c:strRef></c:cat><c:val><c:numRef><c:numCache><c:formatCode>${format}</c:formatCode>${points(values)}</c:numCache></c:numRef></c:val></c:ser>`;
    const chart = (plot: string, head = '') =>
      partXml('c:chartSpace', `<c:chart>${head}<c:plotArea>${plot}</c:plotArea></c:chart>`);
    const titled = (words: string) => `<c:title><c:tx><c:rich>${p(run(words))}</c:rich></c:tx></c:title>`;
    const chartFrame = frame('<c:chart r:id="c"/>');
    const relations = { c: ['chart', '../charts/chart1.xml'] } as const;
    const readChart = (xml: string) =>
      blocksOf(text('a') + chartFrame, { relations }, { 'ppt/charts/chart1.xml': xml });

    it('are read as tables of their stored values, under their titles', async () => {
      const plot =
        `<c:barChart>${series('Boats', ['Spring', 'Autumn'], ['4', '0.30000000000000004'], 'General', 1)}${series('Students', ['Spring', 'Autumn'], ['31', ''])}</c:barChart>` +
        `<c:catAx>${titled('Season')}</c:catAx><c:valAx>${titled('Number')}</c:valAx>`;
      expect(await readChart(chart(plot, titled('Growth')))).to.deep.equal([
        'a', 'Growth', 'Season', 'Number', '| Students | Boats', 'Spring | 31 | 4', 'Autumn | | 0.3',
      ]); // prettier-ignore
    });

    it('show percentages, dates and multi-level categories as PowerPoint shows them', async () => {
      expect(await readChart(chart(series('Share', ['a'], ['0.256'], '0.0%')))).to.deep.equal([
        'a',
        '| Share',
        'a | 25.6%',
      ]);
      const dates = `<c:ser><c:cat><c:numRef><c:numCache><c:formatCode>d\\.m\\.yyyy</c:formatCode>${points(['46508'])}</c:numCache></c:numRef></c:cat><c:val><c:numLit>${points(['5'])}</c:numLit></c:val></c:ser>`;
      expect(await readChart(chart(dates))).to.deep.equal(['a', '2027-05-01 | 5']);
      const levels = `<c:ser><c:cat><c:multiLvlStrRef><c:multiLvlStrCache><c:lvl>${points(['May', 'June', 'May'])}</c:lvl><c:lvl>${points(['2026', '', '2027'])}</c:lvl></c:multiLvlStrCache></c:multiLvlStrRef></c:cat><c:val><c:numLit>${points(['1', '2', '3'])}</c:numLit></c:val></c:ser>`;
      expect(await readChart(chart(levels))).to.deep.equal(['a', '2026 May | 1', '2026 June | 2', '2027 May | 3']);
    });

    it('show the x and the y value of each point', async () => {
      const point = (name: string, x: string[], y: string[]) =>
        `<c:ser><c:tx><c:v>${name}</c:v></c:tx><c:xVal><c:numLit>${points(x)}</c:numLit></c:xVal><c:yVal><c:numLit>${points(y)}</c:numLit></c:yVal></c:ser>`;
      expect(await readChart(chart(point('A', ['1', '2'], ['10', '20']) + point('B', ['3'], ['30'])))).to.deep.equal([
        'a',
        '| A',
        '1 | 10',
        '2 | 20',
        '| B',
        '3 | 30',
      ]);
    });

    it('are read in their newer format', async () => {
      const xml = partXml(
        'cx:chartSpace',
        `<cx:chartData><cx:data id="0"><cx:strDim type="cat"><cx:lvl><cx:pt idx="0">Bow</cx:pt><cx:pt idx="1">Stern</cx:pt></cx:lvl></cx:strDim><cx:numDim type="val"><cx:lvl formatCode="General"><cx:pt idx="0">3</cx:pt><cx:pt idx="1">5</cx:pt></cx:lvl></cx:numDim></cx:data></cx:chartData><cx:chart><cx:title><cx:tx><cx:rich>${p(run('Knots'))}</cx:rich></cx:tx></cx:title><cx:plotArea><cx:plotAreaRegion><cx:series><cx:tx><cx:txData><cx:v>Used</cx:v></cx:txData></cx:tx><cx:dataId val="0"/></cx:series></cx:plotAreaRegion></cx:plotArea></cx:chart>`,
      );
      const shapes = `<mc:AlternateContent><mc:Choice Requires="cx1">${frame('<cx:chart r:id="c"/>')}</mc:Choice><mc:Fallback>${text('This chart is not available.')}</mc:Fallback></mc:AlternateContent>`;
      expect(await blocksOf(shapes, { relations }, { 'ppt/charts/chart1.xml': xml })).to.deep.equal([
        'Knots',
        '| Used',
        'Bow | 3',
        'Stern | 5',
      ]);
    });

    it('cause a warning for their slide if the values of a chart are missing or broken', async () => {
      for (const [name, xml] of [
        ['empty', chart('<c:barChart/>')],
        ['broken', '<c:chartSpace><c:chart>'],
      ] as const)
        expect(
          await warningsOf(text('a') + chartFrame, { relations }, { 'ppt/charts/chart1.xml': xml }),
          name,
        ).to.deep.equal(['part_skipped 1 on 2']);
      expect(await warningsOf(text('a') + chartFrame, { relations })).to.deep.equal(['part_skipped 1 on 2']);
    });

    it('are refused as too_large if they unpack to too many bytes', async () => {
      const xml = chart(series('x', ['y'.repeat(70 * 1_024 * 1_024)], ['1']));
      expect(await refusalOf(slidesOf([{ shapes: chartFrame, relations }], { 'ppt/charts/chart1.xml': xml }))).to.equal(
        'too_large',
      );
    }).timeout(30_000);

    it('contain each node of a diagram once and in order, even if the links form a circle', async () => {
      const node = (id: string, words: string, type = 'node') =>
        `<dgm:pt modelId="${id}" type="${type}"><dgm:t>${words === '' ? '' : p(run(words))}</dgm:t></dgm:pt>`;
      const leads = (from: string, to: string, order: number, type = 'parOf') =>
        `<dgm:cxn type="${type}" srcId="${from}" destId="${to}" srcOrd="${order}"/>`;
      const xml = partXml(
        'dgm:dataModel',
        `<dgm:ptLst>${node('3', 'Cast off')}${node('2', 'Raise the sail')}${node('1', 'Check the wind')}${node('9', 'lost')}${node('0', '', 'doc')}${node('8', 'shown', 'pres')}${node('4', 'the main sail')}</dgm:ptLst><dgm:cxnLst>${leads('0', '2', 1)}${leads('0', '1', 0)}${leads('0', '3', 2)}${leads('2', '4', 0)}${leads('4', '2', 0)}${leads('8', '1', 0, 'presOf')}</dgm:cxnLst>`,
      );
      const shapes = frame('<dgm:relIds r:dm="d" r:lo="x"/>');
      const found = await blocksOf(
        shapes,
        { relations: { d: ['diagramData', '/ppt/diagrams/data1.xml'] } },
        { 'ppt/diagrams/data1.xml': xml },
      );
      expect(found).to.deep.equal(['Check the wind', 'Raise the sail', 'the main sail', 'Cast off', 'lost']);
    });
  });

  describe('content that is hidden or cannot be read', () => {
    it('is omitted with a warning if its slide or shape is hidden', async () => {
      const file = await read([
        { shapes: text('one') },
        { shapes: text('two'), attributes: ' show="0"', notes: text('said') },
        { shapes: text('three') + shape(p(run('four')), { attributes: ' hidden="1"' }) },
      ]);
      expect(shortly(file)).to.deep.equal([{ page: 1, headings: [], blocks: ['one'] }, { page: 3, headings: [], blocks: ['three'] }]); // prettier-ignore
      expect(file.pageCount).to.equal(3);
      expect(file.warnings).to.deep.equal([{ code: 'hidden_left_out', count: 2, pages: [2, 3] }]);
    });

    it('causes a warning for a picture that is alone on a slide or has no alternative text', async () => {
      const decorative = '<a:extLst><a:ext uri="{C}"><adec:decorative val="1"/></a:ext></a:extLst>';
      expect(await warningsOf(picture())).to.deep.equal(['page_is_a_picture 1 on 2']);
      expect(await warningsOf(picture(' descr="A scan"'))).to.deep.equal(['page_is_a_picture 1 on 2']);
      expect(await warningsOf('', { background: '<p:bg><p:bgPr><a:blipFill/></p:bgPr></p:bg>' })).to.deep.equal([
        'page_is_a_picture 1 on 2',
      ]);
      expect(await warningsOf(shape(p(''), { fill: '<a:blipFill/>' }))).to.deep.equal(['page_is_a_picture 1 on 2']);
      expect(await warningsOf(title('Tides') + picture() + picture())).to.deep.equal(['picture_without_text 2 on 2']);
      expect(await warningsOf(text('a') + picture(' descr="A reef"'))).to.deep.equal([]);
      expect(await warningsOf(text('a') + picture('', decorative))).to.deep.equal([]);
      expect(await blocksOf(text('a') + picture(' descr="A reef&#10;knot"'))).to.deep.equal([
        'a',
        '[Picture: A reef knot]',
      ]);
      expect(await warningsOf(text('a') + picture(' descr="IMG_1.jpeg"'))).to.deep.equal([
        'picture_without_text 1 on 2',
      ]);
      expect(await warningsOf('')).to.deep.equal([]);
    });

    it('causes a warning for embedded documents, ink and videos', async () => {
      expect(
        await warningsOf(text('a') + frame('<p:oleObj progId="Excel.Sheet.12"><p:pic/></p:oleObj>')),
      ).to.deep.equal(['part_skipped 1 on 2']);
      expect(await warningsOf(text('a') + '<p:contentPart r:id="x"/>')).to.deep.equal(['part_skipped 1 on 2']);
      expect(await warningsOf(text('a') + picture('', '', '<a:videoFile r:link="x"/>'))).to.deep.equal([
        'part_skipped 1 on 2',
      ]);
    });

    it('causes a warning for a broken slide, or file_corrupt if no slide can be read', async () => {
      const broken = { 'ppt/slides/slide1.xml': '<p:sld><p:cSld>' };
      const file = await read([{ shapes: text('one') }, { shapes: text('two') }], broken);
      expect(shortly(file)).to.deep.equal([{ page: 2, headings: [], blocks: ['two'] }]);
      expect(file.warnings).to.deep.equal([{ code: 'part_skipped', count: 1, pages: [1] }]);
      expect(await refusalOf(slidesOf([{ shapes: text('one') }], broken))).to.equal('file_corrupt');
      const notes = { 'ppt/notesSlides/slide1.xml': 'no xml' };
      expect((await read([{ shapes: text('one'), notes: text('said') }], notes)).warnings).to.deep.equal([
        { code: 'part_skipped', count: 1, pages: [1] },
      ]);
    });

    it('causes a refusal as file_corrupt if groups are nested too deep', async () => {
      const deep = (depth: number) => '<p:grpSp>'.repeat(depth) + text('a') + '</p:grpSp>'.repeat(depth);
      expect(await blocksOf(deep(1_900))).to.deep.equal(['a']);
      expect(await refusalOf(slidesOf([{ shapes: deep(20_000) }]))).to.equal('file_corrupt');
    }).timeout(30_000);
  });

  it('reads every word of generated slides once and in order', async () => {
    const words = fc
      .array(fc.stringMatching(/^[a-z]{4,8}$/), { minLength: 1, maxLength: 4 })
      .map((all) => all.join(' '));
    const texts = words.map((one) => ({ words: one, xml: text(one) }));
    const tables = fc.tuple(words, words).map((cells) => ({
      words: cells.join(' '),
      xml: frame(
        `<a:tbl><a:tr>${cells.map((one) => `<a:tc><a:txBody>${p(run(one))}</a:txBody></a:tc>`).join('')}</a:tr></a:tbl>`,
      ),
    }));
    const shapes = fc.oneof(texts, tables);
    const groups = fc.array(shapes, { minLength: 1, maxLength: 3 }).map((all) => ({
      words: all.map((one) => one.words).join(' '),
      xml: `<p:grpSp>${all.map((one) => one.xml).join('')}</p:grpSp>`,
    }));
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(fc.oneof(shapes, groups), { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 4 }),
        async (slides) => {
          const file = await read(slides.map((all) => ({ shapes: all.map(({ xml }) => xml).join('') })));
          const found = slides.map((_, at) =>
            file.passages
              .filter(({ page }) => page === at + 1)
              .map((one) => one.text)
              .join(' ')
              .replace(/[\s|]+/g, ' '),
          );
          expect(found).to.deep.equal(slides.map((all) => all.map((one) => one.words).join(' ')));
        },
      ),
      { numRuns: 25 },
    );
  });
});
