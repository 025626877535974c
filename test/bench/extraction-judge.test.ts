import { expect } from 'chai';
import type { Gold } from '../../bench/extraction/gold.ts';
import { judge, type Reading } from '../../bench/extraction/judge.ts';
import { figuresOf } from '../../bench/extraction/suite.ts';
import type { SourceWarningCode } from '../../entities/knowledge/values.ts';
import { tokensOf } from '../../bench/extraction/tokens.ts';

function goldOf(known: Partial<Gold>): Gold {
  return {
    file: 'a.docx',
    kind: 'docx',
    says: null,
    language: 'en',
    writer: 'a test',
    made: 'here',
    covers: [],
    text: [],
    numbers: [],
    cells: [],
    repeatable: [],
    hidden: [],
    absent: [],
    same: {},
    refused: [],
    ...known,
  };
}

function readingOf(...texts: string[]): Reading & { result: 'read' } {
  return { result: 'read', passages: texts.map((text) => ({ headings: [], text })), warnings: [] };
}

describe('the splitter of expected texts into words', () => {
  const cases: { what: string; text: string; words: string[] }[] = [
    {
      what: 'strips punctuation only at the ends of words',
      text: '(See “a.b”, 10,5: x!)',
      words: ['See', 'a.b', '10,5', 'x'],
    },
    {
      what: 'keeps angle brackets and signs',
      text: 'to <user>@<host>; List<String>',
      words: ['to', '<user>@<host>', 'List<String>'],
    },
    {
      what: 'writes all forms of superscripts in one form',
      text: '10³ 10^3 10^{3} 10^(3) 10⁻⁶',
      words: ['10^3', '10^3', '10^3', '10^3', '10^-6'],
    },
    { what: 'writes all forms of subscripts in one form', text: 'H₂O H_{2}O', words: ['H_2O', 'H_2O'] },
    { what: 'removes blanks beside the signs of equations', text: 'E = mc²', words: ['E=mc^2'] },
    {
      what: 'keeps invisible joiners of letters, and removes invisible marks of the text direction',
      text: 'می\u200Cخواهم \u200Eb',
      words: ['می\u200Cخواهم', 'b'],
    },
    {
      what: 'splits text into letters if its script has no blanks between words',
      text: '三時、9時',
      words: ['三', '時', '9', '時'],
    },
    {
      what: 'keeps a blank as a word of its own between letters of a script that uses no blanks',
      text: '三 時',
      words: ['三', '␣', '時'],
    },
    { what: 'ignores a line feed between letters of a script without blanks', text: '三\n時', words: ['三', '時'] },
    { what: 'keeps Thai marks together with their letters', text: 'ที่', words: ['ที่'] },
  ];
  for (const { what, text, words } of cases) it(what, () => expect(tokensOf(text)).to.deep.equal(words));

  it('replaces each listed variant of a word by the word itself', () => {
    expect(tokensOf('the 1^st', { '1st': ['1^st'] })).to.deep.equal(['the', '1st']);
  });
});

