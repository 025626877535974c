import { expect } from 'chai';
import fc from 'fast-check';
import { readMarkdown } from '../../../../domain/knowledge/extraction/text/markdown-text.ts';
import { SectionBuilder } from '../../../../domain/knowledge/extraction/sections.ts';
import { safeText } from '../../../../platform/core/text/written-text.ts';
import { expectLinear, manyTimes } from '../../../toolkit/assert/scaling.ts';
import { readAs, textsAs } from '../../../toolkit/drive/reading.ts';

const texts = (markdown: string) => textsAs('markdown', markdown);

function each(cases: readonly { what: string; markdown: string; texts: string[] }[]): void {
  for (const { what, markdown, texts: expected } of cases)
    it(what, async () => expect(await texts(markdown)).to.deep.equal(expected));
}

describe('the reader of Markdown', () => {
  describe('words in angle brackets', () => {
    const words =
      'Write to <user>@<host>, a List<String> or Map<String, List<User>> </user>, if a < b or x<y and 1<2>0.';

    it('are kept in files and in lessons', async () => {
      expect(await texts(words)).to.deep.equal([words]);
      expect(await texts(safeText(words, 'lesson') ?? '')).to.deep.equal([words]);
    });

    each([
      { what: 'are kept at the beginning of a line', markdown: '<user>\n**bold** words\n\n</file-name>\n- item', texts: ['<user> bold words', '</file-name>', 'item'] },
      { what: 'are kept inside an HTML block if HTML has no such element', markdown: '<div><user>a</user> <b>b</b></div>\n\n<?php echo 1 ?>', texts: ['<user>a</user> b', '<?php echo 1 ?>'] },
      { what: 'are kept if they are names of SVG elements outside of a drawing', markdown: 'cp <path> <image-of-text>\n\n<path>', texts: ['cp <path> <image-of-text>', '<path>'] },
      { what: 'are kept as text if they have no end tag', markdown: 'Set <title> first.\n\nThen <textarea> and `<script>`.', texts: ['Set <title> first.', 'Then <textarea> and <script>.'] },
      { what: 'are read as links if they are addresses', markdown: '<https://example.com/a?b=1> and <ada@example.com> [link](https://example.com)', texts: ['https://example.com/a?b=1 and ada@example.com link'] },
      { what: 'are read without the escape characters of the writer', markdown: String.raw`&lt;b> \<i> &amp;lt; \`&lt;\` &copy; &#x200C;x`, texts: [String.raw`<b> <i> &lt; \`&lt;\` © x`.replaceAll('\\`', '`').replace('`&lt;`', '`<`')] },
      { what: 'are read as HTML if they are HTML elements', markdown: 'H<sub>2</sub>O<br>a <!-- no --> <span hidden>no</span><custom>b', texts: ['H₂O a <custom>b'] },
    ]); // prettier-ignore
  });

  describe('tables', () => {
    each([
      { what: 'keep the column of a value beside empty cells', markdown: '| Knot | Use | Minutes |\n|:--|--|--:|\n| Bowline | | 60 |\n| | Mooring | 5 |\n| Reef |', texts: ['Knot | Use | Minutes', 'Bowline | | 60', '| Mooring | 5', 'Reef | |'] },
      { what: 'escape a bar inside a cell', markdown: '| a | b |\n|--|--|\n| c \\| d | `e` |', texts: ['a | b', 'c \\| d | e'] },
    ]); // prettier-ignore

    it('use the first row as header, even if this row contains a number', async () => {
      const { sections } = await readAs('markdown', '| Knot | 2027 |\n|--|--|\n| Reef | 5 |');
      expect(sections[0]?.paragraphs.at(-1)).to.deep.equal({ text: 'Reef | 5', kind: 'row', header: 'Knot | 2027' });
    });
  });

  describe('formulas', () => {
    each([
      { what: 'are kept as they are written', markdown: String.raw`If $a_1 * b_2 * c < d$ or \(x_1*y_1*z\), then $$\frac{a}{b}_c_$$ \[*e*\].`, texts: [String.raw`If $a_1 * b_2 * c < d$ or \(x_1*y_1*z\), then $$\frac{a}{b}_c_$$ \[*e*\].`] },
      { what: 'are kept over several lines', markdown: '$$\na\n=\n- b * c * d\n$$\nand\n\\[\n1. x\n\\]', texts: ['$$ a = - b * c * d $$', 'and', '\\[ 1. x \\]'] },
      { what: 'are not recognized in amounts of money', markdown: 'From $5 to $10, *or* $20. $ *x* $', texts: ['From $5 to $10, or $20. $ x $'] },
      { what: 'are not recognized if their end mark is missing', markdown: '$$\n# Title\n\\(a *b*', texts: ['$$', '(a b'] },
      { what: 'are kept unchanged in a lesson', markdown: '$a&lt;b$', texts: ['$a<b$'] },
    ]); // prettier-ignore
  });

  describe('visible content', () => {
    each([
      { what: 'includes the notes, and separates the marks of the notes from numbers', markdown: 'About 45[^1] km[^b].\n\n[^1]: Since *1990*.\n\n[^b]: https://example.com', texts: ['About 45 [1] km [b].', '[1]: Since 1990.', '[b]: https://example.com'] },
      { what: 'includes the numbers of lists', markdown: '3. a\n4. b\n\ntext\n\n5. c\n   1. d\n\n0) e', texts: ['3. a', '4. b', 'text', '5. c', '1. d', '0. e'] },
      { what: 'includes the boxes of task lists', markdown: '- [x] done\n- [ ] open', texts: ['[x] done', '[ ] open'] },
      { what: 'includes text that is struck out, with a mark', markdown: '~~100~~ 90', texts: ['~~100~~ 90'] },
      { what: 'has no blank between joined Chinese, Japanese and Thai lines, but has one between Korean lines', markdown: '漢字\n漢字。\nかな\n\nไทย\nไทย\n\n한국\n어\n\none\ntwo  \nthree', texts: ['漢字漢字。かな', 'ไทยไทย', '한국 어', 'one two three'] },
      { what: 'contains no signs of emphasis beside East Asian full stops', markdown: '**重要。**次は**「結」**です。 a**b.**c', texts: ['重要。次は「結」です。 a**b.**c'] },
    ]); // prettier-ignore

    it('includes the alternative texts of pictures', async () => {
      expect(await readAs('markdown', 'a ![A *boat*](a.png) ![](b.png)')).to.deep.equal({
        sections: [{ page: null, headings: [], paragraphs: [{ text: 'a [Picture: A boat]', kind: 'prose' }] }],
        warnings: ['picture_without_text 1'],
      });
    });

    const headingsOf = async (markdown: string) =>
      (await readAs('markdown', markdown)).sections.map(({ headings, paragraphs }) => [
        ...headings,
        ...paragraphs.map(({ text }) => text),
      ]);

    it('includes headings with their inline content', async () => {
      expect(await headingsOf('Knots\n===\n\nBends\n---\na\n\n### Reef {#reef}\nb\n\n- # Item\n  c')).to.deep.equal([
        ['Knots', 'Bends', 'a'],
        ['Knots', 'Bends', 'Reef {#reef}', 'b'],
        ['Item', 'c'],
      ]);
    });

    it('includes the title of the front matter, but no other part of it', async () => {
      expect(await headingsOf('---\ntitle: "The bay"\ntags:\n  - a\ndate: 2027-01-01\n---\n\na\n')).to.deep.equal([
        ['The bay', 'a'],
      ]);
      expect(await headingsOf('+++\r\ntitle = "Bay"\r\n+++\r\n# Own\r\na')).to.deep.equal([['Own', 'a']]);
      expect(await headingsOf('---\ndraft: true\n...\na')).to.deep.equal([['a']]);
      expect(await headingsOf('---\nNote: a\nparagraph.\n\n---\nb')).to.deep.equal([['Note: a paragraph.', 'b']]);
      expect(await headingsOf('---\n\na')).to.deep.equal([['a']]);
    });
  });

  const name = fc.stringMatching(/^[a-z]{1,8}$/);

  it('keeps each value in its column, for tables of any shape', async () => {
    const value = fc.oneof(fc.constant(''), name);
    const tables = fc
      .integer({ min: 2, max: 6 })
      .chain((width) =>
        fc.array(fc.array(value, { minLength: width, maxLength: width }), { minLength: 1, maxLength: 20 }),
      );
    await fc.assert(
      fc.asyncProperty(tables, async (values) => {
        const header = values[0]?.map((_, at) => `Column${at}`) ?? [];
        const lines = [header, header.map(() => '--'), ...values].map((cells) => `| ${cells.join(' | ')} |`);
        const found = (await texts(lines.join('\n'))).map((line) => ` ${line} `.split('|').map((cell) => cell.trim()));
        expect(found).to.deep.equal([header, ...values.filter((cells) => cells.some((cell) => cell !== ''))]);
      }),
    );
  });

  it('reads every word of a text once and in order', async () => {
    const signs = [
      '*',
      '**',
      '_',
      '$',
      '$$',
      '\n',
      '\n\n',
      '\n- ',
      '\n1. ',
      '\n> ',
      '\n# ',
      ' <b>',
      '</b> ',
      ' <user> ',
      ' & ',
      '~~',
      '\n```\n',
      '`',
      '<div>\n',
      ' | ',
    ];
    const piece = fc.oneof(fc.constant('word'), fc.constantFrom(...signs));
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 30 }), async (pieces) => {
        let count = 0;
        const markdown = pieces.map((one) => (one === 'word' ? ` w${count++}w ` : one)).join('');
        const { sections } = await readAs('markdown', markdown);
        const all = sections.flatMap(({ headings, paragraphs }) => [
          ...headings,
          ...paragraphs.map(({ text }) => text),
        ]);
        // Words after a code fence name the programming language.
        const fences = markdown.match(/(?:`{3}|~{3})[^\n]*/g) ?? [];
        const inInfo = new Set(fences.flatMap((fence) => fence.match(/w\d+w/g) ?? []));
        const expected = Array.from({ length: count }, (_, at) => `w${at}w`).filter((word) => !inInfo.has(word));
        expect([...new Set(all.join(' ').match(/w\d+w/g) ?? [])].filter((word) => !inInfo.has(word))).to.deep.equal(
          expected,
        );
      }),
      { numRuns: 500 },
    );
  });

  it('needs a time that grows linearly with the text', () => {
    const read = (text: string) => void readMarkdown(text, new SectionBuilder());
    for (const piece of [
      '$',
      '$a ',
      '\\(',
      '\\[\n',
      '$$\n',
      '[^',
      '[^a]',
      '<user>',
      '<user>\n',
      '&lt;',
      '---\n',
      'a: b\n',
    ])
      expectLinear(piece, manyTimes(piece, { begin: '---\n', end: 'word' }), read, 8_000);
  }).timeout(60_000);
});
