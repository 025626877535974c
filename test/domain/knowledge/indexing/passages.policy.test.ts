import { expect } from 'chai';
import fc from 'fast-check';
import { languages } from '../../../../entities/clubs/values.ts';
import { cutPassages, passageLength, type Passage } from '../../../../domain/knowledge/indexing/passages.policy.ts';
import { SectionBuilder, type Paragraph, type Section } from '../../../../domain/knowledge/extraction/sections.ts';
import { lengthOf } from '../../../../domain/knowledge/extraction/text.policy.ts';
import { sentences } from '../../../toolkit/builders/office-files.ts';

const cut = (sections: Section[]): Passage[] => [...cutPassages(sections, 'en')];
const section = (...paragraphs: (string | Paragraph)[]): Section => ({
  page: 3,
  headings: ['Knots', 'Bends'],
  paragraphs: paragraphs.map((paragraph) =>
    typeof paragraph === 'string' ? { text: paragraph, kind: 'prose' } : paragraph,
  ),
});
const wordsOf = (texts: string[]) =>
  texts
    .join(' ')
    .split(/\s+/)
    .filter((word) => word !== '');
const lettersOf = (texts: string[]) => texts.join('').replace(/\s+/g, '');

describe('cutting sections into passages', () => {
  const word = fc.oneof(
    {
      weight: 30,
      arbitrary: fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'é'), minLength: 1, maxLength: 12 }),
    },
    {
      weight: 6,
      arbitrary: fc.constantFrom('Dr.', 'No!', 'e.g.', 'well-known', '👩‍🚀', '3.', 'Ende.', 'Sim?', 'São', '(see'),
    },
    { weight: 1, arbitrary: fc.integer({ min: 200, max: 1_500 }).map((length) => 'ñ'.repeat(length)) },
    { weight: 1, arbitrary: fc.integer({ min: 100, max: 900 }).map((length) => '🦀'.repeat(length)) },
  );
  const separator = fc.constantFrom(' ', ' ', ' ', ' ', '. ', ', ', '? ', '\n', '\n    ', '\t');
  const text = fc
    .array(fc.tuple(word, separator), { minLength: 1, maxLength: 260 })
    .map((parts) => parts.flat().join(''));
  const paragraph = fc.record({ text, kind: fc.constantFrom<Paragraph['kind']>('prose', 'prose', 'row', 'lines') });
  const builtSections = fc
    .array(
      fc.oneof(
        { weight: 8, arbitrary: paragraph },
        {
          weight: 2,
          arbitrary: fc.record({ level: fc.integer({ min: 1, max: 3 }), text: fc.string({ maxLength: 30 }) }),
        },
        { weight: 1, arbitrary: fc.constant('page' as const) },
      ),
      { maxLength: 14 },
    )
    .map((parts) => {
      const builder = new SectionBuilder();
      let page = 0;
      for (const part of parts) {
        if (part === 'page') builder.startPage((page += 1), true);
        else if ('level' in part) builder.heading(part.level, part.text);
        else builder.paragraph(part);
      }
      return builder.end();
    });

  function bySection(sections: readonly Section[]): { original: Section; passages: Passage[] }[] {
    return sections.map((original) => ({ original, passages: cut([original]) }));
  }

  it('keeps every word in order, and makes each passage from one section', () => {
    fc.assert(
      fc.property(builtSections, (sections) => {
        for (const { original, passages } of bySection(sections)) {
          const texts = original.paragraphs.map((one) => one.text);
          expect(lettersOf(passages.map((one) => one.text))).to.equal(lettersOf(texts));
          if (wordsOf(texts).every((one) => lengthOf(one) <= 300))
            expect(wordsOf(passages.map((one) => one.text))).to.deep.equal(wordsOf(texts));
          for (const { page, headings } of passages)
            expect({ page, headings }).to.deep.equal({ page: original.page, headings: original.headings });
        }
        expect(cut(sections)).to.deep.equal(bySection(sections).flatMap(({ passages }) => passages));
      }),
      { numRuns: 300 },
    );
  });

  it('makes passages of 300 to 600 characters, but the last passage of a section may be shorter', () => {
    fc.assert(
      fc.property(builtSections, (sections) => {
        for (const { passages } of bySection(sections)) {
          for (const [at, passage] of passages.entries()) {
            const length = lengthOf(passage.text);
            expect(length).to.be.at.most(passageLength.most);
            expect(length).to.be.at.least(at === passages.length - 1 ? 1 : passageLength.least);
          }
        }
      }),
      { numRuns: 300 },
    );
  });

  it('makes non-empty blocks of one line that together equal the trimmed text', () => {
    fc.assert(
      fc.property(builtSections, (sections) => {
        for (const { blocks, text: whole } of cut(sections)) {
          expect(blocks.join('')).to.equal(whole);
          expect(whole).to.equal(whole.trim());
          for (const block of blocks) expect(block.trim()).to.match(/^[^\n]+$/);
        }
      }),
    );
  });

  it('returns equal passages for equal sections, in each language', () => {
    fc.assert(
      fc.property(builtSections, fc.constantFrom(...languages), (sections, language) => {
        expect([...cutPassages(sections, language)]).to.deep.equal([
          ...cutPassages(structuredClone(sections), language),
        ]);
      }),
      { numRuns: 50 },
    );
  });

  it('makes each sentence a block', () => {
    const [passage, ...others] = cut([section('A bowline holds. Does it slip? No! "Never," he said.')]);
    expect(others).to.deep.equal([]);
    expect(passage).to.deep.equal({
      page: 3,
      headings: ['Knots', 'Bends'],
      blocks: ['A bowline holds. ', 'Does it slip? ', 'No! ', '"Never," he said.'],
      text: 'A bowline holds. Does it slip? No! "Never," he said.',
      seconds: null,
    });
  });

  it('does not end a sentence at an abbreviation', () => {
    const [passage] = cut([section('Ask Dr. Quay about it. See fig. 3, p. 40. O Sr. Silva sabe.')]);
    expect(passage?.blocks).to.deep.equal(['Ask Dr. Quay about it. ', 'See fig. 3, p. 40. ', 'O Sr. Silva sabe.']);
  });

  for (const words of [
    'A. Dr. dr. Dra. dra. Mr. Mrs. Ms. Prof. Profa. Sr. Sra. Mme. St. Sto. Sta. vs. Fig. fig. Figs. figs. No. no. P. p. Pp. pp.',
    'Pág. pág. Págs. págs. Cap. cap. Sec. sec. Ed. ed. Vol. vol. Art. art. Nr. nr. Abb. e.g. i.e.',
  ])
    for (const short of words.split(' '))
      it(`does not end a sentence at ${short}, at any position in the text`, () => {
        const blocks = [`Look ${short} Quay. `, `Then (${short} Quay) it slips. `, 'It holds.'];
        expect(cut([section(blocks.join(''))])[0]?.blocks).to.deep.equal(blocks);
        expect(cut([section(`${short} Quay. It holds.`)])[0]?.blocks).to.deep.equal([`${short} Quay. `, 'It holds.']);
      });

  it('does not end a sentence at an abbreviation of two words', () => {
    for (const short of ['p. ex.', 'p.ex.', 'z. B.', 'z.B.']) {
      const blocks = [`Look ${short} Quay. `, 'It holds.'];
      expect(cut([section(blocks.join(''))])[0]?.blocks).to.deep.equal(blocks);
    }
  });

  it('ends a sentence after a word that only looks like an abbreviation', () => {
    const blocks = ['A casino. ', 'Its stairs. ', 'The top. ', 'It holds.'];
    expect(cut([section(blocks.join(''))])[0]?.blocks).to.deep.equal(blocks);
  });

  it('keeps the number of a list item together with its first sentence', () => {
    for (const [prose, blocks] of [
      ['3. Tie it. Pull.', ['3. Tie it. ', 'Pull.']],
      ['123. Tie it. Pull.', ['123. Tie it. ', 'Pull.']],
      ['1234. Tie it. Pull.', ['1234. ', 'Tie it. ', 'Pull.']],
      ['In 30. Tie it.', ['In 30. ', 'Tie it.']],
    ] as const)
      expect(cut([section(prose)])[0]?.blocks).to.deep.equal(blocks);
  });

  describe('cutting lines and rows with given lengths', () => {
    const line = (length: number) => 'x'.repeat(length);
    const row = (length: number): Paragraph => ({ kind: 'row', text: line(length) });
    const lines = (...lengths: number[]): Paragraph => ({ kind: 'lines', text: lengths.map(line).join('\n') });
    /** The last of the three lines begins with 40 spaces. */
    const indented = (...lengths: [number, number, number]): Paragraph => ({
      kind: 'lines',
      text: `${line(lengths[0])}\n${line(lengths[1])}\n${' '.repeat(40)}${line(lengths[2])}`,
    });
    for (const [what, paragraphs, lengths] of [
      ['ends a passage of 300 characters before a row that does not fit', [row(300), row(400)], [300, 400]],
      ['fills a passage up to 600 characters with rows', [row(300), row(299), row(400)], [600, 400]],
      ['fills a passage up to 600 characters with lines', [lines(300, 299), row(400)], [600, 400]],
      ['ends a passage before a row that does not fit', [row(400), row(590), row(50)], [400, 590, 50]],
      ['cuts a row that does not fit after a passage of 299 characters', [row(299), row(400)], [600, 100]],
      [
        'repeats the last line of the previous passage in a short last passage',
        [row(400), lines(300, 250), row(100)],
        [400, 300, 352],
      ],
      ['repeats only the text that a short last passage needs', [lines(300, 20, 200), row(98)], [321, 300]],
      ['repeats all lines that fit into a short last passage', [lines(300, 299), row(299)], [300, 600]],
      ['repeats nothing if the previous passage would become too short', [lines(250, 300), row(100)], [551, 100]],
      ['repeats nothing if the last passage would become too long', [indented(300, 298, 299)], [599, 299]],
      ['repeats nothing if the last passage has 300 characters', [lines(300, 250), row(300)], [551, 300]],
    ] as const)
      it(what, () => {
        expect(cut([section(...paragraphs)]).map((passage) => lengthOf(passage.text))).to.deep.equal(lengths);
      });
  });

  it('makes each table row and each line of code a block', () => {
    const [passage] = cut([
      section(
        { kind: 'row', text: 'Knot | Use' },
        { kind: 'row', text: 'Reef | Sails' },
        { kind: 'lines', text: 'if (tide) {\n    wait();\n}' },
      ),
    ]);
    expect(passage?.blocks).to.deep.equal(['Knot | Use\n', 'Reef | Sails\n', 'if (tide) {\n    ', 'wait();\n', '}']);
  });

  it('omits the white space before the first line of code', () => {
    const [passage] = cut([section({ kind: 'lines', text: '    wait();\n}' })]);
    expect(passage?.blocks).to.deep.equal(['wait();\n', '}']);
  });

  it('makes no passage for a section without paragraphs or without text', () => {
    expect(cut([section(), section('')])).to.deep.equal([]);
  });

  it('cuts a sentence that is too long between words, if possible after a comma', () => {
    const clause = 'when the wind turns and the boat swings round its anchor in the dark bay,';
    const passages = cut([section(`${Array.from({ length: 12 }, () => clause).join(' ')} we row.`)]);
    expect(passages.length).to.equal(2);
    expect(passages[0]?.text.endsWith('dark bay,')).to.equal(true);
    expect(passages[1]?.text.startsWith('when the wind')).to.equal(true);
  });

  it('cuts a long sentence without a comma after the last word that fits', () => {
    const words = Array.from({ length: 80 }, () => 'abcdefgh').join(' ');
    expect(cut([section(words)]).map(({ text: shown }) => shown)).to.deep.equal([
      words.slice(0, 593),
      words.slice(594),
    ]);
  });

  it('does not make a passage too short if a line contains long white space', () => {
    const line = `${'x'.repeat(285)}${' '.repeat(40)}${'y'.repeat(500)}`;
    const [first, second, ...others] = cut([section({ kind: 'lines', text: line })]);
    expect(lengthOf(first?.text ?? '')).to.be.within(300, 600);
    expect(lettersOf([first?.text ?? '', second?.text ?? ''])).to.equal(lettersOf([line]));
    expect(others).to.deep.equal([]);
  });

  it('keeps sentences whole', () => {
    const blocks = cut([section(sentences(60, 3))]).flatMap((passage) => passage.blocks);
    expect(blocks).to.have.length(60);
    expect(blocks.filter((block) => !/^The .*\.$/.test(block.trim()))).to.deep.equal([]);
  });

  it('begins a new passage with a paragraph that does not fit into the current passage', () => {
    const first = sentences(8, 1);
    const second = sentences(8, 2);
    expect(lengthOf(first)).to.be.within(300, 600);
    expect(cut([section(first, second)]).map((passage) => passage.text)).to.deep.equal([first, second]);
  });

  it('joins a short last passage to the previous passage, or divides the text of both evenly', () => {
    const joined = cut([section(sentences(8, 1), 'So it is.')]);
    expect(joined.map((passage) => passage.text)).to.deep.equal([`${sentences(8, 1)}\n\nSo it is.`]);
    const shared = cut([section(sentences(13, 1))]);
    expect(shared.length).to.equal(2);
    for (const passage of shared) expect(lengthOf(passage.text), passage.text).to.be.within(300, 600);
  });
});

