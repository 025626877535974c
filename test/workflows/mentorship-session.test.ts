/** Tests the mails about a mentorship session (MENT-11). */
import { expect } from 'chai';
import { activities as all } from '../../activities/index.ts';
import { bookSession, cancelOwnSession } from '../../domain/mentorships/booking.ts';
import type { OutgoingMail } from '../../domain/mail/transactional/send.ts';
import { Administrator } from '../../entities/identity/administrator.ts';
import { TransactionalMail } from '../../entities/mail/transactional-mail.ts';
import { icalendarOf } from '../../platform/core/time/calendar.policy.ts';
import type { Id } from '../../platform/core/ids.ts';
import { workflowIdOf } from '../../platform/engine/workflow-types.ts';
import { createWorkflowClient } from '../../worker/temporal/workflow-client.ts';
import { buildClub, buildMember, buildStudent, type TestClub, type TestStudent } from '../toolkit/builders/clubs.ts';
import { buildMentorship, type TestMentorship } from '../toolkit/builders/mentorships.ts';
import { until } from '../toolkit/drive/until.ts';
import { testDeps } from '../toolkit/stack/database.ts';
import { relayHere, type RelayHere } from '../toolkit/stack/relay-here.ts';
import { searchAttributes } from '../toolkit/stack/skipped-engine.ts';
import { useTimeSkipping } from '../toolkit/stack/time-skipping.ts';
import { runWorkerHere } from '../toolkit/stack/worker.ts';

const hour = 3_600_000;

