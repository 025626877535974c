import { expect } from 'chai';
import { wordingIn } from '../../../domain/language/wording.ts';
import { slotsBetween } from '../../../domain/mentorships/slots.policy.ts';
import {
  instantOf,
  localDateOf,
  localMonthOf,
  nextMinuteOfDay,
  nextOpening,
} from '../../../platform/core/time/local-time.ts';
import { isKnownHere, isZoneName, zoneHere } from '../../../platform/core/time/time-zones.ts';
import { eachCase } from '../../toolkit/assert/each-case.ts';

describe('the check of time zone names (DEC-154)', () => {
  it('accepts each zone that Node lists, and old names of zones', async () => {
    const old = [
      'Asia/Kolkata',
      'Europe/Kyiv',
      'US/Pacific',
      'GB',
      'NZ-CHAT',
      'W-SU',
      'EST5EDT',
      'CET',
      'UTC',
      'GMT',
      'Etc/UTC',
    ];
    const further = ['Etc/GMT+5', 'Etc/GMT-14', 'America/Port-au-Prince', 'Antarctica/DumontDUrville', 'Australia/NSW'];
    await eachCase([...Intl.supportedValuesOf('timeZone'), ...old, ...further], (name) =>
      Promise.resolve(expect(isZoneName(name)).to.equal(true)),
    );
  });

  it('refuses unknown names and different spellings of known names', async () => {
    const unknown = [
      '',
      'Europe/Atlantis',
      'posixrules',
      'localtime',
      'Factory',
      'posix/Europe/Berlin',
      'Z',
      'x'.repeat(65),
    ];
    const offsets = ['+03:00', '-0300', 'UTC+3'];
    const spelled = [
      'europe/lisbon',
      'EUROPE/LISBON',
      'utc',
      'asia/kolkata',
      'Asia/kolkata',
      'Asia/KOLKATA',
      'ASIA/Kolkata',
      'us/pacific',
    ];
    const ofIcu = ['PST', 'IST', 'ACT', 'SystemV/PST8'];
    await eachCase([...unknown, ...offsets, ...spelled, ...ofIcu], (name) =>
      Promise.resolve(expect(isZoneName(name)).to.equal(false)),
    );
  });

  it('uses UTC for a stored zone that Node does not know', () => {
    const zone = 'Mars/Olympus';
    const now = new Date('2026-03-31T23:30:00Z');
    expect([isKnownHere(zone), zoneHere(zone), zoneHere('Asia/Tokyo')]).to.deep.equal([false, 'UTC', 'Asia/Tokyo']);
    expect(localMonthOf(zone, now)).to.deep.equal(localMonthOf('UTC', now));
    expect(localDateOf(480, zone, now)).to.deep.equal(localDateOf(480, 'UTC', now));
    expect(nextMinuteOfDay(540, 0, zone, now).toISOString()).to.equal('2026-04-01T09:00:00.000Z');
    expect(nextOpening({ from: 540, to: 600 }, zone, now).toISOString()).to.equal('2026-04-01T09:00:00.000Z');
    expect(instantOf('2026-03-02T09:00', zone)?.toISOString()).to.equal('2026-03-02T09:00:00.000Z');
    expect(wordingIn('en').day(now, zone)).to.equal('31 March 2026');
    const offer = {
      timeZone: zone,
      weeklyHours: [{ weekday: 3, from: '09:00', to: '10:00' }],
      exceptions: [],
      durationMinutes: 60,
      bufferMinutes: 0,
      noticeMinutes: 0,
      horizonDays: 30,
    };
    expect(slotsBetween(offer, now, new Date('2026-04-02T00:00:00Z'))).to.deep.equal([
      new Date('2026-04-01T09:00:00Z'),
    ]);
  });
});
