import { expect } from 'chai';
import { codeTries, triesNeeded, wrongCodesADay } from '../../../../domain/mail/codes/codes.policy.ts';
import { bulkMailsOfDay, dayOf, mailsOfDay, timeOfSlot } from '../../../../domain/mail/bounds/pace.policy.ts';
import { isMailable, outcomeOf } from '../../../../domain/mail/sending/recipients.policy.ts';
import { eventRetentionMs } from '../../../../domain/mail/retention.policy.ts';

const dayMs = 86_400_000;
const today = new Date('2026-03-10T00:00:00Z');
const daysAgo = (days: number) => new Date(today.getTime() - days * dayMs + 3_600_000);

describe('the daily limits of mails (DEC-65)', () => {
  for (const [plan, days, most] of [
    ['starter', 0, 10],
    ['starter', 1, 20],
    ['starter', 2, 40],
    ['starter', 3, null],
    ['starter', -2, 10],
    ['trial', 0, 10],
    ['trial', 2, 25],
    ['trial', 3, 25],
    ['professional', 9, null],
    ['business', 9, null],
  ] as const)
    it(`are ${most ?? 'unlimited'} for a ${plan} club on day ${days}`, () => {
      expect(mailsOfDay({ plan, createdAt: daysAgo(days) }, [10, 20, 40], today)).to.equal(most);
    });

  const warmUps = { clubs: [100, 200], domains: [50, 150] };
  for (const [what, clubDays, domainDays, most] of [
    ['equal the limits of new domains if club and domain are new', 0, 0, 50],
    ['equal the limits of new clubs if only the club is new', 0, 9, 100],
    ['equal the limits of new domains if only the domain is new', 9, 1, 150],
    ['are the lower of the two limits for a new club', 0, 1, 100],
    ['are unlimited for an old club and an old domain', 9, 9, null],
    ['are the limits of the club for a new club without a domain', 1, null, 200],
    ['are unlimited for an old club without a domain', 9, null, null],
  ] as const)
    it(`${what} (CAMP-41)`, () => {
      const club = { plan: 'starter', createdAt: daysAgo(clubDays) } as const;
      const provenAt = domainDays === null ? null : daysAgo(domainDays);
      expect(bulkMailsOfDay(club, provenAt, warmUps, today)).to.equal(most);
    });

  it('count the days in UTC', () => {
    expect(dayOf(new Date('2026-03-10T23:59:59.999Z'))).to.deep.equal(today);
    expect(dayOf(today, 2)).to.deep.equal(new Date('2026-03-12T00:00:00Z'));
  });

  it('spread the mails evenly over the day', () => {
    const times = [1, 2, 4].map((place) => timeOfSlot(today, place, 4).toISOString().slice(11, 19));
    expect(times).to.deep.equal(['00:00:00', '06:00:00', '18:00:00']);
    expect(timeOfSlot(today, 2, 7).getTime() - today.getTime()).to.equal(12_342_857);
  });

  it('keep the events of mails for 90 days (CAMP-17)', () => {
    expect(eventRetentionMs).to.equal(7_776_000_000);
  });
});

describe('the limits of guesses at codes (DEC-61)', () => {
  it('allow five tries for a code, or one after twenty wrong codes in a day', () => {
    expect([codeTries, wrongCodesADay]).to.deep.equal([5, 20]);
    expect([0, 1, 20, 21].map(triesNeeded)).to.deep.equal([1, 1, 1, 5]);
  });
});

describe('the retries of bulk mail (CAMP-6)', () => {
  it('wait 1, 5, 15, 60 and 240 minutes, and then end', () => {
    const waits = [1, 2, 3, 4, 5].map((attempt) => outcomeOf({ kind: 'not_sent', reply: 'no' }, attempt));
    expect(waits).to.deep.equal(
      [1, 5, 15, 60, 240].map((minutes) => ({ status: 'pending', lastError: 'no', waitMs: minutes * 60_000 })),
    );
    expect(outcomeOf({ kind: 'refused', permanent: false, reply: 'no' }, 6)).to.deep.equal({
      status: 'failed',
      lastError: 'no',
    });
  });

  for (const [address, mailable] of [
    [`${'a'.repeat(64)}@b.example`, true],
    [`${'a'.repeat(65)}@b.example`, false],
    [`a@${'b'.repeat(244)}.example`, true],
    [`a@${'b'.repeat(245)}.example`, false],
    ['@b.example', false],
    ['b.example', false],
    ['a@b', false],
    ['a@b.', false],
    ['a@.b', false],
    ['a b@c.example', false],
    ['a@b c.example', false],
    ['a<@b.example', false],
    ['a\u0000@b.example', false],
    ['a@b@c.example', false],
    ['a@b.c.example', true],
  ] as const)
    it(`${mailable ? 'are allowed' : 'are refused'} for mails to the address ${address.length > 40 ? `of ${address.length} characters` : JSON.stringify(address)} (@ at ${address.indexOf('@')})`, () => {
      expect(isMailable(address)).to.equal(mailable);
    });
});
