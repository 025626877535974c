import { expect } from 'chai';
import fc from 'fast-check';
import { isoMoment } from '../../../platform/core/time/iso-time.policy.ts';
import { eachCase } from '../../toolkit/assert/each-case.ts';

const iso = (text: string, zone?: string) => {
  const moment = isoMoment(text, zone);
  return Number.isNaN(moment) ? 'no time' : new Date(moment).toISOString();
};
const ten = '2026-11-20T10:00:00.000Z';

describe('the parser of times by ISO 8601', () => {
  it('accepts every form of a calendar date with a time', async () => {
    await eachCase(
      [
        '2026-11-20T10:00:00Z',
        '2026-11-20t10:00:00z',
        '20261120T100000Z',
        '20261120t1000z',
        '2026-11-20T10Z',
        '2026-11-20T10:00:00+00',
        '2026-11-20T10:00:00-00:00',
        '2026-11-20T13:00:00+03',
        '2026-11-20T13:00:00+0300',
        '2026-11-20T07:00:00\u221203:00',
        '2026-11-20 15:30 +05:30',
        '2026-11-20T10:00:00,000Z',
        '2026-11-20T10:00:00.0000000000000Z',
        '2026-11-20 10:00',
      ],
      (text) => expect(iso(text)).to.equal(ten),
    );
  });

  it('cuts a fraction of an hour, minute or second to whole milliseconds', () => {
    expect(iso('2026-11-20T10:00:00,29Z')).to.equal('2026-11-20T10:00:00.290Z');
    expect(iso('2026-11-20T10:00:00.9999Z')).to.equal('2026-11-20T10:00:00.999Z');
    expect(iso('2026-11-20T10:30,5Z')).to.equal('2026-11-20T10:30:30.000Z');
    expect(iso('20261120T10.25Z')).to.equal('2026-11-20T10:15:00.000Z');
  });

  it('accepts 24:00 as the end of a day, and refuses any later time of day', () => {
    expect(iso('2026-12-31T24:00:00Z')).to.equal('2027-01-01T00:00:00.000Z');
    expect(iso('2026-12-31T24:00:01Z')).to.equal('no time');
    expect(iso('2026-12-31T24:00:00.5Z')).to.equal('no time');
  });

  it('uses the given time zone if the text has no offset', () => {
    expect(iso('2026-11-20 07:00', '-03:00')).to.equal(ten);
    expect(iso('2026-11-20T10:00Z', '-03:00')).to.equal(ten);
  });

  it('refuses dates, times and offsets that do not exist', async () => {
    await eachCase(
      [
        '2026-02-30T10:00:00Z',
        '2027-02-29T10:00:00Z',
        '2100-02-29T10:00:00Z',
        '2026-04-31 10:00',
        '20260230T100000Z',
        '2026-00-10T10:00Z',
        '2026-13-10T10:00Z',
        '2026-11-00T10:00Z',
        '2026-11-20T25:00Z',
        '2026-11-20T10:60Z',
        '2026-11-20T10:00:60Z',
        '2026-11-20T10:00+24:00',
        '2026-11-20T10:00+03:60',
      ],
      (text) => expect(iso(text)).to.equal('no time'),
    );
    expect(iso('2028-02-29T10:00:00Z')).to.equal('2028-02-29T10:00:00.000Z');
  });

  it('refuses other formats', async () => {
    await eachCase(
      [
        '',
        '2026-11-20',
        '20/11/2026 10:00',
        '2026-1120T10:00Z',
        '2026-11-20T10:00:00Z[UTC]',
        '+002026-11-20T10:00Z',
        'now',
      ],
      (text) => expect(iso(text)).to.equal('no time'),
    );
  });

  it('accepts what JavaScript writes', () => {
    fc.assert(
      fc.property(
        fc.date({ min: new Date('0001-01-01'), max: new Date('9999-01-01'), noInvalidDate: true }),
        (date) => {
          expect(isoMoment(date.toISOString())).to.equal(date.getTime());
        },
      ),
    );
  });
});