describe('the comparison of extracted text with its gold text', () => {
  const gold = goldOf({ text: [{ text: 'A cube has 10³ litres.' }] });

  it('counts a wrong word twice: the right word as missing, and the wrong word as extra', () => {
    const { words, faults, lostSilently } = judge(gold, readingOf('A cube has 103 litres.'));
    expect(words).to.deep.equal({ right: 4, of: 6 });
    expect(faults).to.deep.equal(['missing: 10^3 (in: A cube has 10³ litres.)', 'extra: 103']);
    expect(lostSilently).to.equal(1);
  });

  it('counts the repetition of a word as an extra word', () => {
    expect(judge(gold, readingOf('A cube has has 10³ litres')).words).to.deep.equal({ right: 5, of: 6 });
  });

  it('counts the words of a heading once, in the first passage with this heading', () => {
    const goldText = goldOf({
      text: [{ text: 'A' }, { text: 'B' }, { text: 'one two' }, { text: 'C' }, { text: 'three' }],
    });
    const passages = [
      { headings: ['A', 'B'], text: 'one' },
      { headings: ['A', 'B'], text: 'two' },
      { headings: ['A', 'C'], text: 'three' },
    ];
    const { words, order } = judge(goldText, { result: 'read', passages, warnings: [] });
    expect([words, order]).to.deep.equal([
      { right: 6, of: 6 },
      { right: 6, of: 6 },
    ]);
  });

  it('counts a word at a wrong position as right, but counts its order as wrong', () => {
    const { words, order, faults } = judge(
      goldOf({ text: [{ text: 'one two three four' }] }),
      readingOf('four one two three'),
    );
    expect([words, order]).to.deep.equal([
      { right: 4, of: 4 },
      { right: 3, of: 4 },
    ]);
    expect(faults).to.deep.equal(['order: four']);
  });

  it('accepts a block at any position if the gold text marks the block with `anywhere`', () => {
    const free = goldOf({ text: [{ text: 'note here', anywhere: true }, { text: 'one two' }] });
    expect(judge(free, readingOf('one note here two'))).to.deep.include({ order: { right: 2, of: 2 }, faults: [] });
  });

  it('accepts a number only if its words are next to each other', () => {
    const numbered = goldOf({ text: [{ text: '4.2 m and 5' }], numbers: ['4.2 m', '5'] });
    expect(judge(numbered, readingOf('4.2 and 5 m')).numbers).to.deep.equal({ right: 1, of: 2 });
  });

  describe('cells', () => {
    const table = goldOf({
      cells: [
        { column: 'Strength', row: 'Bowline', value: '' },
        { column: 'Minutes', row: 'Bowline', value: '60' },
      ],
    });
    const cases: { what: string; passages: string[]; right: number }[] = [
      {
        what: 'accepts an empty cell in its column',
        passages: ['Knot | Strength | Minutes\nBowline | | 60'],
        right: 2,
      },
      {
        what: 'counts a value that moved to another column as wrong',
        passages: ['Knot | Strength | Minutes\nBowline | 60'],
        right: 0,
      },
      {
        what: 'counts a value as wrong if its header is in another passage',
        passages: ['Knot | Strength | Minutes', 'Bowline | | 60'],
        right: 0,
      },
      {
        what: 'accepts a value if the same cell also contains the name of its header',
        passages: ['Knot: Bowline | Strength: | Minutes: 60'],
        right: 2,
      },
      {
        what: 'counts an empty cell as wrong if the passages omit the cell',
        passages: ['Knot: Bowline | Minutes: 60'],
        right: 1,
      },
      {
        what: 'accepts rows that begin and end with a bar',
        passages: ['| Knot | Strength | Minutes |\n| Bowline | | 60 |'],
        right: 2,
      },
    ];
    for (const { what, passages, right } of cases)
      it(what, () => expect(judge(table, readingOf(...passages)).cells).to.deep.equal({ right, of: 2 }));
  });

  it('does not count repeated headers or hidden words', () => {
    const goldText = goldOf({ text: [{ text: 'Knot | Use' }], repeatable: ['Knot', 'Use'], hidden: ['Draft only'] });
    expect(judge(goldText, readingOf('Knot | Use\nKnot | Use\nDraft'))).to.deep.include({
      words: { right: 2, of: 2 },
      faults: [],
    });
  });

  it('lists each text that must not be in the extracted text but is', () => {
    const { shownWrongly, faults } = judge(goldOf({ absent: ['old price'] }), readingOf('the old price'));
    expect([shownWrongly, faults]).to.deep.equal([1, ['extra: the old price', 'shown: old price']]);
  });

  describe('unreadable content', () => {
    const scanned = goldOf({
      text: [{ text: 'Page one' }, { text: 'Five words in a picture', unreadable: 'page_is_a_picture', page: 2 }],
    });
    const warnedOf = (code: SourceWarningCode, ...pages: number[]) =>
      judge(scanned, { ...readingOf('Page one'), warnings: [{ code, count: 1, pages }] });

    it('counts as silently lost, not as missing, if the reader returns no warning', () => {
      expect(judge(scanned, readingOf('Page one'))).to.deep.include({
        words: { right: 2, of: 2 },
        warned: { right: 0, of: 1 },
        lostSilently: 5,
        faults: ['not warned: page_is_a_picture on page 2'],
      });
    });

    it('does not count as lost if the expected warning names its page or the whole file', () => {
      expect(warnedOf('page_is_a_picture', 1, 2)).to.deep.include({ lostSilently: 0, faults: [] });
      expect(warnedOf('page_is_a_picture')).to.deep.include({ lostSilently: 0, faults: [] });
    });

    it('counts as lost if the warning names a different page or has a different kind', () => {
      expect(warnedOf('page_is_a_picture', 1).lostSilently).to.equal(5);
      expect(warnedOf('letters_unmapped', 2).lostSilently).to.equal(5);
    });
  });

  it('does not count missing words as silently lost if a warning says that text was lost', () => {
    const lostWith = (code: SourceWarningCode) =>
      judge(gold, { ...readingOf('A cube has'), warnings: [{ code, count: 1, pages: [] }] }).lostSilently;
    expect([lostWith('part_skipped'), lostWith('hidden_left_out')]).to.deep.equal([0, 2]);
  });

  it('counts a refused file as not read, and not as silently lost', () => {
    const { words, lostSilently, faults } = judge(gold, { result: 'unreadable', code: 'unsupported_type' });
    expect([words, lostSilently, faults]).to.deep.equal([{ right: 0, of: 5 }, 0, ['refused as unsupported_type']]);
  });

  it('reports a file that the reader accepts although its gold text requires a refusal', () => {
    const refused = goldOf({ refused: ['no_text'] });
    expect(judge(refused, { result: 'unreadable', code: 'no_text' })).to.deep.include({
      warned: { right: 1, of: 1 },
      faults: [],
    });
    expect(judge(refused, readingOf('a')).faults).to.deep.equal(['read, not refused as no_text']);
  });

  it('adds up the results of all files, and never rounds an imperfect share up to 1.00', () => {
    const wrong = judge(gold, readingOf('A cube has 103 litres.'));
    const right = judge(gold, readingOf('A cube has 10³ litres.'));
    expect(figuresOf('extraction docx', [right, wrong])).to.equal(
      'extraction docx files 2, words right 0.81, numbers right none, order right 1.00, cells right none, warned none, lost silently 1, shown wrongly 0',
    );
  });
});
