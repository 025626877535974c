/**
 * Builds students who book sessions, and mentors who work for two clubs each. The sessions begin so soon that reminders are due within
 * minutes.
 */
import { Temporal } from 'temporal-polyfill';
import type { DataSource } from 'typeorm';
import { openSession } from '../../../../domain/identity/sessions/sessions.ts';
import { createMentorship, updateMentorship } from '../../../../domain/mentorships/mentorships.ts';
import { newId, type Id } from '../../../../platform/core/ids.ts';
import { Transaction, type Database } from '../../../../platform/infra/postgres/database.ts';
import { buildRecipients } from '../mail/recipients.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

export interface Student {
  id: Id;
  clubId: Id;
  token: string;
  ownerToken: string;
}

interface Club {
  id: Id;
  /** Each slot takes one student from this list, who asks for no other slot. */
  students: Student[];
  greedy: readonly Student[];
}

export interface Slots {
  /** A session that starts in an hour, so that its reminder falls due at the chosen time. */
  hour: Date;
  /** A session that starts in a day, so that its reminder falls due at the chosen time. */
  day: Date;
  /** A session that starts in two days or later, so that no reminder falls due during the proof. */
  far: readonly [Date, Date, Date, Date];
}

export interface OfferedMentorship {
  clubId: Id;
  publicId: string;
  slots: Slots;
}

const greedyOfClub = 12;

/** @param students the number of students of each club who ask for one slot; the club also gets students who ask for many slots */
export async function buildClubs(source: DataSource, count: number, students: number): Promise<Club[]> {
  const clubs: Club[] = [];
  for (let number = 0; number < count; number++) {
    const { clubId, ownerToken, studentIds } = await buildRecipients(source, students + greedyOfClub);
    const signedIn = await source.transaction(async (tx) => {
      const all: Student[] = [];
      for (const id of studentIds) {
        const { token } = await openSession(new Transaction(tx), 'student', id, new Date());
        all.push({ id, clubId, token, ownerToken });
      }
      return all;
    });
    clubs.push({ id: clubId, students: signedIn.slice(greedyOfClub), greedy: signedIn.slice(0, greedyOfClub) });
  }
  return clubs;
}

const sessionMinutes = 15;
const bufferMinutes = 5;
/** The two sessions of a mentor overlap: the second begins this long after the first. */
const apartMs = minuteMs;

/**
 * Builds a mentor with a mentorship in each of two clubs, without a notice period or a cancel deadline.
 * @param remindsAt the whole minute in which the reminders of the first mentorship fall due; the reminders of the second mentorship follow
 * a minute later
 */
export async function offerHours(
  db: Database,
  clubIds: readonly [Id, Id],
  remindsAt: Date,
): Promise<[OfferedMentorship, OfferedMentorship]> {
  const mentorId = await buildMentor(db, clubIds);
  const offer = async (clubId: Id, beginMs: number): Promise<OfferedMentorship> => {
    const inHours = (hours: number) => new Date(beginMs + hours * hourMs);
    const slots: Slots = {
      hour: inHours(1),
      day: inHours(24),
      far: [inHours(48), inHours(49), inHours(50), inHours(51)],
    };
    const all = [slots.hour, slots.day, ...slots.far];
    const now = new Date();
    const { id, public_id } = await createMentorship({ db }, clubId, mentorshipOf(mentorId, all), now);
    await updateMentorship({ db }, clubId, id, { status: 'published' }, now);
    return { clubId, publicId: public_id, slots };
  };
  return [await offer(clubIds[0], remindsAt.getTime()), await offer(clubIds[1], remindsAt.getTime() + apartMs)];
}

async function buildMentor({ source }: Database, clubIds: readonly Id[]): Promise<Id> {
  const id = newId();
  await source.transaction(async (tx) => {
    await tx.query(
      `INSERT INTO administrators (id, name, email, verified_at, created_at) VALUES ($1, 'Mentor', $2, now(), now())`,
      [id, `${id}@example.com`],
    );
    await tx.query(
      `INSERT INTO memberships (club_id, administrator_id, role, joined_at) SELECT club, $2, 'support', now() FROM unnest($1::uuid[]) AS club`,
      [clubIds, id],
    );
  });
  return id;
}

function mentorshipOf(mentorId: Id, starts: readonly Date[]) {
  const zone = zoneAwayFromMidnight(starts);
  const parts = starts.map((start) => localPart(start, zone));
  const dates = [...new Set(parts.map(({ date }) => date))];
  return {
    title: 'Rigging clinic',
    mentor_id: mentorId,
    duration_minutes: sessionMinutes,
    buffer_minutes: bufferMinutes,
    time_zone: zone,
    weekly_hours: [],
    exceptions: dates.map((date) => ({
      date,
      hours: parts.filter((part) => part.date === date).map(({ from, to }) => ({ from, to })),
    })),
    notice_minutes: 0,
    max_upcoming: 50,
    cancel_deadline_minutes: 0,
    meeting_url: 'https://meet.example.com/rigging',
  };
}

const zones = ['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'America/Los_Angeles', 'Pacific/Auckland'];

/**
 * Working hours cannot span midnight.
 * @returns a time zone in which no session spans midnight
 */
function zoneAwayFromMidnight(starts: readonly Date[]): string {
  const away = zones.filter((zone) => starts.every((start) => localTime(start, zone).hour < 23));
  return away[Math.floor(Math.random() * away.length)] ?? 'UTC';
}

const localTime = (at: Date, zone: string) =>
  Temporal.Instant.fromEpochMilliseconds(at.getTime()).toZonedDateTimeISO(zone);

function localPart(start: Date, zone: string): { date: string; from: string; to: string } {
  const [begin, end] = [localTime(start, zone), localTime(new Date(start.getTime() + sessionMinutes * minuteMs), zone)];
  const formatted = (time: Temporal.ZonedDateTime) => time.toPlainTime().toString({ smallestUnit: 'minute' });
  return { date: begin.toPlainDate().toString(), from: formatted(begin), to: formatted(end) };
}
