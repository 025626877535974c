import { expect } from 'chai';
import { activities as all } from '../../activities/index.ts';
import { readConfig } from '../../config.ts';
import type { Mailbox } from '../../dev/mailbox/mailbox.ts';
import { workflowIdOf } from '../../platform/engine/workflow-types.ts';
import { tokenText } from '../../domain/mail/codes/one-time-tokens.ts';
import { verifyStudentEmail } from '../../domain/identity/accounts/student-accounts.ts';
import { unknownClient } from '../../domain/identity/sessions/sessions.ts';
import { removeStudent, updateStudent } from '../../domain/students/students.ts';
import { requestMail } from '../../domain/mail/transactional/requests.ts';
import { mailKinds } from '../../domain/contexts.ts';
import {
  sendTransactionalMail,
  type MailOutcome,
  type MailDeps,
  type OutgoingMail,
} from '../../domain/mail/transactional/send.ts';
import type { MailTemplate } from '../../entities/mail/values.ts';
import { TransactionalMail } from '../../entities/mail/transactional-mail.ts';
import { createSmtpSender, type SmtpSender } from '../../platform/infra/smtp/smtp.ts';
import type { transactionalMail } from '../../workflows/index.ts';
import { sqlStateOf } from '../../platform/infra/postgres/errors.ts';
import { buildAssignment, buildSubmission } from '../toolkit/builders/assignments.ts';
import { buildCourse } from '../toolkit/builders/courses.ts';
import { buildClub, buildStudent, type TestStudent } from '../toolkit/builders/clubs.ts';
import { testDeps } from '../toolkit/stack/database.ts';
import { until } from '../toolkit/drive/until.ts';
import { testStack } from '../toolkit/stack/stack.ts';
import { useTimeSkipping } from '../toolkit/stack/time-skipping.ts';
import { runWorkerHere } from '../toolkit/stack/worker.ts';

const second = 1_000;
const minute = 60 * second;

/** After attempts 1 to 7. The first waits are short, because a person waits for the mail. */
const waits = [10 * second, minute, 5 * minute, 15 * minute, 30 * minute, 60 * minute, 120 * minute];
/** A busy machine may be late, but by less than the difference between any two waits. */
const lateMs = 5 * second;
const slackMs = second;

