import { expect } from 'chai';
import fc from 'fast-check';
import { formatNumber } from '../../../../domain/knowledge/extraction/office/number-formats.policy.ts';
import { wordOf } from '../../../toolkit/builders/office-xml.ts';
import { readHere, shortly } from '../../../toolkit/drive/extracting.ts';

describe('the number of a list', () => {
  for (const [number, format, text] of [
    [7, 'decimal', '7'],
    [7, 'decimalZero', '07'],
    [12, 'decimalZero', '12'],
    [0, 'upperRoman', '0'],
    [4, 'lowerRoman', 'iv'],
    [1994, 'upperRoman', 'MCMXCIV'],
    [3, 'lowerLetter', 'c'],
    [28, 'upperLetter', 'BB'],
    [55, 'lowerLetter', 'ccc'],
    [1, 'ordinal', '1st'],
    [12, 'ordinal', '12th'],
    [23, 'ordinal', '23rd'],
    [21, 'cardinalText', 'Twenty-one'],
    [3, 'ordinalText', 'Third'],
    [20, 'ordinalText', 'Twentieth'],
    [32, 'ordinalText', 'Thirty-second'],
    [2, 'none', ''],
    [2, 'bullet', ''],
    [5, 'chicago', '**'],
    [1, 'hebrew1', 'א'],
    [15, 'hebrew1', 'טו'],
    [16, 'hebrew1', 'טז'],
    [17, 'hebrew1', 'יז'],
    [115, 'hebrew1', 'קטו'],
    [3, 'hebrew2', 'ג'],
    [23, 'hebrew2', 'אא'],
    [2, 'arabicAlpha', 'ب'],
    [3, 'arabicAbjad', 'ج'],
    [21, 'hindiNumbers', '२१'],
    [21, 'thaiNumbers', '๒๑'],
    [3, 'thaiLetters', 'ค'],
    [12, 'decimalFullWidth', '１２'],
    [3, 'chineseCounting', '三'],
    [10, 'chineseCounting', '十'],
    [21, 'chineseCountingThousand', '二十一'],
    [105, 'chineseCountingThousand', '一百〇五'],
    [20, 'ideographDigital', '二〇'],
    [12, 'taiwaneseCounting', '十二'],
    [11, 'japaneseCounting', '十一'],
    [11, 'chineseLegalSimplified', '壹拾壹'],
    [2, 'ideographTraditional', '乙'],
    [11, 'ideographTraditional', '甲'],
    [3, 'ideographEnclosedCircle', '㊂'],
    [5, 'decimalEnclosedCircle', '⑤'],
    [21, 'decimalEnclosedCircle', '21'],
    [2, 'decimalEnclosedParen', '⑵'],
    [2, 'russianLower', 'б'],
    [2, 'ganada', '나'],
    [3, 'koreanDigital', '삼'],
    [9, 'somethingNew', '9'],
  ] as const)
    it(`is ${JSON.stringify(text)} for ${number} in the format ${format}`, () =>
      expect(formatNumber(number, format)).to.equal(text));

  it('is written as an ordinal in the language of the document', () => {
    const inLanguages = ['pt-BR', 'es', 'fr-FR', 'de', 'en-GB'].map((language) =>
      formatNumber(2, 'ordinal', { language }),
    );
    expect(inLanguages).to.deep.equal(['2º', '2º', '2e', '2.', '2nd']);
    expect(formatNumber(2, 'ordinalText', { language: 'de' })).to.equal('2');
  });

  it('has at least as many digits as the first number of a custom format', () => {
    expect(formatNumber(7, 'custom', { pattern: '001, 002, 003, ...' })).to.equal('007');
    expect(formatNumber(12, 'custom', { pattern: '١, ٢, ٣, ...' })).to.equal('١٢');
    expect(formatNumber(12, 'custom', { pattern: '' })).to.equal('12');
  });

  it('has a different text for each value, in letters and in numerals', () => {
    const formats = ['upperRoman', 'lowerLetter', 'hebrew1', 'chineseCountingThousand', 'ordinal', 'decimalZero'];
    fc.assert(
      fc.property(fc.constantFrom(...formats), fc.nat(3_000), fc.nat(3_000), (format, one, other) => {
        fc.pre(one !== other);
        expect(formatNumber(one, format)).not.to.equal(formatNumber(other, format));
      }),
    );
  });
});

