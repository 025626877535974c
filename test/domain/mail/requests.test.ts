import { Transaction } from '../../../platform/infra/postgres/database.ts';
import { expect } from 'chai';
import { newId } from '../../../platform/core/ids.ts';
import { requestMail, requestNoMail } from '../../../domain/mail/requests.ts';
import type { Priority } from '../../../entities/facts/values.ts';
import type { MailTemplate } from '../../../entities/mail/values.ts';
import { buildClub, buildStudent } from '../../toolkit/builders/clubs.ts';
import { columnsHolding, mailsTo, rowCounts, testDeps } from '../../toolkit/stack/database.ts';

const minute = 60_000;

describe('mail requests', () => {
  const start = new Date('2026-03-01T12:00:00Z');
  /** Asks for a reset's mail so many minutes after the start. */
  const ask = async (who: { id: string; email: string }, clubId: string, minutes: number) => {
    const { db, vault } = await testDeps();
    const about = { clubId, recipient: { studentId: who.id }, email: who.email };
    await db.source.transaction((tx) =>
      requestMail(
        new Transaction(tx),
        vault,
        { template: 'student_reset_password', ...about },
        new Date(start.getTime() + minutes * minute),
      ),
    );
  };

  it('write the mail, its token and its wake in one transaction', async () => {
    const club = await buildClub();
    const student = await buildStudent(club.id);
    const before = await rowCounts();
    await ask(student, club.id, 0);
    const after = await rowCounts();
    const written = Object.entries(after).filter(([table, count]) => count !== before[table]);
    expect(written.map(([table, count]) => [table, count - (before[table] ?? 0)])).to.have.deep.members([
      ['one_time_tokens', 1],
      ['transactional_mails', 1],
      ['wakes', 1],
    ]);
  });

  it('are urgent where a person waits, normal for invitations, and bulk where the request says so', async () => {
    const { db, vault } = await testDeps();
    const club = await buildClub();
    const priorityOf = async (template: MailTemplate, priority?: Priority) => {
      const student = await buildStudent(club.id);
      const about = { clubId: club.id, recipient: { studentId: student.id }, email: student.email };
      await db.transaction((tx) =>
        requestMail(tx, vault, { template, ...about, ...(priority !== undefined && { priority }) }, start),
      );
      const [row] = await db.source.query<{ mail: number; wake: number }[]>(
        `SELECT mail.priority AS mail, wake.priority AS wake
           FROM transactional_mails mail JOIN wakes wake ON wake.subject_id = mail.id::text WHERE mail.student_id = $1`,
        [student.id],
      );
      return [row?.mail, row?.wake];
    };
    expect(await priorityOf('student_code')).to.deep.equal([0, 0]);
    expect(await priorityOf('student_verify_email')).to.deep.equal([0, 0]);
    expect(await priorityOf('student_invitation')).to.deep.equal([1, 1]);
    expect(await priorityOf('student_invitation', 2)).to.deep.equal([2, 2]);
  });

  it('allow 5 of a kind an hour to an address, then one in ten minutes, in sliding windows', async () => {
    const club = await buildClub();
    const student = await buildStudent(club.id);
    const sentAfter: number[] = [];
    for (const minutes of [0, 1, 2, 3, 4, 5, 13, 14, 15, 23, 24, 59, 61, 62, 63, 64]) {
      const before = (await mailsTo(student.id)).length;
      await ask(student, club.id, minutes);
      if ((await mailsTo(student.id)).length > before) sentAfter.push(minutes);
    }
    // At 62 there are still five within the hour; at 63 four.
    expect(sentAfter).to.deep.equal([0, 1, 2, 3, 4, 14, 24, 59, 63, 64]);
  });

  it('count by address across accounts, and store no address', async () => {
    const [one, two] = [await buildClub(), await buildClub()];
    const email = `${newId()}@example.com`;
    const [here, there] = [await buildStudent(one.id, { email }), await buildStudent(two.id, { email })];
    for (let times = 0; times < 3; times++) {
      await ask(here, one.id, times);
      await ask(there, two.id, times);
    }
    expect((await mailsTo(here.id)).length + (await mailsTo(there.id)).length).to.equal(5);
    expect(await columnsHolding(email)).to.deep.equal(['students.email']);
  });

  it('for an unknown address write only a canceled mail, without token and wake', async () => {
    const { db, vault } = await testDeps();
    const club = await buildClub();
    const before = await rowCounts();
    const request = { template: 'student_reset_password', clubId: club.id, email: `${newId()}@example.com` } as const;
    await db.source.transaction((tx) => requestNoMail(new Transaction(tx), vault, request, start));
    expect(await rowCounts()).to.deep.equal({
      ...before,
      transactional_mails: (before['transactional_mails'] ?? 0) + 1,
    });
    const [row] = await db.source.query<object[]>(
      `SELECT status, student_id, administrator_id, invitation_id, token_id FROM transactional_mails ORDER BY id DESC LIMIT 1`,
    );
    expect(row).to.deep.equal({
      status: 'canceled',
      student_id: null,
      administrator_id: null,
      invitation_id: null,
      token_id: null,
    });
  });
});
