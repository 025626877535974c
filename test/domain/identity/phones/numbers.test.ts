import { expect } from 'chai';
import { phoneNumber } from '../../../../domain/identity/phones/numbers.ts';
import { DomainError } from '../../../../platform/core/errors.ts';
import { eachCase } from '../../../toolkit/assert/each-case.ts';

const refused = (text: string) => {
  try {
    return phoneNumber(text);
  } catch (error) {
    if (error instanceof DomainError) return error.code;
    throw error;
  }
};

describe('telephone numbers', () => {
  const written = [
    ['+351 912 345 678', '+351912345678'],
    ['+351912345678', '+351912345678'],
    [' +1 (202) 555-0123 ', '+12025550123'],
    ['+44 20.7946.0958', '+442079460958'],
    ['＋４９ １５１ ２３４５６７８９', '+4915123456789'],
    ['+5511987654321', '+5511987654321'],
  ] as const;
  for (const [text, number] of written)
    it(`reads ${text} as ${number}`, () => {
      expect(phoneNumber(text)).to.equal(number);
    });

  it('refuses numbers without a country code, and numbers that no country assigns', async () => {
    const texts = ['912345678', '00351912345678', '+999123456', '+1', '+351', '+3519123456789012', 'phone', '+', ''];
    await eachCase(texts, (text) => expect(refused(text)).to.equal('invalid_request'));
  });

  it('refuses letters, extensions and other text', async () => {
    const texts = [
      '+1 800 FLOWERS',
      '+12025550123 ext. 4',
      '+12025550123;ext=4',
      'tel:+12025550123',
      '+1202555\u00000123',
    ];
    await eachCase(texts, (text) => expect(refused(text)).to.equal('invalid_request'));
  });

  it('refuses numbers that cost their callers extra, or that reach no person', async () => {
    const texts = ['+1 900 555 0100', '+44 909 879 0000', '+979 123 456 789', '+1 800 555 0100', '+44 844 123 4567'];
    await eachCase(texts, (text) => expect(refused(text)).to.equal('invalid_request'));
  });
});
