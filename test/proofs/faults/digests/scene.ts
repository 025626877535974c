/**
 * Builds clubs with new posts, and with members who want the daily mail. In the time zone of the clubs, the day does not end soon.
 */
import type { DataSource } from 'typeorm';
import { setSender } from '../../../../domain/mail/sending/sender.ts';
import { newId, type Id } from '../../../../platform/core/ids.ts';
import type { Database } from '../../../../platform/infra/postgres/database.ts';
import { buildRecipients, type Recipients } from '../mail/recipients.ts';

/** The age of the posts. A post of the last minute would wait for the next digest. */
const newSince = '1 hour';
const memberSince = '2 days';

/**
 * @param mailsPerMinute for each club
 * @returns the clubs; every student is a member of a space and wants its daily mail
 */
export async function buildReaders(
  db: Database,
  { clubs, members, mailsPerMinute }: { clubs: number; members: number; mailsPerMinute: number },
): Promise<Recipients[]> {
  const builtClubs: Recipients[] = [];
  for (let number = 0; number < clubs; number++) {
    const club = await buildRecipients(db.source, members);
    const sender = { from_name: 'Harbour', postal_address: 'Quay 1', mails_per_minute: mailsPerMinute };
    await setSender({ db }, club.clubId, sender, new Date());
    await db.source.query(`UPDATE clubs SET time_zone = $2 WHERE id = $1`, [club.clubId, zoneInDaytime(new Date())]);
    await buildNews(db.source, club);
    builtClubs.push(club);
  }
  return builtClubs;
}

async function buildNews(source: DataSource, { clubId, studentIds }: Recipients): Promise<void> {
  const spaceId = newId();
  await source.query(
    `INSERT INTO community_spaces (id, club_id, public_id, name, posting, private, hidden, auto_join, digest_by_default, position, created_at, updated_at)
     VALUES ($1, $2, 'quay', 'The Quay', 'members', false, false, false, true, 0, now(), now())`,
    [spaceId, clubId],
  );
  await source.query(
    `INSERT INTO community_memberships (space_id, student_id, club_id, joined_at, read_at, digest, muted, counted)
     SELECT $1, id, $2, now() - $4::interval, now() - $4::interval, true, false, true FROM unnest($3::uuid[]) AS student (id)`,
    [spaceId, clubId, studentIds, memberSince],
  );
  await source.query(
    `INSERT INTO community_posts (id, club_id, space_id, public_id, title, body, state, created_at)
     VALUES ($1, $2, $3, 'bowline', 'The bowline holds', 'It *finally* holds.', 'published', now() - $4::interval)`,
    [newId(), clubId, spaceId, newSince],
  );
}

const zones = ['UTC', 'Asia/Kolkata', 'Pacific/Auckland', 'America/Los_Angeles'];

/** @returns a zone in which it is after 8:00, and the date lasts for hours */
function zoneInDaytime(now: Date): string {
  const hourIn = (timeZone: string) =>
    Number(new Intl.DateTimeFormat('en-GB', { timeZone, hour: '2-digit', hourCycle: 'h23' }).format(now));
  const daytimeZone = zones.find((zone) => hourIn(zone) >= 8 && hourIn(zone) < 20);
  if (daytimeZone === undefined) throw new Error(`At ${now.toISOString()} it is night in all time zones`);
  return daytimeZone;
}

export const readersOf = (clubs: readonly Recipients[]): Id[] => clubs.flatMap(({ studentIds }) => studentIds);
