import { expect } from 'chai';
import { isMailable, outcomeOf } from '../../../../domain/mail/sending/recipients.policy.ts';

describe('addresses of recipients (CAMP-9)', () => {
  it('are accepted within the limits of SMTP', () => {
    for (const email of [
      'ada@example.com',
      "o'brien+news@mail.example.co.uk",
      `${'a'.repeat(64)}@example.com`,
      'jürgen@bücher.example',
    ])
      expect(isMailable(email), email).to.equal(true);
  });

  it('are refused if they are too long, several addresses or malformed', () => {
    for (const email of [
      '',
      'ada',
      '@example.com',
      'ada@localhost',
      'ada.example.com',
      'ada@example.com\n',
      'ada@example.com>',
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

describe('the outcome of a bulk mail’s hand-over (CAMP-6)', () => {
  const reply = '451 later';
  it('is final if the mail was accepted, refused permanently, or may have arrived', () => {
    expect(outcomeOf({ kind: 'accepted' }, 1)).to.deep.equal({ status: 'sent' });
    expect(outcomeOf({ kind: 'refused', permanent: true, reply }, 1)).to.deep.equal({
      status: 'failed',
      lastError: reply,
    });
    expect(outcomeOf({ kind: 'unknown' }, 1)).to.deep.equal({ status: 'failed', lastError: 'outcome_unknown' });
  });

  for (const answer of [
    { kind: 'refused', permanent: false, reply },
    { kind: 'not_sent', reply },
  ] as const)
    it(`is a longer wait after each of five outcomes “${answer.kind}”, and a failure after the sixth`, () => {
      const outcomes = [1, 2, 3, 4, 5, 6].map((attempt) => outcomeOf(answer, attempt));
      const waits = [1, 5, 15, 60, 240].map((minutes) => ({
        status: 'pending',
        lastError: reply,
        waitMs: minutes * 60_000,
      }));
      expect(outcomes).to.deep.equal([...waits, { status: 'failed', lastError: reply }]);
    });
});
