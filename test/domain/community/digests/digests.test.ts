/** Tests the daily mail of spaces (COMM-17, COMM-18). */
import { expect } from 'chai';
import { revokeAccess } from '../../../../domain/access/enrollments/enrollments.ts';
import { beginDigests } from '../../../../domain/community/digests/beginning.ts';
import { retainDigests } from '../../../../domain/community/digests/retention.ts';
import type { DigestDeps } from '../../../../domain/community/digests/sending.ts';
import { stepDigest } from '../../../../domain/community/digests/step.ts';
import { unsubscribe } from '../../../../domain/mail/suppressions/preferences.ts';
import { recordEvents } from '../../../../domain/mail/notices/record-events.ts';
import { addSuppression } from '../../../../domain/mail/suppressions/suppressions.ts';
import { unsubscribeToken } from '../../../../domain/mail/suppressions/unsubscribe-link.ts';
import { removeStudent, updateStudent } from '../../../../domain/students/students.ts';
import { SpaceDigest } from '../../../../entities/community/space-digest.ts';
import { Mail } from '../../../../entities/mail/mail.ts';
import type { Id } from '../../../../platform/core/ids.ts';
import { sql } from '../../../../platform/infra/postgres/sql.ts';
import type { HandedMessage, HandOver } from '../../../../platform/infra/smtp/smtp-hand-over.ts';
import { wakesOf } from '../../../toolkit/assert/wakes.ts';
import { buildEnrollment } from '../../../toolkit/builders/access.ts';
import { buildPlan } from '../../../toolkit/builders/billing.ts';
import { buildStudent, type TestClub, type TestStudent } from '../../../toolkit/builders/clubs.ts';
import {
  buildPost,
  buildSpace,
  buildSpaceDelivery,
  buildSpaceMembership,
  buildWritingClub,
  type PostOptions,
  type SpaceOptions,
} from '../../../toolkit/builders/community.ts';
import { digestDeps, digestIdOf, runDigest } from '../../../toolkit/drive/digests.ts';
import { withoutFeature } from '../../../toolkit/drive/plans.ts';
import { untilWaitingForLocks, within, withOpenTransaction } from '../../../toolkit/drive/races.ts';
import { testDeps } from '../../../toolkit/stack/database.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
/** 8:00 in UTC, the time zone of a new club. */
const morning = new Date('2026-03-02T08:00:00Z');
const before = (ms: number) => new Date(morning.getTime() - ms);
const after = (ms: number) => new Date(morning.getTime() + ms);
const dateOf = (at: Date) => at.toISOString().slice(0, 10);

let deps: Awaited<ReturnType<typeof testDeps>>;
let club: TestClub;
let ada: TestStudent;
let space: { id: Id; clubId: Id };
let messages: HandedMessage[];
/** Accepts each mail unless a test changes it. */
let answer: (message: HandedMessage) => Promise<HandOver> | HandOver;
let sending: DigestDeps;

const begin = async (now = morning) => {
  while ((await beginDigests(deps.db, now)).more);
};
const run = (now = morning, on = sending) => runDigest(on, digestIdOf(club.id, dateOf(now)), now);
const send = async (now = morning) => {
  await begin(now);
  return run(now);
};
const join = (student: TestStudent, to = space, options: Parameters<typeof buildSpaceMembership>[2] = {}) =>
  buildSpaceMembership(to, student.id, { digest: true, at: before(30 * day), ...options });
const rowsOf = (clubId = club.id) =>
  deps.db.rows<{ studentId: Id; status: string; reason: string | null; error: string | null }>(
    sql`SELECT student_id AS "studentId", status, skip_reason AS reason, last_error AS error FROM mails WHERE club_id = ${clubId} ORDER BY seq`,
  );
const datesOf = async (clubId = club.id) =>
  (await deps.db.manager.find(SpaceDigest, { where: { clubId }, order: { date: 'ASC' } })).map(({ date }) => date);
const setZone = (zone: string) => deps.db.run(sql`UPDATE clubs SET time_zone = ${zone} WHERE id = ${club.id}`);

