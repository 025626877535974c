import { expect } from 'chai';
import fc from 'fast-check';
import { languages } from '../../../../domain/agents/agents.policy.ts';
import { cutPassages, passageLength, type Passage } from '../../../../domain/agents/indexing/passages.policy.ts';
import { SectionBuilder, type Paragraph, type Section } from '../../../../domain/agents/indexing/sections.ts';
import { lengthOf } from '../../../../domain/agents/indexing/text.policy.ts';
import { sentences } from '../../../toolkit/builders/office-files.ts';

const cut = (sections: Section[]): Passage[] => [...cutPassages(sections, 'en')];
const section = (...paragraphs: (string | Paragraph)[]): Section => ({
  page: 3,
  headings: ['Knots', 'Bends'],
  paragraphs: paragraphs.map((given) => (typeof given === 'string' ? { text: given, kind: 'prose' } : given)),
});
const wordsOf = (texts: string[]) =>
  texts
    .join(' ')
    .split(/\s+/)
    .filter((word) => word !== '');
const lettersOf = (texts: string[]) => texts.join('').replace(/\s+/g, '');

describe('cutting into passages', () => {
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

  /** The passages of each section: they come in its order, and each belongs to one. */
  function bySection(sections: readonly Section[]): { given: Section; passages: Passage[] }[] {
    return sections.map((given) => ({ given, passages: cut([given]) }));
  }

  it('no word is lost, doubled or moved; each passage is of one section alone', () => {
    fc.assert(
      fc.property(builtSections, (sections) => {
        for (const { given, passages } of bySection(sections)) {
          const texts = given.paragraphs.map((one) => one.text);
          expect(lettersOf(passages.map((one) => one.text))).to.equal(lettersOf(texts));
          if (wordsOf(texts).every((one) => lengthOf(one) <= 300))
            expect(wordsOf(passages.map((one) => one.text))).to.deep.equal(wordsOf(texts));
          for (const { page, headings } of passages)
            expect({ page, headings }).to.deep.equal({ page: given.page, headings: given.headings });
        }
        expect(cut(sections)).to.deep.equal(bySection(sections).flatMap(({ passages }) => passages));
      }),
      { numRuns: 300 },
    );
  });

  it('a passage has 300 to 600 characters; the last of its section alone may have fewer', () => {
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

  it('the blocks of a passage, joined, are its text; none is empty, and white space stands at no end', () => {
    fc.assert(
      fc.property(builtSections, (sections) => {
        for (const { blocks, text: whole } of cut(sections)) {
          expect(blocks.join('')).to.equal(whole);
          expect(whole).to.equal(whole.trim());
          for (const block of blocks) expect(block.trim()).to.not.equal('');
        }
      }),
    );
  });

  it('the same sections give the same passages, in each language', () => {
    fc.assert(
      fc.property(builtSections, fc.constantFrom(...languages), (sections, language) => {
        expect([...cutPassages(sections, language)]).to.deep.equal([
          ...cutPassages(structuredClone(sections), language),
        ]);
      }),
      { numRuns: 50 },
    );
  });

  it('blocks are sentences', () => {
    const [passage, ...others] = cut([section('A bowline holds. Does it slip? No! "Never," he said.')]);
    expect(others).to.deep.equal([]);
    expect(passage).to.deep.equal({
      page: 3,
      headings: ['Knots', 'Bends'],
      blocks: ['A bowline holds. ', 'Does it slip? ', 'No! ', '"Never," he said.'],
      text: 'A bowline holds. Does it slip? No! "Never," he said.',
    });
  });

  it('an abbreviation ends no sentence', () => {
    const [passage] = cut([section('Ask Dr. Quay about it. See fig. 3, p. 40. O Sr. Silva sabe.')]);
    expect(passage?.blocks).to.deep.equal(['Ask Dr. Quay about it. ', 'See fig. 3, p. 40. ', 'O Sr. Silva sabe.']);
  });

  it('a row is a block, and a line of code', () => {
    const [passage] = cut([
      section(
        { kind: 'row', text: 'Knot | Use' },
        { kind: 'row', text: 'Reef | Sails' },
        { kind: 'lines', text: 'if (tide) {\n    wait();\n}' },
      ),
    ]);
    expect(passage?.blocks).to.deep.equal(['Knot | Use\n', 'Reef | Sails\n', 'if (tide) {\n    ', 'wait();\n', '}']);
  });

  it('a sentence that is longer than a passage is cut between words, best after a comma', () => {
    const clause = 'when the wind turns and the boat swings round its anchor in the dark bay,';
    const passages = cut([section(`${Array.from({ length: 12 }, () => clause).join(' ')} we row.`)]);
    expect(passages.length).to.equal(2);
    expect(passages[0]?.text.endsWith('dark bay,')).to.equal(true);
    expect(passages[1]?.text.startsWith('when the wind')).to.equal(true);
  });

  it('white space where a passage could end makes it no shorter than it may be', () => {
    const line = `${'x'.repeat(285)}${' '.repeat(40)}${'y'.repeat(500)}`;
    const [first, second, ...others] = cut([section({ kind: 'lines', text: line })]);
    expect(lengthOf(first?.text ?? '')).to.be.within(300, 600);
    expect(lettersOf([first?.text ?? '', second?.text ?? ''])).to.equal(lettersOf([line]));
    expect(others).to.deep.equal([]);
  });

  it('a sentence stays whole where it fits', () => {
    const passages = cut([section(sentences(60, 3))]);
    expect(passages).to.have.length.above(1);
    for (const { blocks } of passages) for (const block of blocks) expect(block.trim()).to.match(/^The .*\.$/);
  });

  it('a paragraph that does not fit any more begins a passage of its own', () => {
    const first = sentences(8, 1);
    const second = sentences(8, 2);
    expect(lengthOf(first)).to.be.within(300, 600);
    expect(cut([section(first, second)]).map((passage) => passage.text)).to.deep.equal([first, second]);
  });

  it('a short end joins what comes before it, or takes some of it', () => {
    const joined = cut([section(sentences(8, 1), 'So it is.')]);
    expect(joined.map((passage) => passage.text)).to.deep.equal([`${sentences(8, 1)}\n\nSo it is.`]);
    const shared = cut([section(sentences(13, 1))]);
    expect(shared.length).to.equal(2);
    for (const passage of shared) expect(lengthOf(passage.text)).to.be.within(300, 600);
  });
});

describe('sections', () => {
  const built = (build: (builder: SectionBuilder) => void) => {
    const builder = new SectionBuilder();
    build(builder);
    return builder
      .end()
      .map(({ page, headings, paragraphs }) => ({ page, headings, texts: paragraphs.map(({ text }) => text) }));
  };
  const prose = (text: string) => ({ text, kind: 'prose' as const });

  it('stand under the path of their headings', () => {
    const sections = built((builder) => {
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

  it('a heading under which nothing stands is itself text', () => {
    const sections = built((builder) => {
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

  it('headings go on over pages where they are the file’s, and not where they are the page’s', () => {
    const of = (keepsHeadings: boolean) =>
      built((builder) => {
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

  it('a heading that is too long to be one is text', () => {
    const long = 'word '.repeat(60).trim();
    expect(built((builder) => builder.heading(1, long))).to.deep.equal([{ page: null, headings: [], texts: [long] }]);
  });

  it('more than ten million characters are too many', () => {
    const builder = new SectionBuilder();
    const text = 'x'.repeat(1_000_000);
    for (let at = 0; at < 10; at++) builder.paragraph(prose(text));
    expect(() => builder.paragraph(prose('x')))
      .to.throw()
      .with.property('code', 'too_large');
  });
});
