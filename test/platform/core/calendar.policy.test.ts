import { expect } from 'chai';
import * as fc from 'fast-check';
import ICAL from 'ical.js'; // Mozilla's parser, which Thunderbird uses. It shares no code with the writer of the file.
import { icalendarOf, type CalendarEvent } from '../../../platform/core/time/calendar.policy.ts';

function readBack(text: string) {
  const calendar = new ICAL.Component(ICAL.parse(text) as unknown[]);
  const found = calendar.getFirstSubcomponent('vevent');
  if (!found) throw new Error('The calendar file has no event.');
  const entry = new ICAL.Event(found);
  return {
    method: calendar.getFirstPropertyValue('method'),
    version: calendar.getFirstPropertyValue('version'),
    uid: entry.uid,
    sequence: entry.sequence,
    starts: entry.startDate.toJSDate().toISOString(),
    startsIn: entry.startDate.zone.tzid,
    ends: entry.endDate.toJSDate().toISOString(),
    summary: entry.summary,
    location: entry.location,
    organizer: entry.organizer,
    attendee: entry.attendees[0]?.getFirstValue(),
    partstat: entry.attendees[0]?.getFirstParameter('partstat'),
    status: found.getFirstPropertyValue('status'),
    stamp: (found.getFirstPropertyValue('dtstamp') as unknown as { toJSDate: () => Date }).toJSDate().toISOString(),
  };
}

const seconds = fc.integer({ min: 1_700_000_000, max: 4_000_000_000 });
/** An .ics line cannot contain control characters or lone surrogates. */
const words = fc
  .string({
    unit: fc.constantFrom('a', 'ö', '結', '🪢', ' ', ',', ';', '\\', '\n', ':', '"', 'n', 'N'),
    minLength: 1,
    maxLength: 200,
    size: 'max', // longer than one line of the file
  })
  .filter((text) => text.trim() === text);

describe('the lines of an .ics file', () => {
  const at = new Date('2026-03-02T09:00:00Z');
  const base = { method: 'REQUEST', id: 'an-id', sequence: 0, startsAt: at, endsAt: at, stamp: at } as const;
  /** Continued lines keep their leading blank. */
  const linesOf = (summary: string) => {
    const text = icalendarOf({ ...base, summary }, 'club@example.com', 'berta@example.org');
    return /SUMMARY:.*\r\n(?: .*\r\n)*/.exec(text)?.[0].split('\r\n').slice(0, -1);
  };

  it('have at most 75 bytes, including the leading blank of a continued line', () => {
    expect(linesOf('a'.repeat(67))).to.deep.equal([`SUMMARY:${'a'.repeat(67)}`]);
    expect(linesOf('a'.repeat(68))).to.deep.equal([`SUMMARY:${'a'.repeat(67)}`, ' a']);
    expect(linesOf('a'.repeat(67 + 74))).to.deep.equal([`SUMMARY:${'a'.repeat(67)}`, ` ${'a'.repeat(74)}`]);
    expect(linesOf('a'.repeat(67 + 75))).to.deep.equal([`SUMMARY:${'a'.repeat(67)}`, ` ${'a'.repeat(74)}`, ' a']);
  });

  it('break before a multi-byte character that does not fit', () => {
    expect(linesOf(`${'a'.repeat(64)}結`)).to.deep.equal([`SUMMARY:${'a'.repeat(64)}結`]);
    expect(linesOf(`${'a'.repeat(65)}結b`)).to.deep.equal([`SUMMARY:${'a'.repeat(65)}`, ' 結b']);
    expect(linesOf('🪢'.repeat(17))).to.deep.equal([`SUMMARY:${'🪢'.repeat(16)}`, ' 🪢']);
  });
});

describe('an .ics file in Mozilla’s parser', () => {
  it('has the title, description and UTC times of the event, for any characters', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('REQUEST' as const, 'CANCEL' as const),
        fc.integer({ min: 0, max: 2_000_000_000 }),
        seconds,
        fc.integer({ min: 60, max: 14_400 }),
        words,
        fc.option(words, { nil: undefined }),
        (method, sequence, start, length, summary, location) => {
          const event: CalendarEvent = {
            method,
            id: '7c9e6679-7425-40de-944b-e07fc1f90ae7',
            sequence,
            startsAt: new Date(start * 1_000),
            endsAt: new Date((start + length) * 1_000),
            summary,
            ...(location !== undefined && { location }),
            stamp: new Date((start - 5) * 1_000),
          };
          expect(readBack(icalendarOf(event, 'club@example.com', 'berta@example.org'))).to.deep.equal({
            method,
            version: '2.0',
            uid: `${event.id}@example.com`,
            sequence,
            starts: event.startsAt.toISOString(),
            startsIn: 'UTC',
            ends: event.endsAt.toISOString(),
            summary,
            location: location ?? null,
            organizer: 'mailto:club@example.com',
            attendee: 'mailto:berta@example.org',
            partstat: 'ACCEPTED',
            status: method === 'CANCEL' ? 'CANCELLED' : 'CONFIRMED',
            stamp: event.stamp.toISOString(),
          });
        },
      ),
      { seed: 1, numRuns: 300 },
    );
  });
});
