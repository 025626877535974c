/** Tests names in all scripts on certificates, as other programs read them (CERT-4). */
import { expect } from 'chai';
import { hasLettersWithoutFont } from '../../../../../domain/learning/certificates/letters/missing.ts';
import { copiedText, taggedTexts } from '../../../../toolkit/assert/pdf-readers.ts';
import { printCertificate, printText } from './printing.ts';
import { sheet } from './sheet.ts';

describe('names in all scripts (CERT-4)', function () {
  this.timeout(60_000);

  it('include at least four names of each script and kind, with letters that the fonts contain', () => {
    const kinds = Map.groupBy(sheet, ({ kind }) => kind);
    for (const [kind, samples] of kinds) if (kind !== 'Very long') expect(samples.length, kind).to.be.at.least(4);
    expect(sheet.length).to.be.at.least(60);
    expect(sheet.filter(({ text }) => hasLettersWithoutFont(text))).to.deep.equal([]);
  });

  for (const { kind, text } of sheet) {
    it(`give a screen reader the original text: ${kind}, ${text.slice(0, 30)}`, async () => {
      const parts = await taggedTexts(await printCertificate({ studentName: text, courseTitle: text, clubName: text }));
      const written = text.normalize('NFC');
      expect(parts.filter((part) => part.role === 'P' && part.text === written)).to.have.length(3);
    });

    // In a line with two directions, a program that copies the text can only guess the order.
    if (kind !== 'Two directions')
      it(`are copied as they were written: ${kind}, ${text.slice(0, 30)}`, async () => {
        expect((await copiedText(await printText(text))).normalize('NFC')).to.equal(text.normalize('NFC'));
      });
  }

  it('need at most 120 KB for one Chinese name, and 60 KB for a name of each other script', async () => {
    expect((await printCertificate({ studentName: '王小明' })).length).to.be.below(120 * 1_024);
    const all = 'Ada Ωκ Щер محمد שרה अनिता কৌশিক மொழி สมชาย 王小明 たなか 김민준 ⛵';
    expect((await printCertificate({ studentName: all })).length).to.be.below(60 * 1_024);
  });
});