describe('sections', () => {
  const sectionsOf = (build: (builder: SectionBuilder) => void) => {
    const builder = new SectionBuilder();
    build(builder);
    return builder
      .end()
      .map(({ page, headings, paragraphs }) => ({ page, headings, texts: paragraphs.map(({ text }) => text) }));
  };
  const prose = (text: string) => ({ text, kind: 'prose' as const });

  it('have the enclosing headings as their path', () => {
    const sections = sectionsOf((builder) => {
      builder.paragraph(prose('before'));
      builder.heading(1, 'One');
      builder.heading(2, 'Two');
      builder.paragraph(prose('under two'));
      builder.heading(3, 'Three');
      builder.paragraph(prose('under three'));
      builder.heading(2, 'Four');
      builder.paragraph(prose('under four'));
    });
    expect(sections).to.deep.equal([
      { page: null, headings: [], texts: ['before'] },
      { page: null, headings: ['One', 'Two'], texts: ['under two'] },
      { page: null, headings: ['One', 'Two', 'Three'], texts: ['under three'] },
      { page: null, headings: ['One', 'Four'], texts: ['under four'] },
    ]);
  });

  it('contain their heading as text if they have no other text', () => {
    const sections = sectionsOf((builder) => {
      builder.heading(1, 'Alone');
      builder.heading(1, 'With text');
      builder.paragraph(prose('text'));
      builder.heading(2, 'Last');
    });
    expect(sections).to.deep.equal([
      { page: null, headings: [], texts: ['Alone'] },
      { page: null, headings: ['With text'], texts: ['text'] },
      { page: null, headings: ['With text'], texts: ['Last'] },
    ]);
  });

  it('keep a heading on later pages only if the heading belongs to the whole document', () => {
    const of = (keepsHeadings: boolean) =>
      sectionsOf((builder) => {
        builder.startPage(1, keepsHeadings);
        builder.heading(1, 'One');
        builder.paragraph(prose('first'));
        builder.startPage(2, keepsHeadings);
        builder.paragraph(prose('second'));
      }).map(({ page, headings }) => ({ page, headings }));
    expect(of(true)).to.deep.equal([
      { page: 1, headings: ['One'] },
      { page: 2, headings: ['One'] },
    ]);
    expect(of(false)).to.deep.equal([
      { page: 1, headings: ['One'] },
      { page: 2, headings: [] },
    ]);
  });

  it('contain a heading as ordinary text if the heading is too long', () => {
    const long = 'word '.repeat(60).trim();
    expect(sectionsOf((builder) => builder.heading(1, long))).to.deep.equal([
      { page: null, headings: [], texts: [long] },
    ]);
  });

  it('are rejected as too_large beyond ten million characters', () => {
    const builder = new SectionBuilder();
    const text = 'x'.repeat(1_000_000);
    for (let at = 0; at < 10; at++) builder.paragraph(prose(text));
    expect(() => builder.paragraph(prose('x')))
      .to.throw()
      .with.property('code', 'too_large');
  });
});
