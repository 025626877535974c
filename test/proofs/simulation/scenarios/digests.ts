/** The scenario of the daily mail of spaces: students post, read, mute and leave, the plan changes, and a mail server has faults. */
import { beginDigests } from '../../../../domain/community/digests/beginning.ts';
import { digestRules } from '../../../../domain/community/digests/digests.policy.ts';
import { prepareLayout } from '../../../../domain/community/digests/layout.ts';
import { setSender } from '../../../../domain/mail/sending/sender.ts';
import { newId, type Id } from '../../../../platform/core/ids.ts';
import { sql, type Sql } from '../../../../platform/infra/postgres/sql.ts';
import type { Simulation } from '../simulation.ts';
import { mustHold, type Command, type Stage } from '../stage.ts';
import { addClub, addStudents, type Footing } from './ground.ts';
import { MailServer, recipients, type BulkMail } from './mail-server.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** The simulated time of a schedule. A digest that began on the last morning can still end with its date. */
const horizonMs = dayMs + dayMs / 2;

interface DigestRow {
  id: string;
  recipients: number;
  isOver: boolean;
  /** Unix milliseconds. */
  createdAt: number;
  takesUntil: number;
}

interface PostRow {
  studentId: Id;
  at: number;
}

export async function digests(sim: Simulation, ground: Footing): Promise<Stage> {
  const { vault } = ground;
  await prepareLayout(); // compiles the frame of the mail once, from files
  const clubId = await addClub(sim, ground);
  const students = await addStudents(sim, ground, clubId, 4);
  const now = () => new Date(sim.time.now);
  await sim.postgres.ask(`INSERT INTO club_plans (club_id, plan, status) VALUES ($1, 'professional', 'active')`, [
    clubId,
  ]);
  await setSender(
    { db: sim.db },
    clubId,
    { from_name: 'Knots', postal_address: 'Quay 1', mails_per_minute: 30 },
    now(),
  );
  const spaceId = await addSpace(sim, clubId, students);
  const posts: PostRow[] = [];
  /** A command changed whether these students get the mail. The check accepts both outcomes for them. */
  const touched = new Set<Id>();
  let planMoved = false;
  const server = new MailServer(sim);
  const people = recipients(sim, ground, { server, clubId, kind: 'digests' });

  const begin: Command = {
    label: 'digests begin',
    run: async () => void (await beginDigests(sim.db, now())),
  };
  const write = async (studentId: Id, at: Date) => {
    const id = newId();
    await sim.db.run(
      sql`INSERT INTO community_posts (id, club_id, space_id, public_id, student_id, title, body, state, created_at)
       VALUES (${id}, ${clubId}, ${spaceId}, ${`post-${id}`}, ${studentId}, 'The bowline holds', 'It *finally* holds.', 'published', ${at})`,
    );
    posts.push({ studentId, at: at.getTime() });
  };
  // Posts of the last minute wait for the next digest (COMM-18).
  for (const studentId of students.slice(0, 2)) await write(studentId, new Date(sim.time.now - hourMs));
  const post = (studentId: Id): Command => ({
    label: `${studentId} posts`,
    run: () => write(studentId, now()),
  });
  const touch = (label: string, studentId: Id, change: Sql): Command => ({
    label: `${studentId} ${label}`,
    async run() {
      touched.add(studentId);
      await sim.db.run(
        sql`UPDATE community_memberships SET ${change} WHERE space_id = ${spaceId} AND student_id = ${studentId}`,
      );
    },
  });
  const plan = (name: string): Command => ({
    label: `the plan is ${name}`,
    async run() {
      planMoved = true;
      await sim.db.run(sql`UPDATE club_plans SET plan = ${name} WHERE club_id = ${clubId}`);
    },
  });

  return {
    types: ['spaceDigest'],
    horizonMs,
    depsFor: (db) => ({
      digests: {
        db,
        vault,
        smtp: server.connect(),
        fromAddress: 'news@platform.test',
        marks: { providers: [], returnAddress: undefined },
        warmUps: { clubs: [], domains: [] },
        publicUrl: 'https://api.test',
        classroomUrl: 'https://{slug}.classroom.test',
        onOutcome: () => {},
        failpoint: () => Promise.resolve(),
      },
    }),
    command(decisions) {
      const which = decisions.choose(16);
      const studentId = decisions.pick(students);
      if (which < 3) return post(studentId);
      if (which < 6) return begin;
      if (which < 10) return server.someMood(decisions);
      if (which < 12) {
        touched.add(studentId);
        return decisions.happens(2) ? people.remove(studentId) : people.command(decisions, studentId);
      }
      if (which === 12) return touch('reads', studentId, sql`read_at = ${now()}`);
      if (which === 13) return touch('mutes', studentId, sql`muted = NOT muted`);
      if (which === 14) return touch('is banned', studentId, sql`banned_at = ${now()}, counted = false`);
      return plan(decisions.pick(['starter', 'professional']));
    },
    calm: () => [server.turn('accepts')],
    atRest: async () => server.expectNothingBroken(),
    async atEnd() {
      server.expectNothingBroken();
      const mails = await server.expectStories(() => 0);
      server.expectNoOthers(new Set());
      await expectDigests(mails);
      await people.expectNoTraces();
      await people.expectReported();
    },
  };

  async function expectDigests(mails: readonly BulkMail[]): Promise<void> {
    const rows = await sim.postgres.ask<DigestRow>(
      `SELECT id, recipients, ended_at IS NOT NULL AS "isOver", extract(epoch FROM created_at)::float8 * 1000 AS "createdAt",
              extract(epoch FROM takes_until)::float8 * 1000 AS "takesUntil" FROM space_digests ORDER BY date`,
    );
    for (const digest of rows) {
      const ofIt = mails.filter(({ digestId }) => digestId === digest.id);
      const about = () => `digest ${digest.id}: ${JSON.stringify(digest)}, mails ${JSON.stringify(ofIt)}`;
      mustHold(digest.isOver, 'all work ends', about);
      mustHold(
        ofIt.every(({ status }) => status !== 'pending'),
        'all work ends',
        about,
      );
      const recipientIds = new Set(ofIt.map(({ studentId }) => studentId));
      mustHold(
        recipientIds.size === ofIt.length && ofIt.length === digest.recipients,
        'no effect happens twice',
        about,
      );
      for (const { studentId } of ofIt) mustHold(isNewFor(studentId, digest, posts), 'each mail contains news', about);
      if (!planMoved)
        for (const studentId of students)
          mustHold(
            touched.has(studentId) ||
              recipientIds.has(studentId) ||
              !isNewFor(studentId, digest, surePosts(studentId, digest)),
            'each student with news gets a mail',
            about,
          );
    }

    /** Returns the posts that no earlier digest sent to this student. Posts of removed students are deleted. */
    function surePosts(studentId: Id, digest: DigestRow): PostRow[] {
      const earlier = rows.filter(({ id, takesUntil }) => {
        const had = mails.some((mail) => mail.digestId === id && mail.studentId === studentId);
        return had && takesUntil < digest.takesUntil;
      });
      const since = Math.max(
        digest.takesUntil - digestRules.lookBackMs,
        ...earlier.map(({ takesUntil }) => takesUntil),
      );
      return posts.filter((one) => one.at > since && !touched.has(one.studentId));
    }
  }

  function isNewFor(studentId: Id, { takesUntil }: DigestRow, among: readonly PostRow[]): boolean {
    return among.some((one) => one.studentId !== studentId && one.at <= takesUntil);
  }
}

async function addSpace(sim: Simulation, clubId: Id, students: readonly Id[]): Promise<Id> {
  const id = newId();
  const at = new Date(sim.time.now - dayMs);
  await sim.postgres.ask(
    `INSERT INTO community_spaces (id, club_id, public_id, name, posting, private, hidden, auto_join, digest_by_default, position, created_at, updated_at)
     VALUES ($1, $2, 'quay', 'The Quay', 'members', false, false, false, true, 0, $3, $3)`,
    [id, clubId, at],
  );
  await sim.postgres.ask(
    `INSERT INTO community_memberships (space_id, student_id, club_id, joined_at, read_at, digest, muted, counted)
     SELECT $1, id, $2, $4, $4, true, false, true FROM unnest($3::uuid[]) AS student (id)`,
    [id, clubId, students, at],
  );
  return id;
}