describe('numbered paragraphs of a Word file', () => {
  const level = (at: number, format: string, text: string, further = '') =>
    `<w:lvl w:ilvl="${at}"><w:start w:val="1"/><w:numFmt w:val="${format}"/>${further}<w:lvlText w:val="${text}"/></w:lvl>`;
  const abstract = (id: number, levels: string) => `<w:abstractNum w:abstractNumId="${id}">${levels}</w:abstractNum>`;
  const num = (id: number, of: number, overrides = '') =>
    `<w:num w:numId="${id}"><w:abstractNumId w:val="${of}"/>${overrides}</w:num>`;
  const item = (text: string, list: number, at = 0) =>
    `<w:p><w:pPr><w:numPr><w:ilvl w:val="${at}"/><w:numId w:val="${list}"/></w:numPr></w:pPr><w:r><w:t>${text}</w:t></w:r></w:p>`;
  const plain = (text: string, properties = '') =>
    `<w:p><w:pPr>${properties}</w:pPr><w:r><w:t>${text}</w:t></w:r></w:p>`;
  const read = async (body: string[], numbering: string, styles = '') =>
    shortly(await readHere(wordOf(body.join(''), { numbering, styles }))).flatMap(({ headings, blocks }) => [
      ...headings,
      ...blocks,
    ]);

  it('are counted for each level, and restart after a paragraph of a higher level', async () => {
    const numbering =
      abstract(0, level(0, 'decimal', '%1.') + level(1, 'lowerLetter', '%1.%2)') + level(2, 'upperRoman', '(%3)')) +
      num(1, 0);
    const body = [
      item('a', 1),
      item('b', 1, 1),
      item('c', 1, 2),
      item('d', 1, 2),
      item('e', 1, 1),
      item('f', 1),
      item('g', 1, 1),
      item('h', 1, 2),
    ];
    expect(await read(body, numbering)).to.deep.equal([
      '1. a',
      '1.a) b',
      '(I) c',
      '(II) d',
      '1.b) e',
      '2. f',
      '2.a) g',
      '(I) h',
    ]);
  });

  it('continue their count after other text', async () => {
    const override = '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="7"/></w:lvlOverride>';
    const numbering = abstract(0, level(0, 'decimal', '%1.')) + num(1, 0) + num(2, 0, override) + num(3, 0);
    const body = [item('a', 1), plain('text'), item('b', 1), item('c', 2), item('d', 2), item('e', 3), item('f', 9)];
    expect(await read(body, numbering)).to.deep.equal(['1. a', 'text', '2. b', '7. c', '8. d', '9. e', 'f']);
  });

  it('restart only if the settings of their level say so', async () => {
    const restarts = (value: number) =>
      abstract(
        0,
        level(0, 'decimal', '%1.') +
          level(1, 'decimal', '%2)') +
          level(2, 'decimal', '[%3]', `<w:lvlRestart w:val="${value}"/>`),
      ) + num(1, 0);
    const body = [item('a', 1), item('b', 1, 2), item('c', 1, 1), item('d', 1, 2), item('e', 1), item('f', 1, 2)];
    expect(await read(body, restarts(0))).to.deep.equal(['1. a', '[1] b', '1) c', '[2] d', '2. e', '[3] f']);
    expect(await read(body, restarts(1))).to.deep.equal(['1. a', '[1] b', '1) c', '[2] d', '2. e', '[1] f']);
  });

  it('may be headings that get their numbers from a style', async () => {
    const numbering =
      abstract(
        0,
        level(0, 'upperRoman', 'Part %1:', '<w:pStyle w:val="H1"/>') +
          level(1, 'decimal', '%1.%2', '<w:pStyle w:val="H2"/><w:isLgl/>'),
      ) +
      abstract(1, level(0, 'chineseCounting', '第%1章', '<w:suff w:val="nothing"/>')) +
      num(1, 0) +
      num(2, 1);
    const style = (id: string, outline: number, further: string) =>
      `<w:style w:type="paragraph" w:styleId="${id}"><w:name w:val="${id}"/><w:pPr><w:outlineLvl w:val="${outline}"/>${further}</w:pPr></w:style>`;
    const styles =
      style('H1', 0, '<w:numPr><w:numId w:val="1"/></w:numPr>') +
      style('H2', 1, '<w:numPr><w:ilvl w:val="1"/><w:numId w:val="1"/></w:numPr>') +
      style('H3', 1, '').replace('<w:pPr>', '<w:basedOn w:val="H2"/><w:pPr>');
    const body = [
      plain('Sea', '<w:pStyle w:val="H1"/>'), plain('Tides', '<w:pStyle w:val="H2"/>'), plain('x'),
      plain('Bare', '<w:pStyle w:val="H2"/><w:numPr><w:numId w:val="0"/></w:numPr>'), plain('y'),
      plain('Based', '<w:pStyle w:val="H3"/>'), plain('z'), item('潮', 2),
    ]; // prettier-ignore
    expect(await read(body, numbering, styles)).to.deep.equal([
      'Part I: Sea',
      '1.1 Tides',
      'x',
      'Part I: Sea',
      'Bare',
      'y',
      'Part I: Sea',
      '1.2 Based',
      'z',
      '第一章潮',
    ]);
  });

  it('omit bullet signs and hidden numbers, but keep the words of a bullet', async () => {
    const numbering =
      abstract(
        0,
        level(0, 'bullet', '\uF0B7') +
          level(1, 'bullet', 'o') +
          level(2, 'bullet', 'Note:') +
          level(3, 'decimal', '%4.', '<w:rPr><w:vanish/></w:rPr>'),
      ) + num(1, 0);
    expect(await read([item('a', 1), item('b', 1, 1), item('c', 1, 2), item('d', 1, 3)], numbering)).to.deep.equal([
      'a',
      'b',
      'Note: c',
      'd',
    ]);
  });

  it('take their level from a list style, even if two styles refer to each other', async () => {
    const linked = '<w:abstractNum w:abstractNumId="1"><w:numStyleLink w:val="L"/></w:abstractNum>';
    const styles = (list: number) =>
      `<w:style w:type="numbering" w:styleId="L"><w:name w:val="L"/><w:pPr><w:numPr><w:numId w:val="${list}"/></w:numPr></w:pPr></w:style>`;
    const numbering = abstract(0, level(0, 'decimal', '%1)')) + linked + num(1, 0) + num(2, 1);
    expect(await read([item('a', 2), item('b', 2)], numbering, styles(1))).to.deep.equal(['1) a', '2) b']);
    expect(await read([item('a', 2)], numbering, styles(2))).to.deep.equal(['a']);
  });

  it('have a blank between number and words', async () => {
    const numbering = abstract(0, level(0, 'decimal', '%1.', '<w:suff w:val="nothing"/>')) + num(1, 0);
    expect(await read([item('a', 1)], numbering)).to.deep.equal(['1. a']);
  });

  it('are counted even if they are empty, but not if they are deleted', async () => {
    const numbering = abstract(0, level(0, 'decimal', '%1.')) + num(1, 0);
    const deleted = item('b', 1)
      .replace('</w:pPr>', '<w:rPr><w:del w:id="1"/></w:rPr></w:pPr>')
      .replace('<w:r>', '<w:del><w:r>')
      .replace('</w:r>', '</w:r></w:del>');
    expect(await read([item('a', 1), deleted, item('c', 1), item('', 1), item('e', 1)], numbering)).to.deep.equal([
      '1. a',
      '2. c',
      '4. e',
    ]);
  });

  it('use the fallback format if the first format is unknown', async () => {
    const custom = `<w:lvl w:ilvl="0"><w:start w:val="1"/><mc:AlternateContent><mc:Choice Requires="w14"><w:numFmt w:val="custom" w:format="001, 002, 003, ..."/></mc:Choice><mc:Fallback><w:numFmt w:val="decimal"/></mc:Fallback></mc:AlternateContent><w:lvlText w:val="%1"/></w:lvl>`;
    expect(await read([item('a', 1)], abstract(0, custom) + num(1, 0))).to.deep.equal(['001 a']);
  });
});