describe('the workflow of a mentorship session', function () {
  this.timeout(60_000);
  const workers: { stop(): Promise<void> }[] = [];
  after('stop the worker, before its server', () => Promise.all(workers.map((worker) => worker.stop())));
  const environment = useTimeSkipping();
  let relay: RelayHere;
  let outbox: OutgoingMail[];
  before('start the worker', async () => {
    const { connection, nativeConnection } = environment();
    await connection.operatorService.addSearchAttributes({ namespace: 'default', searchAttributes });
    relay = relayHere(createWorkflowClient(nativeConnection, 'default'), ['mentorshipSession', 'transactionalMail']);
    const deps = await testDeps();
    const links = {
      classroomUrl: 'https://{slug}.example.com',
      dashboardUrl: 'https://dashboard.example.com',
      publicUrl: 'https://api.example.com',
    };
    const mails = {
      ...deps,
      links,
      warmUp: [],
      onOutcome() {},
      sendMail: async (mail: OutgoingMail) => void outbox.push(mail),
    };
    const activities = relay.carryingAfterEach({ ...all.mentorshipSession(deps), ...all.transactionalMail({ mails }) });
    workers.push(await runWorkerHere(nativeConnection, { taskQueue: 'mail', activities }));
  });

  let club: TestClub;
  let ada: TestStudent;
  let mentorship: TestMentorship;
  let start: number;
  beforeEach(async () => {
    outbox = [];
    club = await buildClub();
    relay.serve(club.id);
    ada = await buildStudent(club.id);
    mentorship = await buildMentorship(club.id, {
      meetingUrl: 'https://meet.example.com/x',
      timeZone: 'Europe/Berlin',
    });
    start = Math.ceil((await environment().currentTimeMs()) / hour) * hour;
  });
  const now = async () => new Date(await environment().currentTimeMs());
  const inHours = (count: number) => new Date(start + count * hour);
  const book = async (startsAt: Date, replaces?: Id): Promise<Id> => {
    const input = { starts_at: startsAt.toISOString(), ...(replaces !== undefined && { replaces }) };
    const { id } = await bookSession(
      await testDeps(),
      { clubId: club.id, id: ada.id },
      mentorship.publicId,
      input,
      await now(),
    );
    await relay.carry();
    return id;
  };
  const cancel = async (sessionId: Id) => {
    const named = { publicId: mentorship.publicId, sessionId };
    await cancelOwnSession(await testDeps(), { clubId: club.id, id: ada.id }, named, await now());
    await relay.carry();
  };
  const mailsOf = async (sessionId: Id) => {
    const { db } = await testDeps();
    const mails = await db.manager.find(TransactionalMail, {
      where: { sessionId },
      order: { createdAt: 'ASC', template: 'ASC' },
    });
    return mails.map(({ template, sessionSequence, status }) => `${template.slice(11)} ${sessionSequence} ${status}`);
  };
  const settled = (sessionId: Id, count: number) =>
    until(`${count} mails`, { timeoutMs: 15_000 }, async () => {
      const mails = await mailsOf(sessionId);
      return mails.length >= count && mails.every((mail) => !mail.endsWith('pending'));
    });
  const runOf = (id: Id) => environment().client.workflow.getHandle(workflowIdOf('mentorshipSession', id));
  const to = (address: string) => outbox.filter((mail) => mail.to === address);

  it('sends a confirmation, two reminders, and a request for a rating (MENT-11)', async () => {
    const id = await book(inHours(50));
    await settled(id, 2);
    const [confirmation] = to(ada.email);
    expect(confirmation?.calendar).to.deep.include({ method: 'REQUEST', id, sequence: 0, startsAt: inHours(50) });
    expect(confirmation?.text).to.include('(Central European Time)').and.to.not.include('meet.example.com');
    const at = async (time: Date) => {
      await environment().sleep(Math.max(0, time.getTime() - (await now()).getTime()));
    };
    await at(new Date(inHours(26).getTime() - 60_000));
    expect(await mailsOf(id)).to.deep.equal(['booked 0 sent', 'mentor_booked 0 sent']);
    await at(new Date(inHours(26).getTime() + 60_000));
    await settled(id, 3);
    await at(new Date(inHours(49).getTime() - 60_000));
    expect(await mailsOf(id)).to.have.length(3);
    expect(await runOf(id).result()).to.equal('over');
    await settled(id, 5);
    expect(await mailsOf(id)).to.deep.equal([
      'booked 0 sent',
      'mentor_booked 0 sent',
      'day_before 0 sent',
      'hour_before 0 sent',
      'rating 0 sent',
    ]);
    expect(outbox).to.have.length(5);
  });

  it('sends reminders only for the new time after a move, and updates the calendar entry', async () => {
    const id = await book(inHours(50));
    await settled(id, 2);
    expect(await book(inHours(80), id)).to.equal(id);
    await settled(id, 4);
    expect(await runOf(id).result()).to.equal('over');
    await settled(id, 7);
    const reminded = (await mailsOf(id)).filter((mail) => /before|rating/.test(mail));
    expect(reminded).to.deep.equal(['day_before 1 sent', 'hour_before 1 sent', 'rating 1 sent']);
    const entries = to(ada.email).flatMap(({ calendar }) => (calendar ? [[calendar.id, calendar.sequence]] : []));
    expect(entries).to.deep.equal([
      [id, 0],
      [id, 1],
    ]);
    expect((await now()).getTime()).to.be.at.least(inHours(80).getTime());
  });

  it('removes the former mentor’s calendar entry once if the mentor changes (MENT-11)', async () => {
    const id = await book(inHours(50));
    await settled(id, 2);
    const [former, later] = [await buildMember(club.id, 'support'), await buildMember(club.id, 'support')];
    const giveTo = async (mentorId: Id) =>
      (await testDeps()).db.source.query(`UPDATE mentorships SET mentor_id = $1 WHERE id = $2`, [
        mentorId,
        mentorship.id,
      ]);
    await giveTo(former.id);
    await book(inHours(60), id);
    await settled(id, 5);
    const formerEnd = new Date(inHours(60).getTime() + 30 * 60_000);
    await giveTo(later.id);
    await book(inHours(80), id);
    await settled(id, 8);
    await book(inHours(81), id);
    await settled(id, 10);
    await cancel(id);
    await settled(id, 12);
    expect(await runOf(id).result()).to.equal('canceled');
    const calendarOf = (address: string) =>
      to(address).map(({ calendar }) => [calendar?.method, calendar?.id, calendar?.sequence, calendar?.startsAt]);
    expect(calendarOf(former.email)).to.deep.equal([
      ['REQUEST', id, 1, inHours(60)],
      ['CANCEL', id, 2, inHours(60)],
    ]);
    expect(to(former.email)[1]?.calendar).to.deep.include({ endsAt: formerEnd });
    expect(calendarOf(later.email)).to.deep.equal([
      ['REQUEST', id, 2, inHours(80)],
      ['REQUEST', id, 3, inHours(81)],
      ['CANCEL', id, 4, inHours(81)],
    ]);
    expect(await mailsOf(id)).to.have.length(12);
  });

  it('sends no removal mail to a mentor who got no earlier mail (MENT-11)', async () => {
    const deps = await testDeps();
    const other = await buildMember(club.id, 'support');
    const giveTo = (mentorId: Id) =>
      deps.db.source.query(`UPDATE mentorships SET mentor_id = $1 WHERE id = $2`, [mentorId, mentorship.id]);
    const moveWithoutMails = async (startsAt: Date, replaces: Id) =>
      bookSession(
        deps,
        { clubId: club.id, id: ada.id },
        mentorship.publicId,
        { starts_at: startsAt.toISOString(), replaces },
        await now(),
      );
    const id = await book(inHours(50));
    await settled(id, 2);
    await giveTo(other.id);
    await moveWithoutMails(inHours(60), id);
    await giveTo(mentorship.mentorId);
    await moveWithoutMails(inHours(70), id);
    await relay.carry();
    await settled(id, 5);
    expect(to(other.email)).to.deep.equal([]);
    expect((await mailsOf(id)).filter((mail) => mail.startsWith('mentor_')).toSorted()).to.deep.equal([
      'mentor_booked 0 sent',
      'mentor_booked 2 sent',
      'mentor_replaced 1 canceled',
    ]);
    await cancel(id);
    await runOf(id).result();
  });

  it('sends the mail about a cancellation to the mentor of the session (MENT-11)', async () => {
    const { db } = await testDeps();
    const { email } = await db.manager.findOneByOrFail(Administrator, { id: mentorship.mentorId });
    const other = await buildMember(club.id, 'support');
    const id = await book(inHours(50));
    await settled(id, 2);
    await db.source.query(`UPDATE mentorships SET mentor_id = $1 WHERE id = $2`, [other.id, mentorship.id]);
    await cancel(id);
    expect(await runOf(id).result()).to.equal('canceled');
    await settled(id, 4);
    expect(to(email ?? '').map(({ calendar }) => [calendar?.method, calendar?.sequence])).to.deep.equal([
      ['REQUEST', 0],
      ['CANCEL', 1],
    ]);
    expect(to(other.email)).to.deep.equal([]);
  });

  it('sends no reminder that was due before the booking (MENT-11)', async () => {
    const id = await book(inHours(3));
    expect(await runOf(id).result()).to.equal('over');
    await settled(id, 4);
    expect((await mailsOf(id)).filter((mail) => mail.includes('before'))).to.deep.equal(['hour_before 0 sent']);
  });

  it('sends no reminder if the session is canceled, removes the calendar entry, and ends', async () => {
    const id = await book(inHours(50));
    await settled(id, 2);
    await environment().sleep(10 * hour);
    await cancel(id);
    expect(await runOf(id).result()).to.equal('canceled');
    await settled(id, 4);
    await environment().sleep(60 * hour);
    expect((await mailsOf(id)).toSorted()).to.deep.equal([
      'booked 0 sent',
      'canceled 1 sent',
      'mentor_booked 0 sent',
      'mentor_canceled 1 sent',
    ]);
    expect(to(ada.email).at(-1)?.calendar).to.deep.include({ method: 'CANCEL', id, sequence: 1 });
  });

  it('sends no reminder for the old time if the session is moved (MENT-11)', async () => {
    const deps = await testDeps();
    const id = await book(inHours(30));
    await settled(id, 2);
    await deps.db.source.query(
      `UPDATE transactional_mails SET template = 'mentorship_hour_before', status = 'pending', fence = 9
       WHERE session_id = $1 AND template = 'mentorship_booked'`,
      [id],
    );
    await deps.db.source.query(`UPDATE mentorship_sessions SET sequence = 7 WHERE id = $1`, [id]);
    const [mail] = await deps.db.source.query<{ id: Id }[]>(
      `SELECT id FROM transactional_mails WHERE session_id = $1 AND template = 'mentorship_hour_before'`,
      [id],
    );
    const { sendMail } = all.transactionalMail({
      mails: {
        ...deps,
        links: { classroomUrl: 'https://x', dashboardUrl: 'https://x', publicUrl: 'https://api.example.com' },
        warmUp: [],
        onOutcome() {},
        sendMail: async (outgoing) => void outbox.push(outgoing),
      },
    });
    const before = outbox.length;
    expect(await sendMail(mail?.id ?? '', (await now()).getTime())).to.deep.equal({ done: true, outcome: 'canceled' });
    expect(outbox).to.have.length(before);
    await cancel(id);
    await runOf(id).result();
  });

  it('folds lines of the calendar entry at 75 bytes', () => {
    const event = {
      method: 'REQUEST' as const,
      id: 'x',
      sequence: 2,
      startsAt: new Date('2026-03-02T09:00:00Z'),
      endsAt: new Date('2026-03-02T09:45:00Z'),
      summary: `Knots, bends; \\ and\nEND:VEVENT ${'ü'.repeat(60)}`,
      stamp: new Date('2026-02-01T00:00:00Z'),
    };
    const text = icalendarOf(event, 'news@club.example', 'ada@example.com');
    expect(text.split('\r\n').filter((line) => Buffer.byteLength(line) > 75)).to.deep.equal([]);
    const unfolded = text.replaceAll('\r\n ', '');
    expect(unfolded)
      .to.include('\r\nUID:x@club.example\r\nSEQUENCE:2\r\n')
      .and.to.include('DTSTART:20260302T090000Z\r\n');
    expect(unfolded).to.include(`SUMMARY:Knots\\, bends\\; \\\\ and\\nEND:VEVENT ${'ü'.repeat(60)}\r\n`);
  });
});
