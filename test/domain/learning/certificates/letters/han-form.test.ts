/** The regional form of Han characters (CERT-4). */
import { expect } from 'chai';
import { hanFormOf } from '../../../../../domain/learning/certificates/letters/han-form.ts';
import { prepareText } from '../../../../../domain/learning/certificates/letters/shaping.ts';
import { eachCase } from '../../../../toolkit/assert/each-case.ts';

const familyOf = async (text: string, language: string) => {
  const { runs } = await prepareText(text, { style: 'bold', language, direction: 'ltr' });
  return /noto-serif-(?:sc|tc|jp|kr)/.exec(runs[0]?.font.file.path ?? '')?.[0];
};

describe('the form of Han characters (CERT-4)', () => {
  it('is Japanese in a text with kana and Korean in a text with Hangul, in every language', async () => {
    await eachCase(['en', 'zh', 'zh-TW', 'ko', 'ja'], (language) => {
      expect(hanFormOf('渡邉 さくら', language)).to.equal('jp');
      expect(hanFormOf('李나라', language)).to.equal('kr');
    });
  });

  it('depends on the language in other texts, and is simplified by default', async () => {
    const cases = [
      ['en', 'sc'],
      ['zh', 'sc'],
      ['zh-CN', 'sc'],
      ['zh-TW', 'tc'],
      ['zh-Hant', 'tc'],
      ['zh-HK', 'tc'],
      ['ja', 'jp'],
      ['ko', 'kr'],
    ] as const;
    await eachCase(cases, ([language, form]) => expect(hanFormOf('骨直', language)).to.equal(form));
  });

  it('decides the font', async () => {
    expect(await familyOf('骨', 'en')).to.equal('noto-serif-sc');
    expect(await familyOf('骨', 'zh-Hant')).to.equal('noto-serif-tc');
    expect(await familyOf('骨', 'ja')).to.equal('noto-serif-jp');
    expect(await familyOf('骨', 'ko')).to.equal('noto-serif-kr');
  });

  it('is another country’s form if the preferred font does not contain the character', async () => {
    expect(await familyOf('这', 'ja')).to.equal('noto-serif-sc');
  });
});
