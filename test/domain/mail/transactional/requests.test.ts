import { Transaction } from '../../../../platform/infra/postgres/database.ts';
import { expect } from 'chai';
import { newId } from '../../../../platform/core/ids.ts';
import {
  requestInvitation,
  requestInvitations,
  requestMail,
  imitateRequest,
} from '../../../../domain/mail/transactional/requests.ts';
import { TransactionalMail } from '../../../../entities/mail/transactional-mail.ts';
import type { Priority } from '../../../../entities/facts/values.ts';
import { sql } from '../../../../platform/infra/postgres/sql.ts';
import type { MailTemplate } from '../../../../entities/mail/values.ts';
import { buildClub, buildStudent } from '../../../toolkit/builders/clubs.ts';
import { columnsHolding, mailsTo, rowCounts, testDatabase, testDeps } from '../../../toolkit/stack/database.ts';

const minute = 60_000;

describe('mail requests', () => {
  const start = new Date('2026-03-01T12:00:00Z');
  /** `minutes` counts from the start. */
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

  const mailRows = async (studentId: string) =>
    (await testDatabase()).manager.countBy(TransactionalMail, { studentId });

  it('write the mail, the token and the wake in one transaction', async () => {
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

  it('are urgent, normal or bulk, depending on the template and the request', async () => {
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

  it('allow 5 mails per template, address and sliding hour, then one mail per ten minutes', async () => {
    const club = await buildClub();
    const student = await buildStudent(club.id);
    const sentAfter: number[] = [];
    for (const minutes of [0, 1, 2, 3, 4, 5, 13, 14, 15, 23, 24, 59, 61, 62, 63, 64]) {
      const before = (await mailsTo(student.id)).length;
      await ask(student, club.id, minutes);
      if ((await mailsTo(student.id)).length > before) sentAfter.push(minutes);
    }
    // At minute 62 the last hour contains five mails, and at minute 63 four mails.
    expect(sentAfter).to.deep.equal([0, 1, 2, 3, 4, 14, 24, 59, 63, 64]);
  });

  it('count each club separately, and store no address', async () => {
    const [one, two] = [await buildClub(), await buildClub()];
    const email = `${newId()}@example.com`;
    const [here, there] = [await buildStudent(one.id, { email }), await buildStudent(two.id, { email })];
    for (let minutes = 0; minutes < 8; minutes++) await ask(here, one.id, minutes);
    expect(await mailsTo(here.id)).to.have.length(5);
    for (let minutes = 0; minutes < 8; minutes++) await ask(there, two.id, minutes);
    expect(await mailsTo(there.id)).to.have.length(5);
    expect(await columnsHolding(email)).to.deep.equal(['students.email']);
  });

  it('count each template separately', async () => {
    const { db, vault } = await testDeps();
    const club = await buildClub();
    const student = await buildStudent(club.id);
    for (let times = 0; times < 6; times++) await ask(student, club.id, 0);
    const request = { template: 'student_code', clubId: club.id, recipient: { studentId: student.id } } as const;
    const codeRequest = { ...request, email: student.email };
    expect(await db.transaction((tx) => requestMail(tx, vault, codeRequest, start))).to.be.a('string');
  });

  for (const [what, change] of Object.entries({
    failed: `status = 'failed', attempt_count = 5`,
    canceled: `status = 'canceled'`,
    'withdrawn before the sending': `token_id = NULL`,
  }))
    it(`do not count mails that are ${what}`, async () => {
      const source = await testDatabase();
      const club = await buildClub();
      const student = await buildStudent(club.id);
      for (let times = 0; times < 6; times++) await ask(student, club.id, 0);
      expect(await mailsTo(student.id)).to.have.length(5);
      await source.query(`UPDATE transactional_mails SET ${change} WHERE student_id = $1`, [student.id]);
      await ask(student, club.id, 1);
      expect(await mailRows(student.id)).to.equal(6);
    });

  it('count a withdrawn mail that a worker is sending', async () => {
    const source = await testDatabase();
    const club = await buildClub();
    const student = await buildStudent(club.id);
    for (let times = 0; times < 5; times++) await ask(student, club.id, 0);
    const inHand = `token_id = NULL, lease_until = clock_timestamp() + interval '1 minute'`;
    await source.query(`UPDATE transactional_mails SET ${inHand} WHERE student_id = $1`, [student.id]);
    await ask(student, club.id, 1);
    expect(await mailsTo(student.id)).to.have.length(5);
  });

  it('count a mail in the hour after its hand-over to the mail server', async () => {
    const source = await testDatabase();
    const club = await buildClub();
    const student = await buildStudent(club.id);
    for (let times = 0; times < 5; times++) await ask(student, club.id, 0);
    const markSent = `UPDATE transactional_mails SET status = 'sent', sent_at = $2 WHERE student_id = $1`;
    await source.query(markSent, [student.id, new Date(start.getTime() + 58 * minute)]);
    await ask(student, club.id, 61);
    expect(await mailRows(student.id)).to.equal(5);
    await ask(student, club.id, 68);
    expect(await mailRows(student.id)).to.equal(6);
  });

  it('send a mail to a new account, despite many earlier requests', async () => {
    const { db, vault } = await testDeps();
    const [club, other] = [await buildClub(), await buildClub()];
    const email = `${newId()}@example.com`;
    for (const clubId of [club.id, other.id, newId()]) {
      const request = { template: 'student_reset_password', clubId, email } as const;
      for (let times = 0; times < 8; times++) await db.transaction((tx) => imitateRequest(tx, vault, request, start));
    }
    const student = await buildStudent(club.id, { email });
    await ask(student, club.id, 1);
    expect(await mailsTo(student.id)).to.deep.equal(['student_reset_password']);
  });

  it('write 5 rows per hour for an address without an account, then one row per ten minutes', async () => {
    const { db, vault } = await testDeps();
    const club = await buildClub();
    const email = `${newId()}@example.com`;
    const rows = async () => (await rowCounts())['transactional_mails'] ?? 0;
    const before = await rows();
    for (const minutes of [0, 1, 2, 3, 4, 5, 13, 14, 15]) {
      const request = { template: 'student_reset_password', clubId: club.id, email } as const;
      const at = new Date(start.getTime() + minutes * minute);
      await db.transaction((tx) => imitateRequest(tx, vault, request, at));
    }
    expect((await rows()) - before).to.equal(6);
  });

  it('write nothing for an unknown club', async () => {
    const { db, vault } = await testDeps();
    const before = await rowCounts();
    const request = { template: 'student_code', clubId: newId(), email: `${newId()}@example.com` } as const;
    await db.transaction((tx) => imitateRequest(tx, vault, request, start));
    expect(await rowCounts()).to.deep.equal(before);
  });

  it('are delayed, but not refused, if a club’s invitations exceed the limit', async () => {
    const { db, vault } = await testDeps();
    const club = await buildClub();
    const student = await buildStudent(club.id);
    const invited = { studentId: student.id, email: student.email };
    const request = {
      template: 'student_invitation',
      clubId: club.id,
      recipient: invited,
      email: student.email,
    } as const;
    const invite = (minutes: number) =>
      db.transaction((tx) => requestInvitation(tx, vault, request, new Date(start.getTime() + minutes * minute)));
    for (const minutes of [0, 1, 2, 3, 4]) expect(await invite(minutes)).to.equal(null);
    expect(await invite(5)).to.deep.equal(new Date(start.getTime() + 14 * minute));
    const many = [invited, await buildStudent(club.id).then(({ id, email }) => ({ studentId: id, email }))];
    const at = new Date(start.getTime() + 6 * minute);
    await db.transaction((tx) => requestInvitations(tx, vault, club.id, many, at));
    const dueTimes = await Promise.all(
      many.map(({ studentId }) =>
        db.one<{ at: Date }>(
          sql`SELECT next_attempt_at AS at FROM transactional_mails WHERE student_id = ${studentId} AND created_at = ${at}`,
        ),
      ),
    );
    expect(dueTimes).to.deep.equal([{ at: new Date(start.getTime() + 24 * minute) }, { at }]);
  });

  it('write only a canceled mail for an unknown address', async () => {
    const { db, vault } = await testDeps();
    const club = await buildClub();
    const before = await rowCounts();
    const request = { template: 'student_reset_password', clubId: club.id, email: `${newId()}@example.com` } as const;
    await db.source.transaction((tx) => imitateRequest(new Transaction(tx), vault, request, start));
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

  it('write a wake for an unknown address, too, so that it takes as long', async () => {
    const { db, vault } = await testDeps();
    const club = await buildClub();
    const request = { template: 'student_reset_password', clubId: club.id, email: `${newId()}@example.com` } as const;
    const statements: string[] = [];
    await db.source.transaction(async (tx) => {
      const query = tx.query.bind(tx);
      tx.query = (text, values) => {
        statements.push(text);
        return query(text, values);
      };
      await imitateRequest(new Transaction(tx), vault, request, start);
    });
    expect(statements.filter((text) => text.includes('INSERT INTO wakes'))).to.have.length(1);
  });
});
