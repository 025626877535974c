import { expect } from 'chai';
import { isMailable } from '../../../domain/mail/recipients.policy.ts';

describe('addresses of recipients (CAMP-9)', () => {
  it('are those that SMTP can carry', () => {
    for (const email of [
      'ada@example.com',
      "o'brien+news@mail.example.co.uk",
      `${'a'.repeat(64)}@example.com`,
      'jürgen@bücher.example',
    ])
      expect(isMailable(email), email).to.equal(true);
  });

  it('are no others: too long, of several, with line breaks, without a host of two parts', () => {
    for (const email of [
      '',
      'ada',
      '@example.com',
      'ada@localhost',
      'ada@example..com',
      'ada @example.com',
      'ada@example.com,eve@example.com',
      'ada@example.com\r\nBcc: eve@example.com',
      'Ada <ada@example.com>',
      `${'a'.repeat(65)}@example.com`,
      `ada@${'a'.repeat(60)}.${'b'.repeat(60)}.${'c'.repeat(60)}.${'d'.repeat(60)}.example.com`,
    ])
      expect(isMailable(email), email).to.equal(false);
  });
});
