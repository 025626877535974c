import { expect } from 'chai';
import fc from 'fast-check';
import { longestTitle, titleOf } from '../../../../domain/agents/conversations/title.policy.ts';
import { isStorableText } from '../../../../platform/core/text/storable-text.ts';

const lengthOf = (text: string) => Array.from(text).length;

describe('title of a conversation', () => {
  it('is the first line of the question', () => {
    for (const lineBreak of ['\n', '\r\n', '\r', '\v', '\f', '\u0085', '\u2028', '\u2029'])
      expect(titleOf(`Which knot?${lineBreak}Why?`), JSON.stringify(lineBreak)).to.equal('Which knot?');
  });

  it('skips blank lines and removes extra white space', () => {
    expect(titleOf('\n \t\n\u00a0\n  Which \t knot? \n')).to.equal('Which knot?');
  });

  it('skips lines without visible characters', () => {
    expect(titleOf('\u200b\u2060\n\u3164\n\u00ad\u202e\nWhich knot?')).to.equal('Which knot?');
    expect(titleOf('\u200b\n\u2800')).to.equal('…');
    expect(titleOf('Why <img/src=x>?')).to.equal('Why < img/src=x>?');
  });

  it('has at most 120 characters', () => {
    expect(titleOf('a'.repeat(120))).to.equal('a'.repeat(120));
    expect(titleOf('a'.repeat(121))).to.equal('a'.repeat(120));
    expect(titleOf(`${'a'.repeat(119)} b`)).to.equal('a'.repeat(119));
    expect(titleOf('🪢'.repeat(121))).to.equal('🪢'.repeat(120));
  });

  it('does not cut through an emoji or an accented letter', () => {
    const family = '👩‍👩‍👧‍👦'; // seven code points
    expect(titleOf(family.repeat(20))).to.equal(family.repeat(17));
    expect(titleOf(`${'a'.repeat(119)}e\u0301\u0323`)).to.equal('a'.repeat(119));
  });

  it('cuts even a single character if that character is longer than a title', () => {
    expect(titleOf(`a${'\u0301'.repeat(500)}`)).to.equal(`\u00e1${'\u0301'.repeat(119)}`);
  });

  it('is never blank, never too long, and always accepted by Postgres', () => {
    const questions = fc.string({ unit: 'binary', minLength: 1, maxLength: 400 }).filter((text) => /\S/.test(text));
    fc.assert(
      fc.property(fc.oneof(questions, fc.string({ unit: 'grapheme', minLength: 1, maxLength: 400 })), (question) => {
        fc.pre(isStorableText(question) && /\S/.test(question));
        const title = titleOf(question);
        expect(title).to.match(/\S/);
        expect(lengthOf(title)).to.be.at.most(longestTitle);
        expect(isStorableText(title)).to.equal(true);
      }),
      { numRuns: 2_000 },
    );
  });
});
