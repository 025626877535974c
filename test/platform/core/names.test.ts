/** Tests which names may appear in e-mails to people who never confirmed an address (DEC-64). */
import { expect } from 'chai';
import { mayStandInMail, plainName } from '../../../platform/core/text/names.ts';

const fault = (name: string): string => {
  try {
    return plainName(name, 'organization.name');
  } catch (error) {
    return error instanceof Error ? error.message : 'no error';
  }
};

describe('plainName', () => {
  it('keeps letters, composes accents and replaces several blanks by one', () => {
    expect(plainName(' Jose\u0301  da\tSilva ')).to.equal('José da Silva');
    expect(plainName('Ada\r\n')).to.equal('Ada');
    expect(plainName('Ｃｌｕｂ')).to.equal('Ｃｌｕｂ');
    expect(plainName('I <3 ropes')).to.equal('I <3 ropes');
  });

  for (const [name, words] of [
    ['\u200b\u3164', 'must have a visible character'],
    ['Ada\nBcc: eve@example', 'must be on one line'],
    ['Ada\u2028Eve', 'must be on one line'],
    ['Ana\u202e', 'must not contain control or format characters'],
    ['ＥＶＩＬ．ＣＯＭ', 'must not contain a web address'],
    ['evil。com', 'must not contain a web address'],
    ['<img/src=x/onerror=alert(1)>', 'must not contain an HTML tag'],
  ] as const)
    it(`reports the field and the problem of ${JSON.stringify(name)}`, () =>
      expect(fault(name)).to.contain(`organization.name ${words}`));

  it('decides which imported names may appear in an e-mail', () => {
    expect(['Ada', 'evil.zip', 'Ada\u2066', 'علی\u200cرضا'].map(mayStandInMail)).to.deep.equal([
      true,
      false,
      false,
      true,
    ]);
  });
});