const start = async () => {
  deps = await testDeps();
  messages = [];
  answer = () => ({ kind: 'accepted', reply: '250 ok' });
  sending = await digestDeps({
    connections: 3,
    onConnection: (work) => work(),
    handOver: async (message) => {
      messages.push(message);
      return answer(message);
    },
  });
  // Digests of other tests must not be due in these tests.
  await deps.db.run(sql`DELETE FROM space_digests`);
  await deps.db.run(sql`UPDATE community_memberships SET digest = false WHERE digest`);
  club = await buildWritingClub(before(day));
  ada = await buildStudent(club.id, { name: 'Ada' });
  space = await buildSpace(club.id);
};

describe('the beginning of a digest (COMM-17)', () => {
  beforeEach(async () => {
    await start();
    await join(ada);
  });

  it('is at 8:00 UTC if Node does not know the club’s zone (DEC-154)', async () => {
    const other = await buildWritingClub(before(day));
    await deps.db.run(sql`UPDATE clubs SET time_zone = 'Mars/Olympus' WHERE id = ${other.id}`);
    await buildSpaceMembership(await buildSpace(other.id), (await buildStudent(other.id)).id, { digest: true });
    await begin();
    expect([await datesOf(), await datesOf(other.id)]).to.deep.equal([['2026-03-02'], ['2026-03-02']]);
    await deps.db.run(sql`UPDATE clubs SET time_zone = 'UTC' WHERE id = ${other.id}`);
  });

  it('happens once for each date at 8:00 in the club’s time zone', async () => {
    await begin(before(1));
    expect(await datesOf()).to.deep.equal([]);
    await begin();
    const [digest] = await deps.db.manager.findBy(SpaceDigest, { clubId: club.id });
    expect(digest).to.include({ id: `${club.id}/2026-03-02`, date: '2026-03-02', members: 1, pages: 0, endedAt: null });
    expect([digest?.takesUntil, digest?.endsAt]).to.deep.equal([before(minute), new Date('2026-03-03T00:00:00Z')]);
    expect((await wakesOf(club.id)).map(({ workflowId }) => workflowId)).to.deep.equal([
      `space-digest/${club.id}/2026-03-02`,
    ]);
    await begin(after(15 * minute));
    expect(await datesOf()).to.deep.equal(['2026-03-02']);
  });

  it('happens once if the schedule runs twice at the same time', async () => {
    const both = await Promise.all([beginDigests(deps.db, morning), beginDigests(deps.db, morning)]);
    expect(both.reduce((sum, { begun }) => sum + begun, 0)).to.equal(1);
    expect(await datesOf()).to.deep.equal(['2026-03-02']);
  });

  it('happens later on the date if no worker ran at 8:00', async () => {
    await begin(new Date('2026-03-02T23:45:00Z'));
    expect(await datesOf()).to.deep.equal(['2026-03-02']);
    await run(new Date('2026-03-02T23:45:00Z'));
    await begin(new Date('2026-03-05T07:45:00Z'));
    await begin(new Date('2026-03-05T08:00:00Z'));
    expect(await datesOf()).to.deep.equal(['2026-03-02', '2026-03-05']);
  });

  it('skips clubs without the plan feature, a sender or a subscriber', async () => {
    await deps.db.run(sql`DELETE FROM mail_senders WHERE club_id = ${club.id}`);
    const silent = await buildWritingClub(morning);
    await buildSpaceMembership(await buildSpace(silent.id), (await buildStudent(silent.id)).id, { at: before(day) });
    await begin();
    expect([await datesOf(), await datesOf(silent.id)]).to.deep.equal([[], []]);
  });

  for (const [zone, from, every, times] of [
    ['Europe/Berlin', '2026-03-28T00:00:00Z', hour, ['2026-03-28 08:00:00', '2026-03-29 08:00:00']],
    ['Europe/Berlin', '2026-10-24T00:00:00Z', hour, ['2026-10-24 08:00:00', '2026-10-25 08:00:00']],
    ['Asia/Kathmandu', '2026-05-01T22:00:00Z', 15 * minute, ['2026-05-02 08:00:00', '2026-05-03 08:00:00']],
  ] as const)
    it(`happens once a day at 8:00 local time, even when the clocks change: ${zone}, ${times[1]}`, async () => {
      await setZone(zone);
      const startTimes: string[] = [];
      for (let at = Date.parse(from); startTimes.length < 2; at += every) {
        const now = new Date(at);
        if ((await beginDigests(deps.db, now)).begun === 0) continue;
        startTimes.push(now.toLocaleString('sv-SE', { timeZone: zone }));
        const [date = ''] = (await datesOf()).slice(-1);
        await runDigest(sending, digestIdOf(club.id, date), now);
      }
      expect(startTimes).to.deep.equal(times);
    });

  describe('with a new time zone', () => {
    for (const [from, to, at, dates] of [
      // 8:00 in Tokyo is 23:00 of the previous day in UTC.
      ['Asia/Tokyo', 'America/New_York', '2026-03-01T23:30:00Z', ['2026-03-02', '2026-03-03']],
      ['America/New_York', 'Asia/Tokyo', '2026-03-02T13:30:00Z', ['2026-03-02', '2026-03-03']],
      ['Pacific/Kiritimati', 'Pacific/Pago_Pago', '2026-03-01T18:30:00Z', ['2026-03-02', '2026-03-03']],
    ] as const)
      it(`creates no second digest for a date if the zone changes from ${from} to ${to}`, async () => {
        await setZone(from);
        await begin(new Date(at));
        await runDigest(sending, digestIdOf(club.id, '2026-03-02'), new Date(at));
        await setZone(to);
        const when = new Map<string, number>();
        for (let now = Date.parse(at); when.size < 2; now += hour / 2) {
          await begin(new Date(now));
          for (const date of await datesOf())
            if (!when.has(date)) {
              when.set(date, now);
              await runDigest(sending, digestIdOf(club.id, date), new Date(now));
            }
        }
        expect([...when.keys()]).to.deep.equal(dates);
      });
  });

  it('creates no digest while an earlier digest may still be sent', async () => {
    await setZone('America/New_York');
    const evening = new Date('2026-03-03T02:00:00Z');
    await begin(evening);
    await setZone('Asia/Tokyo');
    await begin(evening);
    expect(await datesOf()).to.deep.equal(['2026-03-02']);
    await runDigest(sending, digestIdOf(club.id, '2026-03-02'), evening);
    await begin(evening);
    expect(await datesOf()).to.deep.equal(['2026-03-02', '2026-03-03']);
  });

  it('continues in batches until every club has its digest', async () => {
    await deps.db.run(sql`
      WITH given AS (SELECT gen_random_uuid() AS club_id, gen_random_uuid() AS student_id, gen_random_uuid() AS space_id FROM generate_series(1, 200)),
      clubs AS (INSERT INTO clubs (id, name, slug, time_zone, language, opening_plan, created_at)
        SELECT club_id, 'Many', club_id, 'Asia/Kathmandu', 'en', 'professional', ${morning} FROM given),
      senders AS (INSERT INTO mail_senders (club_id, from_name, postal_address, allowance_at, updated_at)
        SELECT club_id, 'Many', 'Quay', ${morning}, ${morning} FROM given),
      students AS (INSERT INTO students (id, club_id, name, email, opened_by, created_at)
        SELECT student_id, club_id, 'One', 'one@example.com', 'club', ${morning} FROM given),
      spaces AS (INSERT INTO community_spaces (id, club_id, public_id, name, position, created_at, updated_at)
        SELECT space_id, club_id, 'quay', 'Quay', 1, ${morning}, ${morning} FROM given)
      INSERT INTO community_memberships (space_id, student_id, club_id, joined_at, read_at, digest, counted)
      SELECT space_id, student_id, club_id, ${morning}, ${morning}, true, true FROM given`);
    expect(await beginDigests(deps.db, morning)).to.deep.equal({ begun: 200, more: true });
    expect(await beginDigests(deps.db, morning)).to.deep.equal({ begun: 1, more: false });
  });
});

