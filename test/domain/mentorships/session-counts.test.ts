/** Compares the totals of a club's sessions with the sessions on the pages. */
import { expect } from 'chai';
import { listSessions, type SessionFilter } from '../../../domain/mentorships/sessions.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { rollUpListTallies } from '../../../platform/infra/postgres/lists/counts.ts';
import { buildClub, buildStudent } from '../../toolkit/builders/clubs.ts';
import { buildMentorship, buildSession } from '../../toolkit/builders/mentorships.ts';
import { testDeps } from '../../toolkit/stack/database.ts';

const hour = 3_600_000;
const now = new Date('2026-03-02T10:07:30.500Z');
const inHours = (hours: number) => new Date(now.getTime() + hours * hour);
const text = (hours: number) => inHours(hours).toISOString();

const filters: readonly SessionFilter[] = [
  {},
  ...(['booked', 'completed', 'canceled', 'no_show'] as const).flatMap((status) => [
    { status },
    { status, since: text(-70) },
    { status, until: text(49.5) },
    { status, since: text(-1), until: text(1) },
  ]),
  { since: text(-75), until: text(80) },
  { since: '1960-01-01T00:00:00.000Z', until: '9999-12-31T23:59:59.999Z' },
  { since: text(90_000) },
];

/** Four sessions for each of two mentors, one hour each. */
const beginnings = [
  [-100, -80, -28, -20, -4, 0, 10, 24, 38, 60, 100],
  [-8, -3.99, 4, 13],
];

describe('totals of sessions (ADR 11)', () => {
  it('equal the number of sessions on the pages, after all changes', async () => {
    const { db } = await testDeps();
    const { id: clubId } = await buildClub();
    const { id: studentId } = await buildStudent(clubId);
    const other = await buildClub();
    const ids: string[] = [];
    for (const status of ['booked', 'canceled', 'no_show'] as const)
      for (const all of beginnings) {
        const mentorship = await buildMentorship(clubId, { durationMinutes: 240 });
        const { id } = await buildStudent(clubId);
        for (const hours of all)
          ids.push((await buildSession(mentorship.id, id, { startsAt: inHours(hours), status })).id);
      }
    const elsewhere = await buildMentorship(other.id);
    await buildSession(elsewhere.id, (await buildStudent(other.id)).id, { startsAt: inHours(1) });

    const totals = async () => {
      const found = [];
      for (const filter of filters) {
        const { rows, total } = await listSessions(db, clubId, { page: 1, page_size: 100, ...filter }, now);
        expect([JSON.stringify(filter), total]).to.deep.equal([JSON.stringify(filter), rows.length]);
        found.push(total);
      }
      return found;
    };
    expect((await totals())[0]).to.equal(45);
    while ((await rollUpListTallies(db, 1_000)) > 0);
    expect((await totals())[0]).to.equal(45);

    const [first, second, third, fourth] = ids.slice(0, 4);
    await db.run(sql`UPDATE mentorship_sessions SET starts_at = starts_at + interval '300 hours', ends_at = ends_at + interval '300 hours',
      busy_until = busy_until + interval '300 hours' WHERE id = ANY (${[first, second]}::uuid[])`);
    await db.run(sql`UPDATE mentorship_sessions SET status = 'canceled', canceled_at = ${now} WHERE id = ${third}`);
    await db.run(sql`UPDATE mentorship_sessions SET status = 'no_show', agenda = 'Knots' WHERE id = ${fourth}`);
    const changed = await totals();
    while ((await rollUpListTallies(db, 1_000)) > 0);
    expect(await totals()).to.deep.equal(changed);
    await db.run(sql`DELETE FROM students WHERE club_id = ${clubId} AND id <> ${studentId}`);
    expect((await totals()).every((total) => total === 0)).to.equal(true);
  });
});
