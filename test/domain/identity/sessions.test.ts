import { expect } from 'chai';
import { sha256 } from '../../../platform/infra/vault.ts';
import {
  administratorSessionMaxMs,
  findAdministratorSession,
  findStudentSession,
  openSession,
  removeEndedSessions,
  sessionLifetimeMs,
} from '../../../domain/identity/sessions.ts';
import { buildAdministrator, buildClub, buildMember, buildStudent } from '../../toolkit/builders/clubs.ts';
import { testDatabase, testDeps } from '../../toolkit/stack/database.ts';

const minute = 60_000;
const now = new Date('2026-03-01T12:00:00Z');
const after = (ms: number) => new Date(now.getTime() + ms);

describe('sessions (AUTH-1)', () => {
  it('last 30 days for a student and 12 hours for an administrator', () => {
    expect(sessionLifetimeMs).to.deep.equal({ student: 30 * 24 * 60 * minute, admin: 12 * 60 * minute });
  });

  it('are valid until the moment of their end, exclusive', async () => {
    const { db } = await testDeps();
    const student = await buildStudent((await buildClub()).id);
    const { token, expiresAt } = await db.transaction((tx) => openSession(tx, 'student', student.id, now));
    expect(expiresAt).to.deep.equal(after(sessionLifetimeMs.student));
    expect(await findStudentSession(db, token, new Date(expiresAt.getTime() - 1))).to.include({ id: student.id });
    expect(await findStudentSession(db, token, expiresAt)).to.equal(undefined);
  });

  it('of an administrator are extended by use, with at most one write in five minutes', async () => {
    const source = await testDatabase();
    const { db } = await testDeps();
    const { id } = await buildAdministrator();
    const { token } = await db.transaction((tx) => openSession(tx, 'admin', id, now));
    const end = async () => {
      const [row] = await source.query<{ expires_at: Date }[]>(
        `SELECT expires_at FROM administrator_sessions WHERE token_hash = $1`,
        [sha256(token)],
      );
      return (row?.expires_at.getTime() ?? 0) - now.getTime() - sessionLifetimeMs.admin;
    };
    const use = (at: Date) => findAdministratorSession(db, token, undefined, at);
    await use(after(5 * minute));
    expect(await end()).to.equal(0);
    await use(after(5 * minute + 1));
    expect(await end()).to.equal(5 * minute + 1);
    await use(after(6 * minute));
    expect(await end()).to.equal(5 * minute + 1);
    expect(await use(after(5 * minute + 1 + sessionLifetimeMs.admin))).to.equal(undefined);
  });

  it('of an administrator end 30 days after their beginning, however much they are used (DEC-10)', async () => {
    const { db } = await testDeps();
    const { id } = await buildAdministrator();
    const { token } = await db.transaction((tx) => openSession(tx, 'admin', id, now));
    const find = (at: Date) => findAdministratorSession(db, token, undefined, at);
    for (let at = 0; at < administratorSessionMaxMs; at += sessionLifetimeMs.admin - minute)
      expect(await find(after(at)), `after ${at} ms`).to.include({ administratorId: id });
    expect(await find(after(administratorSessionMaxMs - 1))).to.include({ administratorId: id });
    expect(await find(after(administratorSessionMaxMs))).to.equal(undefined);
    expect(administratorSessionMaxMs).to.equal(30 * 24 * 60 * minute);
  });

  it('are removed a day after they have ended by themselves, and not before', async () => {
    const source = await testDatabase();
    const { db } = await testDeps();
    const [student, { id: adminId }] = [await buildStudent((await buildClub()).id), await buildAdministrator()];
    const opened = [
      await db.transaction((tx) => openSession(tx, 'student', student.id, now)),
      await db.transaction((tx) => openSession(tx, 'admin', adminId, now)),
    ];
    const left = async () => {
      const [row] = await source.query<{ students: number; administrators: number }[]>(
        `SELECT (SELECT count(*)::int FROM student_sessions WHERE token_hash = ANY ($1)) AS students,
                (SELECT count(*)::int FROM administrator_sessions WHERE token_hash = ANY ($1)) AS administrators`,
        [opened.map(({ token }) => sha256(token))],
      );
      return row;
    };
    const removeAt = async (ms: number) => {
      const { more } = await removeEndedSessions(db, after(ms));
      expect(more).to.equal(false);
      return left();
    };
    const day = 24 * 60 * minute;
    expect(await removeAt(sessionLifetimeMs.admin + day - 1)).to.deep.equal({ students: 1, administrators: 1 });
    expect(await removeAt(sessionLifetimeMs.admin + day)).to.deep.equal({ students: 1, administrators: 0 });
    expect(await removeAt(sessionLifetimeMs.student + day - 1)).to.deep.equal({ students: 1, administrators: 0 });
    expect(await removeAt(sessionLifetimeMs.student + day)).to.deep.equal({ students: 0, administrators: 0 });
  });

  it('of an administrator give the role in the requested club, or null', async () => {
    const { db } = await testDeps();
    const [club, other] = [await buildClub(), await buildClub()];
    const { id, token } = await buildMember(club.id, 'editor');
    const find = (clubId?: string) => findAdministratorSession(db, token, clubId, new Date());
    expect(await find(club.id)).to.deep.equal({ administratorId: id, role: 'editor' });
    expect(await find(other.id)).to.deep.equal({ administratorId: id, role: null });
    expect(await find()).to.deep.equal({ administratorId: id, role: null });
  });
});
