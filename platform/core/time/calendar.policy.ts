/** Calendar attachments of e-mails, as iCalendar (RFC 5545, RFC 5546). */

export interface CalendarEvent {
  /** REQUEST adds or changes the event in a calendar. CANCEL removes it. */
  method: 'REQUEST' | 'CANCEL';
  /** All versions of the event have this id. */
  id: string;
  /** A later version has a higher number. */
  sequence: number;
  startsAt: Date;
  endsAt: Date;
  summary: string;
  location?: string;
  /** The time when this version was created. */
  stamp: Date;
}

/** @returns an .ics file with lines of at most 75 bytes */
export function icalendarOf(event: CalendarEvent, organizer: string, attendee: string): string {
  const domain = organizer.split('@')[1] ?? 'localhost';
  const lines = [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'PRODID:-//club-learning//mentorships//EN',
    `METHOD:${event.method}`,
    'BEGIN:VEVENT',
    `UID:${event.id}@${domain}`,
    `SEQUENCE:${event.sequence}`,
    `DTSTAMP:${utc(event.stamp)}`,
    `DTSTART:${utc(event.startsAt)}`,
    `DTEND:${utc(event.endsAt)}`,
    `SUMMARY:${escaped(event.summary)}`,
    ...(event.location === undefined ? [] : [`LOCATION:${escaped(event.location)}`]),
    `ORGANIZER:mailto:${organizer}`,
    `ATTENDEE;PARTSTAT=ACCEPTED;RSVP=FALSE:mailto:${attendee}`,
    `STATUS:${event.method === 'CANCEL' ? 'CANCELLED' : 'CONFIRMED'}`,
    'END:VEVENT',
    'END:VCALENDAR',
  ];
  return lines.map((line) => `${folded(line)}\r\n`).join('');
}

/** @returns `20260302T090000Z` */
const utc = (at: Date) => `${at.toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`;

const escaped = (text: string) =>
  text
    .replaceAll(/[\\;,]/g, (character) => `\\${character}`)
    .replaceAll(/\r\n|\r|\n/g, '\\n')
    .replaceAll(/\p{Cc}/gu, ' ');

const longestLine = 75;

/** Each continuation line begins with a blank. */
function folded(line: string): string {
  const lines = [''];
  let bytes = 0;
  for (const character of line) {
    const size = Buffer.byteLength(character);
    if (bytes + size > longestLine) {
      lines.push(' ');
      bytes = 1;
    }
    lines[lines.length - 1] += character;
    bytes += size;
  }
  return lines.join('\r\n');
}