describe('the recipients of a digest (COMM-18)', () => {
  beforeEach(start);

  interface Case {
    title: string;
    getsMail: boolean;
    space?: SpaceOptions;
    membership?: Parameters<typeof buildSpaceMembership>[2];
    post?: PostOptions | 'own';
    access?: boolean;
    unconfirmed?: boolean;
  }
  const cases: Case[] = [
    { title: 'a member who has the digest switched on', getsMail: true },
    { title: 'a post of an administrator', getsMail: true, post: { studentId: undefined } },
    { title: 'a private space with access', getsMail: true, space: { private: true }, access: true },
    { title: 'a private space without access', getsMail: false, space: { private: true } },
    { title: 'a hidden space with access', getsMail: true, space: { private: true, hidden: true }, access: true },
    { title: 'an archived space', getsMail: false, space: { archived: true } },
    { title: 'a member who has the digest switched off', getsMail: false, membership: { digest: false } },
    { title: 'a member who has muted the space', getsMail: false, membership: { muted: true } },
    { title: 'a member who has left', getsMail: false, membership: { status: 'left' } },
    { title: 'a member who is banned', getsMail: false, membership: { status: 'banned' } },
    { title: 'a post that the member wrote', getsMail: false, post: 'own' },
    { title: 'a hidden post', getsMail: false, post: { hidden: true } },
    { title: 'a deleted post', getsMail: false, post: { state: 'deleted' } },
    { title: 'a post that the member has read', getsMail: false, membership: { readAt: before(hour) } },
    { title: 'a post that is newer than the read mark', getsMail: true, membership: { readAt: before(hour + 1) } },
    { title: 'a post from before the member joined', getsMail: false, membership: { at: before(hour / 2) } },
    { title: 'a post of the last minute', getsMail: false, post: { at: before(minute - 1) } },
    { title: 'a post of a minute ago', getsMail: true, post: { at: before(minute) } },
    { title: 'a post that is a week old', getsMail: false, post: { at: before(7 * day + minute) } },
    { title: 'a post that is not quite a week old', getsMail: true, post: { at: before(7 * day + minute - 1) } },
    { title: 'an unconfirmed address', getsMail: false, unconfirmed: true },
  ];

  it('are only members who can read a new post and have not read it', async () => {
    const readers = new Map<Id, string>();
    for (const { title, space: options, membership, post = {}, access, unconfirmed } of cases) {
      const reader = await buildStudent(club.id, { verified: !unconfirmed });
      readers.set(reader.id, title);
      const quay = await buildSpace(club.id, options);
      await join(reader, quay, membership);
      await buildPost(quay, {
        at: before(hour),
        ...(post === 'own' ? { studentId: reader.id } : { studentId: ada.id, ...post }),
      });
      if (access)
        await buildEnrollment(club.id, {
          studentId: reader.id,
          deliveryId: await buildSpaceDelivery(quay),
          startsAt: before(day),
        });
    }
    expect(await send()).to.deep.equal({ done: true, outcome: 'sent' });
    const rows = await rowsOf();
    expect(rows.map(({ studentId }) => readers.get(studentId) ?? '').toSorted()).to.deep.equal(
      cases.flatMap(({ title, getsMail }) => (getsMail ? [title] : [])).toSorted(),
    );
    expect(new Set(rows.map(({ status }) => status))).to.deep.equal(new Set(['sent']));
    expect(messages).to.have.length(rows.length);
  });

  it('see each post only in the first digest that they receive', async () => {
    await join(ada);
    await buildPost(space, { at: before(hour), title: 'Monday' });
    await send();
    await buildPost(space, { at: after(hour), title: 'Tuesday' });
    answer = () => ({ kind: 'refused', permanent: true, reply: '550 no' });
    await send(after(day));
    answer = () => ({ kind: 'unknown' });
    await buildPost(space, { at: after(day + hour), title: 'Wednesday' });
    await send(after(2 * day));
    answer = () => ({ kind: 'accepted', reply: '250 ok' });
    await send(after(3 * day));
    await buildPost(space, { at: after(3 * day + hour), title: 'Friday' });
    await send(after(4 * day));
    const titles = ['Monday', 'Tuesday', 'Wednesday', 'Friday'];
    expect(messages.map(({ text }) => titles.filter((title) => text.includes(title)))).to.deep.equal([
      ['Monday'],
      ['Tuesday'],
      // Wednesday's mail repeats the post, because Tuesday's mail was refused. Thursday's mail does not, because Wednesday's mail may have
      // arrived.
      ['Tuesday', 'Wednesday'],
      ['Friday'],
    ]);
    expect((await rowsOf()).map(({ status }) => status)).to.deep.equal(['sent', 'failed', 'failed', 'sent']);
  });

  it('receive the posts of a date without a digest in the next digest', async () => {
    await join(ada);
    await send();
    await buildPost(space, { at: after(hour), title: 'Long ago' });
    await send(after(3 * day));
    expect(messages.map(({ text }) => text.includes('Long ago'))).to.deep.equal([true]);
  });

  describe('after the member was selected', () => {
    /** No worker has claimed the mail yet. */
    const paged = async () => {
      await join(ada);
      const post = await buildPost(space, { at: before(hour) });
      await begin();
      await stepDigest(sending, digestIdOf(club.id, '2026-03-02'), morning.getTime());
      expect((await rowsOf()).map(({ status }) => status)).to.deep.equal(['pending']);
      return post;
    };
    const membership = (change: ReturnType<typeof sql>) =>
      deps.db.run(sql`UPDATE community_memberships SET ${change} WHERE student_id = ${ada.id}`);

    for (const [title, reason, act] of [
      [
        'the post was hidden',
        'no_longer_eligible',
        () => deps.db.run(sql`UPDATE community_posts SET hidden_at = now()`),
      ],
      [
        'the space was archived',
        'no_longer_eligible',
        () => deps.db.run(sql`UPDATE community_spaces SET archived_at = now()`),
      ],
      ['the space was muted', 'no_longer_eligible', () => membership(sql`muted = true`)],
      ['the digest was switched off', 'no_longer_eligible', () => membership(sql`digest = false`)],
      ['the post was read', 'no_longer_eligible', () => membership(sql`read_at = ${before(hour)}`)],
      ['the membership ended', 'no_longer_eligible', () => membership(sql`left_at = now(), counted = false`)],
      ['the address was suppressed', 'suppressed', () => addSuppression(deps, club.id, ada.email, morning)],
      [
        'the student unsubscribed',
        'unsubscribed',
        () => unsubscribe(deps, club.id, unsubscribeToken(deps.vault, { kind: 'digests', studentId: ada.id }), morning),
      ],
      ['the student was removed', 'student_removed', () => removeStudent(deps, club.id, ada.id, morning)],
    ] as const)
      it(`are skipped if ${title}`, async () => {
        await paged();
        await act();
        expect(await run()).to.deep.equal({ done: true, outcome: 'sent' });
        expect(await rowsOf()).to.deep.equal([{ studentId: ada.id, status: 'skipped', reason, error: null }]);
        expect(messages).to.deep.equal([]);
      });

    it('are skipped if the access to the space was revoked', async () => {
      const crew = await buildSpace(club.id, { private: true });
      const deliveryId = await buildSpaceDelivery(crew);
      const { id } = await buildEnrollment(club.id, { studentId: ada.id, deliveryId, startsAt: before(day) });
      await join(ada, crew);
      await buildPost(crew, { at: before(hour) });
      await begin();
      await stepDigest(sending, digestIdOf(club.id, '2026-03-02'), morning.getTime());
      await deps.db.transaction((tx) => revokeAccess(tx, club.id, id, 'revocation', morning));
      await run();
      expect(await rowsOf()).to.deep.equal([
        { studentId: ada.id, status: 'skipped', reason: 'no_longer_eligible', error: null },
      ]);
      expect(messages).to.deep.equal([]);
    });

    it('get no posts that they can no longer read', async () => {
      await paged();
      await buildPost(space, { at: before(2 * hour), title: 'Secret', hidden: true });
      await updateStudent(deps, club.id, ada.id, { email: 'ada@new.example' }, 'owner', morning);
      await deps.db.run(sql`UPDATE students SET verified_at = ${morning} WHERE id = ${ada.id}`);
      await run();
      expect(messages.map(({ to, text }) => [to, text.includes('Secret')])).to.deep.equal([['ada@new.example', false]]);
    });

    it('are skipped by the next digest after they complain', async () => {
      await paged();
      await run();
      const [mail] = await deps.db.manager.findBy(Mail, { clubId: club.id });
      await recordEvents(
        deps.db,
        [{ kind: 'complained', at: after(hour), mailId: mail?.id, providerId: undefined }],
        after(hour),
      );
      await buildPost(space, { at: after(2 * hour) });
      await send(after(day));
      expect((await rowsOf()).map(({ status, reason }) => [status, reason])).to.deep.equal([
        ['sent', null],
        ['skipped', 'complained'],
      ]);
    });
  });

  it('have neither name nor address after `removeStudent`', async () => {
    await join(ada);
    await buildPost(space, { at: before(hour) });
    answer = () => ({ kind: 'refused', permanent: true, reply: `550 no ${ada.email}` });
    await send();
    await removeStudent(deps, club.id, ada.id, after(hour));
    const [mail] = await deps.db.manager.findBy(Mail, { clubId: club.id });
    expect(mail).to.include({ studentName: 'Removed student', studentEmail: '', addressKey: null, lastError: null });
  });

  it('omit a student who is removed while the members are read', async () => {
    const bea = await buildStudent(club.id);
    await join(ada);
    await join(bea);
    await buildPost(space, { at: before(hour) });
    await begin();
    let step: Promise<unknown> = Promise.resolve();
    await withOpenTransaction(
      (tx) => removeStudent({ ...deps, db: within(tx) }, club.id, bea.id, morning),
      async () => {
        step = stepDigest(sending, digestIdOf(club.id, '2026-03-02'), morning.getTime());
        await untilWaitingForLocks(1);
      },
    );
    await step;
    expect((await rowsOf()).map(({ studentId }) => studentId)).to.deep.equal([ada.id]);
  });
});

