import { expect } from 'chai';
import fc from 'fast-check';
import { parseHtml } from '../../../../domain/knowledge/extraction/html/html-tree.ts';
import { readHtml } from '../../../../domain/knowledge/extraction/html/html-text.ts';
import { SectionBuilder } from '../../../../domain/knowledge/extraction/sections.ts';
import { expectLinear, manyTimes } from '../../../toolkit/assert/scaling.ts';
import { readAs, textsAs } from '../../../toolkit/drive/reading.ts';

const texts = (html: string) => textsAs('html', html);

interface Case {
  what: string;
  html: string;
  texts: string[];
  warnings?: string[];
}

function each(cases: readonly Case[]): void {
  for (const { what, html, texts: expected, warnings: warned = [] } of cases)
    it(what, async () => {
      const { sections, warnings } = await readAs('html', html);
      expect(sections.flatMap(({ paragraphs }) => paragraphs.map(({ text }) => text))).to.deep.equal(expected);
      expect(warnings).to.deep.equal(warned);
    });
}

describe('the reader of HTML files', () => {
  describe('tables', () => {
    each([
      {
        what: 'keep the column of a value beside empty cells',
        html: '<table><tr><th>Knot<th>Use<th>Minutes<tr><td>Bowline<td><td>60<tr><td><td>Mooring<td>5</table>',
        texts: ['Knot | Use | Minutes', 'Bowline | | 60', '| Mooring | 5'],
      },
      {
        what: 'repeats a cell in all rows that the cell spans, but only within its part of the table',
        html: '<table><tbody><tr><td rowspan=9>a<td>b<tr><td>c</tbody><tbody><tr><td>d<td>e</table>',
        texts: ['a | b', 'a | c', 'd | e'],
      },
      {
        what: 'extends a cell with rowspan 0 to the end of its part of the table',
        html: '<table><tr><td rowspan=0>a<td>b<tr><td>c<tr><td>d</table>',
        texts: ['a | b', 'a | c', 'a | d'],
      },
      {
        what: 'adds no columns if a cell spans more columns than the table has',
        html: '<table><tr><td colspan=100>Prices<tr><td>a<td>1<tr><td>b<td>2</table>',
        texts: ['Prices', 'a | 1', 'b | 2'],
      },
      {
        what: 'show caption, head, body and foot in this order',
        html: '<table><tfoot><tr><td>Sum<td>3</tfoot><tr><td>a<td>3<thead><tr><th>Knot<th>Minutes</thead><caption>Times</caption></table>',
        texts: ['Times', 'Knot | Minutes', 'a | 3', 'Sum | 3'],
      },
      {
        what: 'shows text between the cells of a table before the table, as browsers do',
        html: '<table>Loose<tr><td>a<td>b</table>',
        texts: ['Loose', 'a | b'],
      },
      {
        what: 'reads a layout table of a mail as paragraphs, and a data table inside as a table',
        html: '<table><tr><td>Dear Ada<td><table><tr><th>Knot<th>Minutes<tr><td>Reef<td>5</table>after<tr><td>Bye</table>',
        texts: ['Dear Ada', 'Knot | Minutes', 'Reef | 5', 'after', 'Bye'],
      },
      {
        what: 'reads the cells of a table as paragraphs if the table has role=presentation',
        html: '<table role=presentation><tr><td>One<td>Two</table>',
        texts: ['One', 'Two'],
      },
      {
        what: 'keeps the text of a nested table in the outer cell, if the outer table contains data',
        html: '<table><tr><th>Knot<th>Use<tr><td>Reef<td>in <table><tr><td>sails</table>and ropes</table>',
        texts: ['Knot | Use', 'Reef | in sails and ropes'],
      },
      {
        what: 'keeps the outer table when a cell has a stray end tag',
        html: '<div><table><tr><td>a</div></p></b><td>b</tr></table></div>',
        texts: ['a | b'],
      },
      {
        what: 'ends the previous cell and row, even if inline elements are still open',
        html: '<table><tr><td><b>a<td><i>b<tr><td>c<td>d</table>e',
        texts: ['a | b', 'c | d', 'e'],
      },
    ]); // prettier-ignore

    it('give each row the headers of its columns', async () => {
      const html = '<table><tr><th>Knot<th>Minutes<tr><th scope=row>Reef<td>5<tr><th scope=row>Eight<td>7</table>';
      const { sections } = await readAs('html', html);
      expect(sections[0]?.paragraphs).to.deep.equal([
        { text: 'Knot | Minutes', kind: 'row' },
        { text: 'Reef | 5', kind: 'row', header: 'Knot | Minutes' },
        { text: 'Eight | 7', kind: 'row', header: 'Knot | Minutes' },
      ]);
    });

    it('joins the two headers of each column if a table has two rows of headers', async () => {
      const html =
        '<table><thead><tr><th rowspan=2>Course<th colspan=2>Price<tr><th>EUR<th>USD</thead><tr><td>Sailing<td>90<td>100</table>';
      const { sections } = await readAs('html', html);
      expect(sections[0]?.paragraphs.at(-1)?.header).to.equal('Course | Price EUR | Price USD');
    });
  });

  describe('raised letters, notes and formulas', () => {
    each([
      {
        what: 'writes raised and lowered letters as superscripts and subscripts',
        html: '10<sup>3</sup> m<sup>-2</sup> H<sub>2</sub>O x<sup>2k</sup> 1<sup>st</sup>',
        texts: ['10³ m⁻² H₂O x^(2k) 1st'],
      },
      ...[
        '<sup><a href="#fn1">1</a></sup>',
        '<a href="#fn1"><sup>1</sup></a>',
        '<a class="footnote-ref" href="#fn1"><sup>1</sup></a>',
        '<sup class="reference"><a href="#cite-1">[1]</a></sup>',
        '<a role="doc-noteref" href="#fn1">1</a>',
        '<a epub:type="noteref" href="notes.xhtml#fn1">1</a>',
        '<sup role="doc-noteref">1</sup>',
      ].map((mark) => ({ what: `separates the mark of a note from the word: ${mark}`, html: `about 45${mark} km`, texts: ['about 45 [1] km'] })),
      {
        what: 'omits the arrow of a note that leads back to the text',
        html: '<ol><li id=fn1>Since 1990. <a href="#ref1">↩︎</a></ol>',
        texts: ['1. Since 1990.'],
      },
      {
        what: 'writes MathML on one line',
        html: `<math><mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mi>c</mi></mfrac><mo>=</mo><msqrt><mi>x</mi></msqrt><mo>+</mo>
          <msup><mi>x</mi><mn>2</mn></msup><mo>+</mo><msubsup><mi>y</mi><mn>1</mn><mi>e</mi></msubsup></math>`,
        texts: ['(a+b)/(c)=√(x)+x²+y₁^e'],
      },
      {
        what: 'writes sums, roots, matrices and fences',
        html: `<math><munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi></munderover><mroot><mi>x</mi><mn>3</mn></mroot>
          <mfenced open="[" close="]"><mi>a</mi><mi>b</mi></mfenced><msup><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>2</mn></msup>
          <mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>2</mn></mtd></mtr><mtr><mtd><mn>3</mn></mtd><mtd><mn>4</mn></mtd></mtr></mtable></math>`,
        texts: ['∑_(i=1)ⁿ³√(x)[a,b](a+b)²[1, 2; 3, 4]'],
      },
      {
        what: 'reads a formula once if the page contains it in two forms',
        html: `<span class="katex"><span class="katex-mathml"><math><semantics><mrow><mi>E</mi></mrow><annotation encoding="application/x-tex">E
          </annotation></semantics></math></span><span class="katex-html" aria-hidden="true">E</span></span>`,
        texts: ['E'],
      },
      {
        what: 'uses the alternative text of a formula without visible letters',
        html: '<math alttext="a over b"><mphantom><mi>a</mi></mphantom></math>',
        texts: ['a over b'],
      },
      {
        what: 'keeps the source of LaTeX formulas',
        html: '<script type="math/tex">a_1*b</script> and <script type="math/tex; mode=display">x<y</script><script>no()</script>',
        texts: ['$a_1*b$ and $$x<y$$'],
      },
    ]); // prettier-ignore
  });

  describe('lists', () => {
    each([
      { what: 'counts from the start and the value that the list states', html: '<ol start=3><li>a<li value=9>b<li>c</ol><ol start=0><li>d</ol>', texts: ['3. a', '9. b', '10. c', '0. d'] },
      { what: 'counts down in reversed lists', html: '<ol reversed><li>a<li>b</ol><ol reversed start=9><li>c</ol>', texts: ['2. a', '1. b', '9. c'] },
      { what: 'letters and Roman numbers', html: '<ol type=a start=26><li>x<li>y</ol><ol type=A><li>x</ol><ol type=i start=4><li>x</ol><ol type=I start=1999><li>x</ol>', texts: ['z. x', 'aa. y', 'A. x', 'iv. x', 'MCMXCIX. x'] },
      { what: 'numbers lists inside lists', html: '<ol><li>a<ol type=a><li>b<li>c</ol><li>d</ol>', texts: ['1. a', 'a. b', 'b. c', '2. d'] },
      { what: 'reads numbers in the form that a style sets', html: '<style>.r{list-style-type:upper-roman}</style><ol class=r><li>a</ol><ol style="list-style:none"><li>b</ol><ul style="list-style-type:decimal"><li>c</ul>', texts: ['I. a', 'b', '1. c'] },
      { what: 'reads the number once, before the first paragraph', html: '<ol><li><p>a</p><p>b</p></ol>', texts: ['1. a', 'b'] },
      { what: 'reads terms with their definitions', html: '<dl><dt>Fid<dd>opens strands<dt>Cleat<dd>holds ropes</dl>', texts: ['Fid', 'opens strands', 'Cleat', 'holds ropes'] },
    ]); // prettier-ignore
  });

  describe('visible content', () => {
    each([
      { what: 'reads the pronunciation of letters once, after the letters', html: '<ruby>漢<rp>(</rp><rt>かん</rt><rp>)</rp>字<rt>じ</rt></ruby>と<ruby><rb>漢</rb><rb>字</rb><rt>かん</rt><rt>じ</rt></ruby>', texts: ['漢(かん)字(じ)と漢字(かんじ)'] },
      { what: 'removes the marks for possible breaks inside words', html: 'sail<wbr>ing sail&shy;ing می&zwnj;روم &#x645;&#x6CC;&#x200C;&#x631;', texts: ['sailing sailing می\u200Cروم می\u200Cر'] },
      { what: 'writes quotation marks around quoted text', html: 'She said <q>tie a <q>bowline</q></q>.', texts: ['She said “tie a ‘bowline’”.'] },
      { what: 'marks text that is struck out', html: '<del>100</del> 90 <s>a <b>b</b></s> <span style="text-decoration: line-through">c</span> <ins>d</ins><del><p>e</p><p>f</p></del>', texts: ['~~100~~ 90 ~~a b~~ ~~c~~ d', '~~e~~', '~~f~~'] },
      { what: 'reads the values that form fields show', html: '<p>Name <input value=Ada><input type=hidden value=x><input type=checkbox checked>yes <input type=radio>no <select><option>a<option selected>b</select><select><option>c<option>d</select><select multiple><option>e<option>f</select><textarea>long\ntext</textarea><button>Send</button><progress>70%</progress><meter>3</meter>', texts: ['Name Ada [x] yes [ ] no b c e, f long text Send'] },
      { what: 'reads the text that appears only after a click', html: '<details><summary>More</summary>inside</details>', texts: ['More', 'inside'] },
      { what: 'reads and marks the alternative text of pictures', html: '<p>A <img src=a alt="a boat"> sails.<svg><title>Chart</title><path d=""/></svg>', texts: ['A [Picture: a boat] sails. [Picture: Chart]'] },
      { what: 'reads nothing for decorative pictures', html: 'a<img alt=""><img src=x width=1 height=1><img role=presentation><svg aria-hidden=true></svg>', texts: ['a'] },
      { what: 'warns of pictures without alternative text', html: 'a<img src=x><img alt=" " src=y><svg><path/></svg><input type=image>', texts: ['a'], warnings: ['picture_without_text 3'] },
      { what: 'reads the words in a drawing', html: '<svg><defs><text>no</text></defs><title>t</title><text>Bow</text><text><tspan>St</tspan><tspan>ern</tspan></text></svg>', texts: ['Bow Stern'] },
      { what: 'warns of parts that are not read', html: 'a<iframe src=x>no</iframe><object>no</object><canvas>no</canvas><video>no</video><audio></audio><embed>', texts: ['a'], warnings: ['part_skipped 6'] },
      { what: 'omits the elements that no browser shows', html: 'a<noscript>no</noscript><template>no</template><style>no</style><!-- no --><datalist><option>no</datalist>', texts: ['a'] },
      { what: 'keeps the line breaks of code, and of elements whose style preserves line breaks', html: '<pre>a\n  b</pre><div style="white-space: pre-line">c\nd</div>', texts: ['a\n  b', 'c\nd'] },
      { what: 'joins the lines of a paragraph in the source', html: '<p>漢字\n漢字\n\tかな</p><p>한국\n어</p><p>one\ntwo</p>', texts: ['漢字漢字かな', '한국 어', 'one two'] },
      { what: 'reads unknown elements like plain text', html: '<my-card>a <x-b>b</x-b></my-card> <o:p>c</o:p>', texts: ['a b c'] },
      { what: 'keeps angle brackets and other signs that are not part of a tag', html: 'a < b, 3<4, &lt;b&gt; &amp;lt; AT&T', texts: ['a < b, 3<4, <b> &lt; AT&T'] },
    ]); // prettier-ignore

    it('recognizes headings by their element or their role, even inside cells and lists', async () => {
      const html =
        '<hgroup><h1>Knots</h1><p>by Ada</p></hgroup><div role=heading aria-level=2>Bends</div><p>a<ol><li><h3>Reef</h3>b</ol>';
      const { sections } = await readAs('html', html);
      expect(sections.map(({ headings, paragraphs }) => [headings, paragraphs.map(({ text }) => text)])).to.deep.equal([
        [['Knots'], ['by Ada']],
        [['Knots', 'Bends'], ['a']],
        [['Knots', 'Bends', '1. Reef'], ['b']],
      ]);
      expect(await texts('<table><tr><td><h2>Title</h2>a<td>b</table>')).to.deep.equal(['Title a | b']);
    });
  });

  describe('hidden content, which is omitted with a warning', () => {
    const hidden = (count: number) => [`hidden_left_out ${count}`];
    each([
      ...[
        '<p hidden>no', '<p style="display:none">no', '<p style="opacity: 0">no', '<p style="visibility:hidden">no', '<p style="font-size:0">no',
        '<dialog>no</dialog>', '<div popover>no</div>', '<style>.x{display:none}</style><p class="y x">no', '<style>#x , b{display:none}</style><p id=x>no',
        '<style>/* a */ @media print{p{color:red}} p{display:none!important}</style><p style="display:block">no',
        '<style><!-- div p{} .a, em { color: red; DISPLAY : NONE } --></style><em>no</em>',
      ].map((html) => ({ what: html, html: `${html}<div>yes</div>`, texts: ['yes'], warnings: hidden(1) })),
      { what: 'keeps elements that a later style shows again', html: '<style>.x{display:none} p.x{display:block} .y{display:none} .y{display:block}</style><p class=x>a<p class=y>b<p hidden style="display:block">c', texts: ['a', 'b', 'c'] },
      { what: 'keeps a visible element inside a hidden element', html: '<p style="visibility:hidden">no <b style="visibility:visible">yes</b></p><p style="font-size:0">no<b style="font-size:12px">too</b></p>', texts: ['yes', 'too'], warnings: hidden(2) },
      { what: 'omits the hidden cells of a table', html: '<table><tr><td>a<td hidden>no<td>b<tr hidden><td>no</table>', texts: ['a | b'], warnings: hidden(2) },
      { what: 'gives no warning for a hidden element without words', html: 'a<p hidden> <script>x()</script></p><dialog open>b</dialog><i aria-hidden=true>c</i>', texts: ['a', 'b', 'c'] },
      { what: 'ends a hidden paragraph at the beginning of the next paragraph', html: '<p hidden>no<p>yes', texts: ['yes'], warnings: hidden(1) },
    ]); // prettier-ignore
  });

  const name = fc.stringMatching(/^[a-z]{1,8}$/);

  it('keeps each value in its column, for tables of any shape', async () => {
    const value = fc.oneof(fc.constant(''), name);
    const tables = fc
      .integer({ min: 2, max: 6 })
      .chain((width) =>
        fc.array(fc.array(value, { minLength: width, maxLength: width }), { minLength: 1, maxLength: 20 }),
      );
    const row = (tag: string, cells: readonly string[]) => `<tr>${cells.map((cell) => `<${tag}>${cell}`).join('')}`;
    await fc.assert(
      fc.asyncProperty(tables, async (values) => {
        const header = values[0]?.map((_, at) => `Column${at}`) ?? [];
        const html = `<table>${row('th', header)}${values.map((cells) => row('td', cells)).join('')}</table>`;
        const found = (await texts(html)).map((line) => ` ${line} `.split('|').map((cell) => cell.trim()));
        expect(found).to.deep.equal([header, ...values.filter((cells) => cells.some((cell) => cell !== ''))]);
      }),
    );
  });

  it('reads every word once and in order, even if tags are broken', async () => {
    const tags = [
      'p',
      'div',
      'ul',
      'li',
      'ol',
      'b',
      'i',
      'span',
      'h2',
      'sup',
      'blockquote',
      'dl',
      'dt',
      'dd',
      'section',
      'a',
      'pre',
    ];
    const piece = fc.oneof(
      { weight: 3, arbitrary: fc.constant('word') },
      fc.constantFrom(...tags.flatMap((tag) => [`<${tag}>`, `</${tag}>`])),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 40 }), async (pieces) => {
        let count = 0;
        const html = pieces.map((one) => (one === 'word' ? ` w${count++}w ` : one)).join('');
        const { sections } = await readAs('html', html);
        const all = sections.flatMap(({ headings, paragraphs }) => [
          ...headings,
          ...paragraphs.map(({ text }) => text),
        ]);
        const distinctWords = [...new Set(all.join(' ').match(/w\d+w/g) ?? [])];
        expect(distinctWords).to.deep.equal(Array.from({ length: count }, (_, at) => `w${at}w`));
      }),
      { numRuns: 500 },
    );
  });

  it('needs a time that grows linearly with the text', () => {
    const read = (html: string) => readHtml(html, new SectionBuilder());
    for (const piece of [
      '<div>',
      '<ul><li>',
      '<b>',
      '<sup>',
      '<p><font size=1>',
      '<table><tr><td>',
      '</b><div>',
      '<td><div>',
      '<!--',
      '<rt>',
      '&amp;',
    ])
      expectLinear(piece, manyTimes(piece, { end: 'word' }), read, 16_000);
    const styles = (size: number) =>
      `<style>${'.a{display:none}'.repeat(size / 32)}</style>${'<p class=a>b'.repeat(size / 32)}`;
    expectLinear('rules of a style', styles, read, 16_000);
    expectLinear(
      'attributes',
      (size: number) => `<p ${Array.from({ length: size / 4 }, (_, at) => `a${at}`).join(' ')}>`,
      parseHtml,
      16_000,
    );
  }).timeout(60_000);
});
