/** Tests which sentences the counter of hard sentences counts, and which sentences it accepts. */
import { expect } from 'chai';
import { placesIn } from '../../dev/words/places.ts';

const countedIn = (file: string, source: string) => placesIn(file, source).map(({ line, habit }) => [line, habit.name]);
const habitOf = (sentence: string) => placesIn('page.md', sentence).map(({ habit }) => habit.name);

describe('the counter of hard sentences', () => {
  const hard: readonly [sentence: string, ...habits: string[]][] = [
    ['What of a file decides about it.', 'clause as a noun'],
    ['It depends on the size of what is stored.', 'clause as a noun'],
    ['The call waits where nothing is free.', 'where for if or when'],
    ['Where a proxy buffers, set a header.', 'where for if or when'],
    ['Of a large audience 5,000 students are checked.', 'fragment'],
    ['Deletes the row and one that refers to it.', 'pronoun without a noun'],
    ['A comment locks its post; the same for a reaction.', 'pronoun without a noun'],
    ['The file is removed at once.', 'word with two meanings'],
    ['The lock waits until nobody reads the row.', 'nobody and somebody for parts of the program'],
    [`The worker ${'reads '.repeat(24)}rows.`, 'long sentence'],
  ];
  for (const [sentence, ...names] of hard)
    it(`counts ${names[0]}: ${sentence.slice(0, 60)}`, () => expect(habitOf(sentence)).to.deep.equal(names));

  const plain: readonly string[] = [
    'The columns that decide whether an uploaded file is accepted.',
    'What does a lease do?',
    'If a proxy buffers, set a header.',
    'The page where a student signs in.',
    'A preview checks only the newest 5,000 students, because a person waits for it.',
    'One of the clubs has the permit.',
    `The worker ${'reads '.repeat(22)}rows.`,
    'Read the body first: `what of a body` is code here.',
  ];
  for (const sentence of plain)
    it(`passes: ${sentence.slice(0, 60)}`, () => expect(habitOf(sentence)).to.deep.equal([]));

  it('counts a participle that names a variable in code, but not in a string or a comment', () => {
    expect(countedIn('a.ts', `const told = 1;\nconst text = 'const told = 1';\n// const told\n`)).to.deep.equal([
      [1, 'participle as a name'],
    ]);
  });

  it('counts an error message that states a rule, and accepts a message that names the value', () => {
    const source = "throw new Error('A fact has an id');\nthrow new Error(`Fact ${type} has no id`);\n";
    expect(countedIn('a.ts', source)).to.deep.equal([[1, 'error that states a rule']]);
  });

  it('reads each paragraph and each tag of a comment as a separate text', () => {
    const source = `/**\n * The lease ends.\n * @returns by what the time grew\n */\n`;
    expect(countedIn('a.ts', source)).to.deep.equal([[3, 'clause as a noun']]);
  });

  it('reads comments in SQL statements, but not the statements', () => {
    const source = 'const q = `SELECT 1 -- What is left.\n  WHERE it`;\n';
    expect(countedIn('a.ts', source)).to.deep.equal([[1, 'clause as a noun']]);
  });

  it('ignores code in pages', () => {
    expect(countedIn('a.md', '```\nWhat is left.\n```\n')).to.deep.equal([]);
  });
});
