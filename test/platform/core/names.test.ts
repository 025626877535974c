/** Names that go into mails to people who never confirmed an address (DEC-64). */
import { expect } from 'chai';
import { mayStandInMail, plainName } from '../../../platform/core/names.ts';

const fault = (name: string): string => {
  try {
    return plainName(name, 'organization.name');
  } catch (error) {
    return error instanceof Error ? error.message : 'no error';
  }
};

describe('plainName', () => {
  it('keeps letters, composes accents and makes blanks single', () => {
    expect(plainName(' Jose\u0301  da\tSilva ')).to.equal('José da Silva');
    expect(plainName('Ada\r\n')).to.equal('Ada');
    expect(plainName('Ｃｌｕｂ')).to.equal('Ｃｌｕｂ');
    expect(plainName('I <3 ropes')).to.equal('I <3 ropes');
  });

  for (const [name, words] of [
    ['\u200b\u3164', 'must have a character that can be seen'],
    ['Ada\nBcc: eve@example', 'must stand in one line'],
    ['Ada\u2028Eve', 'must stand in one line'],
    ['Ana\u202e', 'must not hold control or format characters'],
    ['ＥＶＩＬ．ＣＯＭ', 'must not hold a web address'],
    ['evil。com', 'must not hold a web address'],
    ['<img/src=x/onerror=alert(1)>', 'must not hold a tag of HTML'],
  ] as const)
    it(`names the field and the fault of ${JSON.stringify(name)}`, () =>
      expect(fault(name)).to.contain(`organization.name ${words}`));

  it('tells which names from elsewhere may stand in a mail', () => {
    expect(['Ada', 'evil.zip', 'Ada\u2066', 'علی\u200cرضا'].map(mayStandInMail)).to.deep.equal([
      true,
      false,
      false,
      true,
    ]);
  });
});