describe('the workflow of a transactional mail', function () {
  this.timeout(60_000);
  const workers: { stop(): Promise<void> }[] = [];
  after('stop the worker, before its server', () => Promise.all(workers.map((worker) => worker.stop())));
  const environment = useTimeSkipping();
  let mailbox: Mailbox;
  let smtp: SmtpSender;
  let deps: Awaited<ReturnType<typeof testDeps>>;
  /** `at` is a time on the clock of the time-skipping server. */
  let sendings: { mail: OutgoingMail; at: number }[] = [];
  let outcomes: MailOutcome[] = [];
  let mailDeps: MailDeps;

  before('start the worker', async () => {
    const stack = await testStack();
    if (!stack.mailbox) throw new Error('The stack has no mailbox, which these tests set to refuse a mail.');
    mailbox = stack.mailbox;
    deps = await testDeps();
    const { mail, classroomUrl, dashboardUrl } = readConfig();
    smtp = createSmtpSender(mail);
    mailDeps = {
      db: deps.db,
      vault: deps.vault,
      links: { classroomUrl, dashboardUrl, publicUrl: 'https://api.example.com' },
      warmUp: [],
      kinds: mailKinds,
      onOutcome: (outcome) => outcomes.push(outcome),
      async sendMail(outgoing) {
        sendings.push({ mail: outgoing, at: await environment().currentTimeMs() });
        await smtp.sendMail(outgoing);
      },
    };
    const activities = all.transactionalMail({ mails: mailDeps });
    workers.push(await runWorkerHere(environment().nativeConnection, { taskQueue: 'mail', activities }));
  });
  beforeEach(() => {
    sendings = [];
    outcomes = [];
  });
  afterEach(() => mailbox.succeed());
  after('close the SMTP connections', () => smtp.close());

  /** Uses the clock of the time-skipping server. */
  const requestedMail = async (template: MailTemplate = 'student_verify_email', student?: TestStudent) => {
    const { id: clubId } = await buildClub();
    const recipient = student ?? (await buildStudent(clubId, { verified: false }));
    const now = new Date(await environment().currentTimeMs());
    await deps.db.transaction((tx) =>
      requestMail(
        tx,
        deps.vault,
        { template, clubId, recipient: { studentId: recipient.id }, email: 'somebody@example.com' },
        now,
      ),
    );
    const { id, tokenId } = await deps.db.source.manager.findOneByOrFail(TransactionalMail, {
      studentId: recipient.id,
    });
    return { id, tokenId, clubId, student: recipient, now };
  };
  const start = (id: string) =>
    environment().client.workflow.start<typeof transactionalMail>('transactionalMail', {
      workflowId: workflowIdOf('transactionalMail', id),
      taskQueue: 'mail',
      args: [id],
    });
  const outcomeOf = async (id: string) => (await start(id)).result();
  const rowOf = (id: string) => deps.db.source.manager.findOneByOrFail(TransactionalMail, { id });
  const refuse = (to: string, times: number) => mailbox.failNext({ at: 'rcpt', reply: 451, to, times });
  const waitsBetween = () => sendings.slice(1).map(({ at }, index) => at - (sendings[index]?.at ?? Number.NaN));
  const expectWaits = (expected: readonly number[]) => {
    const measured = waitsBetween();
    expect(measured).to.have.length(expected.length);
    for (const [index, wait] of measured.entries()) {
      const least = expected[index] ?? Number.NaN;
      expect(wait, `after attempt ${index + 1}`).to.be.within(least - slackMs, least + lateMs);
    }
  };

  describe('a mail about a review', () => {
    const reviewed = async () => {
      const { id: clubId } = await buildClub();
      const student = await buildStudent(clubId);
      const [lesson] = (await buildCourse(clubId, { modules: 1, lessons: 1 })).lessons;
      const assignment = await buildAssignment({ clubId, id: lesson?.id ?? '' });
      const work = { clubId, studentId: student.id, assignmentId: assignment.id, status: 'approved' } as const;
      const { id: submission, review: reviewId } = await buildSubmission(work);
      const now = new Date(await environment().currentTimeMs());
      const recipient = { studentId: student.id };
      const request = { template: 'assignment_approved', clubId, recipient, email: student.email, reviewId } as const;
      await deps.db.transaction((tx) => requestMail(tx, deps.vault, request, now));
      const { id } = await deps.db.source.manager.findOneByOrFail(TransactionalMail, { studentId: student.id });
      return {
        id,
        submission,
        student,
        again: () => deps.db.transaction((tx) => requestMail(tx, deps.vault, request, now)),
      };
    };

    it('names the lesson and links to the submission (ASG-12)', async () => {
      const { id, submission, student, again } = await reviewed();
      expect(await outcomeOf(id)).to.equal('sent');
      const [{ mail } = { mail: undefined }] = sendings;
      expect(mail?.to).to.equal(student.email);
      expect(mail?.text)
        .to.contain('for the lesson “Lesson 1”')
        .and.to.contain(`/assignments/submissions/${submission}`);
      const refused = await again().catch((error: unknown) => sqlStateOf(error));
      expect(refused).to.equal('23505');
    });

    it('is canceled if the submission was deleted', async () => {
      const { id, submission } = await reviewed();
      await deps.db.source.query(`DELETE FROM assignment_submissions WHERE id = $1`, [submission]);
      expect(await outcomeOf(id)).to.equal('canceled');
      expect(sendings).to.deep.equal([]);
    });
  });

  it('sends the mail immediately', async () => {
    const { id, tokenId, student } = await requestedMail();
    expect(await outcomeOf(id)).to.equal('sent');
    expect(await rowOf(id)).to.include({ status: 'sent', attemptCount: 1, leaseUntil: null });
    const [message, ...others] = await mailbox.messages({ to: student.email });
    expect(others).to.have.length(0);
    expect(message?.message_id).to.match(new RegExp(`^<${id}@`));
    expect(message?.text).to.contain(tokenText(deps.vault, 'student_verify_email', tokenId ?? ''));
  });

  it('sends the mail once after two refusals', async () => {
    const { id, student } = await requestedMail();
    refuse(student.email, 2);
    expect(await outcomeOf(id)).to.equal('sent');
    expectWaits(waits.slice(0, 2));
    expect(outcomes).to.deep.equal(['failed', 'failed', 'sent']);
    expect(await rowOf(id)).to.include({ status: 'sent', attemptCount: 3 });
    expect(mailbox.summaries({ to: student.email })).to.have.length(1);
  });

  it('fails after eight refusals, with waits of 10 s, 1, 5, 15, 30, 60 and 120 min', async () => {
    const { id, student } = await requestedMail();
    refuse(student.email, 9);
    expect(await outcomeOf(id)).to.equal('failed');
    expectWaits(waits);
    const row = await rowOf(id);
    expect(row).to.include({ status: 'failed', attemptCount: 8, leaseUntil: null, sentAt: null });
    expect(mailbox.summaries({ to: student.email })).to.have.length(0);
  });

  for (const fault of [
    { at: 'rcpt', reply: 550 },
    { at: 'data', reply: 'drop' },
    { at: 'message', reply: 452 },
  ] as const) {
    it(`sends the mail again if the server fails with ${fault.reply} at ${fault.at}`, async () => {
      const { id, student } = await requestedMail();
      mailbox.failNext({ ...fault, to: student.email });
      expect(await outcomeOf(id)).to.equal('sent');
      expect(await rowOf(id)).to.include({ attemptCount: 2 });
      expect(mailbox.summaries({ to: student.email })).to.have.length(1);
    });
  }

  it('sends the mail again with the same Message-ID if the server’s reply is lost', async () => {
    const { id, student } = await requestedMail();
    mailbox.failNext({ at: 'message', reply: 'drop', kept: true, to: student.email });
    expect(await outcomeOf(id)).to.equal('sent');
    const ids = mailbox.summaries({ to: student.email }).map(({ message_id: messageId }) => messageId);
    expect(ids).to.have.length(2);
    expect(new Set(ids).size).to.equal(1);
  });

  it('cancels the mail if its token is used before the next attempt', async () => {
    const { id, tokenId, student, now } = await requestedMail();
    refuse(student.email, 1);
    const handle = await start(id);
    await until('the refused attempt', { timeoutMs: 5 * second }, async () => (await rowOf(id)).attemptCount === 1);
    await verifyStudentEmail(deps, tokenText(deps.vault, 'student_verify_email', tokenId ?? ''), unknownClient, now);
    expect(await handle.result()).to.equal('canceled');
    expect(await rowOf(id)).to.include({ status: 'canceled', leaseUntil: null });
    expect(outcomes).to.deep.equal(['failed', 'canceled']);
    expect(sendings).to.have.length(1);
  });

  it('cancels the mail if its token expires before the next attempt', async () => {
    const { id, student } = await requestedMail('student_code');
    refuse(student.email, 9);
    expect(await outcomeOf(id)).to.equal('canceled');
    // The waits of 10 s, 1 min and 5 min fit into the ten minutes, but the next wait of 15 min does not.
    expectWaits(waits.slice(0, 3));
  });

  it('cancels the mail if its student is removed before the next attempt', async () => {
    const { id, clubId, student } = await requestedMail('student_already_registered');
    refuse(student.email, 1);
    const handle = await start(id);
    await until('the refused attempt', { timeoutMs: 5 * second }, async () => (await rowOf(id)).attemptCount === 1);
    await removeStudent(deps, clubId, student.id, new Date());
    expect(await handle.result()).to.equal('canceled');
    expect(sendings).to.have.length(1);
  });

  describe('the daily limit of a new club (DEC-65)', () => {
    const day = 86_400_000;
    const midnight = new Date('2033-05-04T00:00:00Z').getTime();
    /** The returned function makes one step of each mail, at a time after the midnight before the club was created. */
    const mailsOf = async (count: number, template: MailTemplate, { warmUp = [2, 3], plan = 'professional' } = {}) => {
      const club = await buildClub();
      await deps.db.source.query(`UPDATE clubs SET created_at = $2, opening_plan = $3 WHERE id = $1`, [
        club.id,
        new Date(midnight),
        plan,
      ]);
      const ids: string[] = [];
      for (let requested = 0; requested < count; requested++) {
        const { id } = await buildStudent(club.id, { verified: false });
        const request = { template, clubId: club.id, recipient: { studentId: id }, email: `${id}@example.com` };
        await deps.db.transaction((tx) => requestMail(tx, deps.vault, request, new Date(midnight)));
        ids.push((await deps.db.source.manager.findOneByOrFail(TransactionalMail, { studentId: id })).id);
      }
      const paced = { ...mailDeps, warmUp, sendMail: async () => {} };
      const stepAll = (after: number) =>
        Promise.all(ids.map((id) => sendTransactionalMail(paced, id, midnight + after)));
      return { clubId: club.id, ids, stepAll };
    };
    const countSent = (steps: readonly { done: boolean }[]) => steps.filter(({ done }) => done).length;

    it('spreads invitations over the next days, and loses none', async () => {
      const { ids, stepAll } = await mailsOf(7, 'student_invitation');
      const first = await stepAll(0);
      expect(countSent(first)).to.equal(2);
      const waitsUntilSending = first
        .flatMap((step) => (step.done ? [] : [step.at - midnight]))
        .toSorted((a, b) => a - b);
      expect(waitsUntilSending).to.deep.equal([day, day + day / 3, day + (2 * day) / 3, 2 * day, 2 * day]);
      expect(countSent(await stepAll(1_000))).to.equal(2);
      expect(countSent(await stepAll(2 * day - 1))).to.equal(5);
      expect(countSent(await stepAll(2 * day))).to.equal(7);
      for (const id of ids) expect(await rowOf(id), id).to.include({ status: 'sent', attemptCount: 1 });
    });

    it('makes the link in a delayed mail valid for the full time', async () => {
      const { ids, stepAll } = await mailsOf(2, 'student_invitation', { warmUp: [1, 1] });
      const waiting = ids[(await stepAll(0)).findIndex(({ done }) => !done)] ?? '';
      const { tokenId } = await rowOf(waiting);
      const [token] = await deps.db.source.query<{ expires_at: Date }[]>(
        `SELECT expires_at FROM one_time_tokens WHERE id = $1`,
        [tokenId],
      );
      expect(token?.expires_at.getTime()).to.equal(midnight + day + 7 * day);
    });

    it('counts a mail only once, even after several tries', async () => {
      const { clubId, ids } = await mailsOf(1, 'student_invitation');
      const refusing = { ...mailDeps, warmUp: [2], sendMail: () => Promise.reject(new Error('451')) };
      for (const after of [0, 10 * second, 70 * second])
        await sendTransactionalMail(refusing, ids[0] ?? '', midnight + after);
      expect(await rowOf(ids[0] ?? '')).to.include({ attemptCount: 3 });
      const days = await deps.db.source.query<{ mails: number }[]>(
        `SELECT mails FROM club_mail_days WHERE club_id = $1`,
        [clubId],
      );
      expect(days).to.deep.equal([{ mails: 1 }]);
    });

    it('is 25 mails a day on the trial plan', async () => {
      const { stepAll } = await mailsOf(26, 'student_invitation', { warmUp: [], plan: 'trial' });
      expect(countSent(await stepAll(6 * day))).to.equal(25);
    });

    it('does not delay a mail that a person waits for', async () => {
      const { stepAll } = await mailsOf(4, 'student_verify_email', { warmUp: [1], plan: 'trial' });
      expect(countSent(await stepAll(0))).to.equal(4);
    });
  });

  it('omits a name that contains a web address (DEC-64)', async () => {
    const { id, clubId, student } = await requestedMail('student_already_registered');
    const { source } = deps.db;
    await source.query(`UPDATE clubs SET name = 'Win at evil.com' WHERE id = $1`, [clubId]);
    await source.query(`UPDATE students SET name = 'See evil.com', verified_at = now() WHERE id = $1`, [student.id]);
    expect(await outcomeOf(id)).to.equal('sent');
    const [message] = await mailbox.messages({ to: student.email });
    expect(`${message?.subject} ${message?.text} ${message?.html}`).to.not.include('evil');
    expect(message?.text).to.match(/^Hello,\n/);
    const [club] = await source.query<{ slug: string }[]>(`SELECT slug FROM clubs WHERE id = $1`, [clubId]);
    expect(message?.subject).to.include(club?.slug);
  });

  describe('a mail to a former address (DEC-60)', () => {
    /** Returns the student, and the mail about the change. */
    const changeAddress = async () => {
      const { id: clubId } = await buildClub();
      const student = await buildStudent(clubId);
      const email = `${student.id}@new.example.com`;
      const now = new Date(await environment().currentTimeMs());
      await updateStudent(deps, clubId, student.id, { email }, 'admin', now);
      const { id } = await deps.db.source.manager.findOneByOrFail(TransactionalMail, {
        studentId: student.id,
        template: 'student_address_changed',
      });
      return { id, clubId, student, email };
    };

    it('is sent to the former address, and does not name the new one', async () => {
      const { id, student, email } = await changeAddress();
      expect((await rowOf(id)).sealedAddress?.toString('latin1')).to.not.include(student.email);
      refuse(student.email, 1);
      expect(await outcomeOf(id)).to.equal('sent');
      const [message, ...others] = await mailbox.messages({ to: student.email });
      expect(others).to.have.length(0);
      expect(message?.text).to.match(/gave your account another e-mail address/);
      expect(message?.text).to.not.include(email);
      expect(mailbox.summaries({ to: email })).to.have.length(0);
      expect(await rowOf(id)).to.include({ status: 'sent', attemptCount: 2, sealedAddress: null });
    });

    it('is canceled if the student is removed before it is sent', async () => {
      const { id, clubId, student } = await changeAddress();
      await removeStudent(deps, clubId, student.id, new Date());
      expect(await rowOf(id)).to.include({ status: 'pending', sealedAddress: null });
      expect(await outcomeOf(id)).to.equal('canceled');
      expect(mailbox.summaries({ to: student.email })).to.have.length(0);
    });
  });

  it('does not make the next attempt earlier if it gets a signal', async () => {
    const { id, student } = await requestedMail();
    refuse(student.email, 1);
    const handle = await start(id);
    await until('the refused attempt', { timeoutMs: 5 * second }, async () => (await rowOf(id)).attemptCount === 1);
    await handle.signal('lookAgain');
    await handle.signal('lookAgain');
    expect(await handle.result()).to.equal('sent');
    expectWaits(waits.slice(0, 1));
  });

  it('sends the mail once if two steps run concurrently', async () => {
    const { id, student, now } = await requestedMail();
    const otherStep = Promise.withResolvers<void>();
    const { sendMail } = all.transactionalMail({
      mails: {
        ...mailDeps,
        async sendMail(outgoing) {
          await otherStep.promise;
          await smtp.sendMail(outgoing);
        },
      },
    });
    const steps = [sendMail(id, now.getTime()), sendMail(id, now.getTime())];
    expect(await Promise.race(steps)).to.include({ done: false, attempt: 1 });
    otherStep.resolve();
    expect((await Promise.all(steps)).filter(({ done }) => done)).to.deep.equal([{ done: true, outcome: 'sent' }]);
    expect(mailbox.summaries({ to: student.email })).to.have.length(1);
  });
});
