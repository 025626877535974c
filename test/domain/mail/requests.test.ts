import { expect } from 'chai';
import { inTransaction } from '../../../domain/core/database.ts';
import { newId } from '../../../domain/core/ids.ts';
import type { Platform } from '../../../domain/core/platform.ts';
import { mailsPerHour, requestMail, requestNoMail } from '../../../domain/mail/requests.ts';
import { testPlatform } from '../../support/database.ts';
import { buildClub, buildStudent, type TestClub } from '../../support/factories.ts';

const minute = 60_000;

describe('asking for a transactional mail', () => {
  let platform: Platform;
  let club: TestClub;
  before(async () => {
    platform = await testPlatform();
    club = await buildClub();
  });

  /** Asks once in the name of a student of this club. */
  async function ask(email: string, studentId: string, at: number): Promise<void> {
    const request = { template: 'student_code', clubId: club.id, recipient: { studentId }, email } as const;
    await inTransaction(platform.database, (tx) => requestMail(tx, platform.vault, request, new Date(at)));
  }

  async function askedOf(studentIds: readonly string[]): Promise<number> {
    const [row] = await platform.database.source.query<{ count: number }[]>(
      `SELECT count(*)::int AS count FROM transactional_mails WHERE student_id = ANY ($1)`,
      [studentIds],
    );
    return row?.count ?? 0;
  }

  it('one address gets at most five mails of a kind an hour, whatever accounts it belongs to', async () => {
    const students = await Promise.all(Array.from({ length: mailsPerHour + 3 }, () => buildStudent(club.id)));
    const email = `${newId()}@example.com`;
    for (const { id } of students) await ask(email, id, Date.now());
    expect(await askedOf(students.map(({ id }) => id))).to.equal(mailsPerHour);
    const [another] = students;
    await ask(`${newId()}@example.com`, another?.id ?? '', Date.now());
    expect(await askedOf(students.map(({ id }) => id))).to.equal(mailsPerHour + 1);
  });

  it('beyond five one goes out every ten minutes: using the hour up keeps nobody from a code that works', async () => {
    const { id } = await buildStudent(club.id);
    const email = `${newId()}@example.com`;
    const start = Date.now();
    for (let times = 0; times < mailsPerHour; times++) await ask(email, id, start);
    await ask(email, id, start + 10 * minute - 1);
    expect(await askedOf([id])).to.equal(mailsPerHour);
    await ask(email, id, start + 10 * minute);
    expect(await askedOf([id])).to.equal(mailsPerHour + 1);
    await ask(email, id, start + 20 * minute - 1);
    expect(await askedOf([id])).to.equal(mailsPerHour + 1);
  });

  it('for an address without account leaves a canceled row without a person and without a wake', async () => {
    const email = `${newId()}@example.com`;
    const key = platform.vault.derive(`mail address:${email}`);
    const asked = { template: 'student_reset_password', clubId: club.id, email } as const;
    await inTransaction(platform.database, (tx) => requestNoMail(tx, platform.vault, asked, new Date()));
    const rows = await platform.database.source.query(
      `SELECT mail.status, mail.student_id, mail.token_id, wake.workflow_id
         FROM transactional_mails mail LEFT JOIN wakes wake ON wake.subject_id = mail.id WHERE mail.address_key = $1`,
      [key],
    );
    expect(rows).to.deep.equal([{ status: 'canceled', student_id: null, token_id: null, workflow_id: null }]);
  });
});
