import { expect } from 'chai';
import fc from 'fast-check';
import { letterOf, textOfString } from '../../../../domain/knowledge/extraction/pdf/letters/pdf-letters.ts';
import { linesOf } from '../../../../domain/knowledge/extraction/pdf/letters/pdf-lines.ts';
import { logical } from '../../../../domain/knowledge/extraction/pdf/letters/right-to-left.ts';
import { joined, wordsOf } from '../../../../domain/knowledge/extraction/pdf/letters/words.ts';

const read = (visualText: string) => logical(Array.from(visualText, (text) => ({ text }))).map(({ text }) => text).join(''); // prettier-ignore
const joinedLines = (...texts: string[]) => joined(texts.map((text) => ({ text })), wordsOf(texts)); // prettier-ignore

describe('the reader of PDF lines', () => {
  it('puts words of right-to-left scripts in reading order, and leaves numbers as they are', () => {
    expect(read('.תוקד 90 ךשמנו')).to.equal('ונמשך 90 דקות.');
    expect(read('.תוקד 12:30-ב ליחתמ')).to.equal('מתחיל ב-12:30 דקות.');
    expect(read('היירפסב Sailing 101 רפסה')).to.equal('הספר Sailing 101 בספרייה');
    expect(read('(שדח) רפס')).to.equal('ספר (חדש)');
    expect(read('The word םולש means peace.')).to.equal('The word שלום means peace.');
  });

  it('does not lose or add letters when the order changes', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('a', 'b', '1', '2', ' ', '.', ',', 'ש', 'ל', 'ع') }),
        (visualText) => {
          expect(Array.from(read(visualText)).toSorted()).to.deep.equal(Array.from(visualText).toSorted());
        },
      ),
    );
  });

  it('joins lines of Chinese, Japanese and Thai without a blank, and of Korean with a blank', () => {
    expect(joinedLines('潮水每天', '涨落两次。')).to.equal('潮水每天涨落两次。');
    expect(joinedLines('練習は毎週', 'ヨットで。')).to.equal('練習は毎週ヨットで。');
    expect(joinedLines('เรียนแล่น', 'เรือ')).to.equal('เรียนแล่นเรือ');
    expect(joinedLines('수업은', '토요일')).to.equal('수업은 토요일');
    expect(joinedLines('one', 'two')).to.equal('one two');
  });

  it('keeps a hyphen at the end of a line if the word has this hyphen elsewhere', () => {
    expect(joinedLines('the anch-', 'or holds')).to.equal('the anchor holds');
    expect(joinedLines('a well-known boat is well-', 'known here')).to.equal('a well-known boat is well-known here');
    expect(joinedLines('the anch\u00AD', 'or holds')).to.equal('the anchor holds');
    expect(joinedLines('im Nord-', 'Süd-Kurs')).to.equal('im Nord-Süd-Kurs');
    expect(joinedLines('die Haupt und Haupt-', 'und Nebensaison')).to.equal('die Haupt und Haupt- und Nebensaison');
    expect(joinedLines('a self that has a service, so self-', 'service is')).to.equal(
      'a self that has a service, so self-service is',
    );
    expect(joinedLines('1990-', '1995')).to.equal('1990-1995');
  });

  it('converts presentation forms to letters, and reports unknown forms', () => {
    expect(['\uFB01', '\uFEE1', '\uFE12', '\u2F00', '\uF0B7', 'é'].map((shape) => letterOf(shape))).to.deep.equal([
      'fi', 'م', '。', '一', '•', 'é',
    ]); // prettier-ignore
    expect(['\u0003', '\uFFFD', '\uE123', '\u{F0001}'].map((shape) => letterOf(shape))).to.deep.equal([
      undefined, undefined, undefined, undefined,
    ]); // prettier-ignore
  });

  it('decodes the text strings of a PDF', () => {
    expect(textOfString('\u00FE\u00FF\u0006\u0045')).to.equal('\u0645');
    expect(textOfString('plain')).to.equal('plain');
  });

  it('omits the pronunciation that is printed below letters', () => {
    const letters = [
      { text: '東', x: 50, y: 700, width: 12, size: 12 },
      { text: '京', x: 62, y: 700, width: 12, size: 12 },
      { text: 'と', x: 52, y: 711, width: 5, size: 5 },
      { text: 'の', x: 74, y: 700, width: 12, size: 12 },
    ];
    expect(linesOf(letters).map(({ text }) => text)).to.deep.equal(['東京の']);
  });

  it('divides cells at vertical lines, even if their words are close together', () => {
    const letters = Array.from('ab', (text, at) => ({ text, x: 50 + at * 8, y: 700, width: 6, size: 12 }));
    const rule = { x: 57, y: 690, width: 0.5, height: 30 };
    expect(linesOf(letters, [rule])[0]?.segments.map(({ text }) => text)).to.deep.equal(['a', 'b']);
  });
});