describe('the sending of a digest (COMM-17)', () => {
  beforeEach(async () => {
    await start();
    await join(ada);
    await buildPost(space, { at: before(hour) });
  });
  const digest = () => deps.db.manager.findOneByOrFail(SpaceDigest, { clubId: club.id });

  it('creates one mail for each student and date if two workers run a step', async () => {
    for (let number = 0; number < 8; number++) await join(await buildStudent(club.id));
    await begin();
    await Promise.all([run(), run(), run()]);
    await run();
    expect((await rowsOf()).map(({ status }) => status)).to.deep.equal(Array.from({ length: 9 }, () => 'sent'));
    expect(new Set(messages.map(({ to }) => to)).size).to.equal(9);
    expect(messages).to.have.length(9);
    expect(await digest()).to.include({ recipients: 9, pages: 1, allPaged: true });
    const again = deps.db
      .run(sql`INSERT INTO mails (id, club_id, digest_id, student_id, student_name, student_email, next_attempt_at, created_at)
      SELECT gen_random_uuid(), club_id, digest_id, student_id, '', '', now(), now() FROM mails WHERE student_id = ${ada.id}`);
    expect(
      await again.catch(({ driverError }: { driverError: { constraint: string } }) => driverError.constraint),
    ).to.equal('mails_digest_student');
  });

  it('selects each member once if two workers read a page at the same time', async () => {
    await begin();
    const id = digestIdOf(club.id, '2026-03-02');
    let steps: Promise<unknown>[] = [];
    await withOpenTransaction(
      (tx) => tx.run(sql`SELECT FROM space_digests WHERE id = ${id} FOR UPDATE`),
      async () => {
        steps = [1, 2].map(() => stepDigest(sending, id, morning.getTime()));
        await untilWaitingForLocks(2);
      },
    );
    await Promise.all(steps);
    expect(await digest()).to.include({ pages: 1, recipients: 1 });
  });

  it('reports the current page of members and the number of settled mails', async () => {
    await deps.db.run(sql`
      WITH student AS (
        INSERT INTO students (id, club_id, name, email, opened_by, verified_at, created_at)
        SELECT gen_random_uuid(), ${club.id}, 'One of many', 'm' || number || '@example.com', 'club', now(), now() FROM generate_series(1, 1999) AS number RETURNING id)
      INSERT INTO community_memberships (space_id, student_id, club_id, joined_at, read_at, digest, counted)
      SELECT ${space.id}, id, ${club.id}, ${before(day)}, ${morning}, true, true FROM student`);
    await begin();
    const id = digestIdOf(club.id, '2026-03-02');
    const reports: string[] = [];
    for (;;) {
      const next = await stepDigest(sending, id, morning.getTime());
      if (next.done) break;
      reports.push(`page ${next.page} of ${next.pages}, ${next.settled} of ${next.recipients}`);
    }
    // The only student with new posts may be on the first or second page. The last page is empty.
    expect(reports.filter((one) => !one.includes('0 of 1')).at(-1)).to.equal('page 3 of 3, 1 of 1');
    expect(reports[0]).to.match(/^page 1 of 2, 0 of [01]$/);
    expect(messages).to.have.length(1);
  });

  it('retries temporary refusals and unreachable servers, and ends after the last try', async () => {
    const answers: HandOver[] = [
      { kind: 'refused', permanent: false, reply: '451 later' },
      { kind: 'not_sent', reply: 'ECONNECTION' },
      { kind: 'accepted', reply: '250 ok' },
    ];
    answer = () => answers[messages.length - 1] as HandOver;
    expect(await send()).to.include({ waitingFor: 'retries', at: after(minute).getTime(), settled: 0, recipients: 1 });
    expect((await digest()).looksAt).to.deep.equal(after(minute));
    expect(await run(after(minute))).to.include({ waitingFor: 'retries', at: after(6 * minute).getTime() });
    expect(await run(after(6 * minute))).to.deep.equal({ done: true, outcome: 'sent' });
    expect(await digest()).to.deep.include({ looksAt: null, endedAt: after(6 * minute) });
    expect(messages).to.have.length(3);
  });

  it('waits for the club’s rate limit, and for the next day after the daily limit', async () => {
    await deps.db.run(sql`UPDATE mail_senders SET allowance = 0, allowance_at = ${morning} WHERE club_id = ${club.id}`);
    expect(await send()).to.deep.include({ waitingFor: 'rate', at: after(1_000).getTime() });
    const bounded = { ...sending, warmUps: { clubs: [0, 0, 0, 0], domains: [] } };
    await deps.db.run(sql`UPDATE clubs SET created_at = ${before(hour)} WHERE id = ${club.id}`);
    expect(await run(after(minute), bounded)).to.deep.include({
      waitingFor: 'day',
      at: Date.parse('2026-03-03T00:00:00Z'),
    });
    expect(messages).to.deep.equal([]);
  });

  it('skips unsent mails when the day ends, but completes mails that are being sent', async () => {
    const bob = await buildStudent(club.id);
    await join(bob);
    answer = ({ to }) =>
      to === ada.email ? { kind: 'refused', permanent: false, reply: '451 later' } : { kind: 'accepted', reply: '250' };
    await send();
    await deps.db.run(sql`UPDATE mails SET next_attempt_at = ${after(2 * day)} WHERE student_id = ${ada.id}`);
    expect(await run()).to.deep.include({ waitingFor: 'retries', at: Date.parse('2026-03-03T00:00:00Z') });
    await deps.db.run(
      sql`UPDATE mails SET status = 'sending', lease_until = clock_timestamp() + interval '1 minute' WHERE student_id = ${bob.id}`,
    );
    const night = new Date('2026-03-03T00:00:00Z');
    const id = digestIdOf(club.id, '2026-03-02');
    expect(await runDigest(sending, id, night)).to.include({ waitingFor: 'under_way' });
    await deps.db.run(sql`UPDATE mails SET lease_until = clock_timestamp() WHERE student_id = ${bob.id}`);
    expect(await runDigest(sending, id, night)).to.deep.equal({ done: true, outcome: 'date_over' });
    expect((await rowsOf()).map(({ status, reason, error }) => [status, reason, error])).to.have.deep.members([
      ['failed', null, 'outcome_unknown'],
      ['skipped', 'canceled', '451 later'],
    ]);
    expect(messages).to.have.length(2);
  });

  it('ends if the plan loses `community`, and does not begin if the plan lacks it', async () => {
    await begin();
    await stepDigest(sending, digestIdOf(club.id, '2026-03-02'), morning.getTime());
    await buildPlan(club.id, 'starter');
    await withoutFeature('community', async () => {
      expect(await run()).to.deep.equal({ done: true, outcome: 'not_wanted' });
      await begin(after(day));
    });
    expect(await rowsOf()).to.deep.equal([{ studentId: ada.id, status: 'skipped', reason: 'canceled', error: null }]);
    expect(await datesOf()).to.deep.equal(['2026-03-02']);
    expect(messages).to.deep.equal([]);
  });

  it('pauses if the server refuses several mails in a row, or is unreachable', async () => {
    for (let number = 0; number < 30; number++) await join(await buildStudent(club.id));
    answer = () => ({ kind: 'refused', permanent: false, reply: '454 relaying denied' });
    expect(await send()).to.include({ waitingFor: 'server', at: after(15 * minute).getTime() });
    const firstCount = messages.length;
    expect(firstCount).to.be.within(20, 22);
    await deps.db.run(sql`UPDATE mails SET next_attempt_at = ${morning} WHERE club_id = ${club.id}`);
    answer = () => ({ kind: 'not_sent', reply: 'ECONNECTION' });
    expect(await run()).to.include({ waitingFor: 'server', at: after(15_000).getTime() });
    expect(messages.length - firstCount).to.be.within(20, 22);
  });

  for (const [place, copies, outcome] of [
    ['mail_claimed', 0, ['failed', 'outcome_unknown']],
    ['mail_handed_over', 1, ['failed', 'outcome_unknown']],
    ['mail_recorded', 1, ['sent', null]],
  ] as const)
    it(`sends no mail twice if a worker dies at ${place}`, async () => {
      await begin();
      const dying = {
        ...sending,
        failpoint: async (name: string) => {
          if (name === place) throw new Error('The worker died');
        },
      };
      await run(morning, dying).then(
        () => expect.fail('the sending does not end within the allowed steps'),
        () => {},
      );
      expect(await run()).to.satisfy(({ done, waitingFor }: { done: boolean; waitingFor?: string }) =>
        outcome[0] === 'sent' ? done : waitingFor === 'under_way',
      );
      await deps.db.run(sql`UPDATE mails SET lease_until = clock_timestamp() WHERE lease_until IS NOT NULL`);
      await run();
      expect(messages).to.have.length(copies);
      expect((await rowsOf()).map(({ status, error }) => [status, error])).to.deep.equal([outcome]);
    });

  it('deletes its rows after 90 days: first the mails, then the digests', async () => {
    await send();
    expect(await retainDigests(deps.db, after(90 * day - 1))).to.deep.equal({ rows: { digestMails: 0 }, more: false });
    expect(await retainDigests(deps.db, after(90 * day))).to.deep.equal({ rows: { digestMails: 1 }, more: true });
    expect([await rowsOf(), await datesOf()]).to.deep.equal([[], []]);
    expect(await retainDigests(deps.db, after(90 * day))).to.deep.equal({ rows: { digestMails: 0 }, more: false });
  });
});
