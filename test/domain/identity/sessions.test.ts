import { expect } from 'chai';
import { readConfig } from '../../../config.ts';
import { createDataSource } from '../../../entities/data-source.ts';
import { usuallyHoldsMs } from '../../../platform/core/gathered.ts';
import { Secret } from '../../../platform/core/secret.ts';
import { Database } from '../../../platform/infra/postgres/database.ts';
import { sha256 } from '../../../platform/infra/keys/vault.ts';
import {
  administratorSessionMaxMs,
  endSessionsOf,
  openSession,
  sessionIdOf,
  removeEndedSessions,
  sessionLifetimeMs,
  unknownClient,
} from '../../../domain/identity/sessions/sessions.ts';
import { findLivingCallers, type StreamCaller } from '../../../domain/identity/living-callers.ts';
import { createSessionFinder } from '../../../domain/identity/sessions/session-finder.ts';
import { removeStudent } from '../../../domain/students/students.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { buildAdministrator, buildClub, buildMember, buildStudent } from '../../toolkit/builders/clubs.ts';
import { withOpenTransaction } from '../../toolkit/drive/races.ts';
import { impatient } from '../../toolkit/fakes/databases.ts';
import { startPostgresLine } from '../../toolkit/fakes/postgres-line.ts';
import { withTimersStopped } from '../../toolkit/fakes/timers.ts';
import { testDatabase, testDeps } from '../../toolkit/stack/database.ts';

const minute = 60_000;
const now = new Date('2026-03-01T12:00:00Z');
const after = (ms: number) => new Date(now.getTime() + ms);
const callerWith = (tokenHash: Buffer, clubId: string): StreamCaller => ({
  tokenHash,
  clubId,
  roles: undefined,
  scope: undefined,
  ip: null,
});

describe('sign-in sessions (AUTH-1)', () => {
  it('last 30 days for a student and 12 hours for an administrator', () => {
    expect(sessionLifetimeMs).to.deep.equal({ student: 30 * 24 * 60 * minute, admin: 12 * 60 * minute });
  });

  it('are valid until the instant of their end, but not at that instant', async () => {
    const { db } = await testDeps();
    const student = await buildStudent((await buildClub()).id);
    const { token, expiresAt } = await db.transaction((tx) => openSession(tx, 'student', student.id, now));
    expect(expiresAt).to.deep.equal(after(sessionLifetimeMs.student));
    expect(await createSessionFinder(db).student(token, new Date(expiresAt.getTime() - 1))).to.include({
      id: student.id,
    });
    expect(await createSessionFinder(db).student(token, expiresAt)).to.equal(undefined);
  });

  it('of an administrator are extended at each use, with at most one write in five minutes', async () => {
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
    const use = (at: Date) => createSessionFinder(db).administrator(token, undefined, at);
    await use(after(5 * minute));
    expect(await end()).to.equal(0);
    await use(after(5 * minute + 1));
    expect(await end()).to.equal(5 * minute + 1);
    await use(after(6 * minute));
    expect(await end()).to.equal(5 * minute + 1);
    expect(await use(after(5 * minute + 1 + sessionLifetimeMs.admin))).to.equal(undefined);
  });

  it('of an administrator end after 30 days, even if they are used constantly (DEC-10)', async () => {
    const { db } = await testDeps();
    const { id } = await buildAdministrator();
    const { token } = await db.transaction((tx) => openSession(tx, 'admin', id, now));
    const find = (at: Date) => createSessionFinder(db).administrator(token, undefined, at);
    for (let at = 0; at < administratorSessionMaxMs; at += sessionLifetimeMs.admin - minute)
      expect(await find(after(at)), `after ${at} ms`).to.include({ administratorId: id });
    expect(await find(after(administratorSessionMaxMs - 1))).to.include({ administratorId: id });
    expect(await find(after(administratorSessionMaxMs))).to.equal(undefined);
    expect(administratorSessionMaxMs).to.equal(30 * 24 * 60 * minute);
  });

  it('are removed a day after they have expired, and not before', async () => {
    const source = await testDatabase();
    const { db } = await testDeps();
    const [student, { id: adminId }] = [await buildStudent((await buildClub()).id), await buildAdministrator()];
    const newSessions = [
      await db.transaction((tx) => openSession(tx, 'student', student.id, now)),
      await db.transaction((tx) => openSession(tx, 'admin', adminId, now)),
    ];
    const remainingSessions = async () => {
      const [row] = await source.query<{ students: number; administrators: number }[]>(
        `SELECT (SELECT count(*)::int FROM student_sessions WHERE token_hash = ANY ($1)) AS students,
                (SELECT count(*)::int FROM administrator_sessions WHERE token_hash = ANY ($1)) AS administrators`,
        [newSessions.map(({ token }) => sha256(token))],
      );
      return row;
    };
    const removeAt = async (ms: number) => {
      const { more } = await removeEndedSessions(db, after(ms));
      expect(more).to.equal(false);
      return remainingSessions();
    };
    const day = 24 * 60 * minute;
    expect(await removeAt(sessionLifetimeMs.admin + day - 1)).to.deep.equal({ students: 1, administrators: 1 });
    expect(await removeAt(sessionLifetimeMs.admin + day)).to.deep.equal({ students: 1, administrators: 0 });
    expect(await removeAt(sessionLifetimeMs.student + day - 1)).to.deep.equal({ students: 1, administrators: 0 });
    expect(await removeAt(sessionLifetimeMs.student + day)).to.deep.equal({ students: 0, administrators: 0 });
  });

  describe('in a clean-up', () => {
    const ended = after(-2 * 24 * 60 * minute - sessionLifetimeMs.student);
    beforeEach('delete the sessions of the other tests', async () => {
      const source = await testDatabase();
      for (const table of ['student_sessions', 'administrator_sessions']) await source.query(`DELETE FROM ${table}`);
    });

    it('are deleted, but locked sessions remain until the next clean-up', async () => {
      const { db } = await testDeps();
      const student = await buildStudent((await buildClub()).id);
      const open = () => db.transaction((tx) => openSession(tx, 'student', student.id, ended));
      const [lockedSession] = [await open(), await open(), await open()];
      const clean = () => impatient(db, 1_000).transaction((tx) => removeEndedSessions(tx, now));
      await withOpenTransaction(
        (tx) =>
          tx.manager.query(`SELECT FROM student_sessions WHERE token_hash = $1 FOR UPDATE`, [
            sha256(lockedSession.token),
          ]),
        async () => {
          expect(await clean()).to.deep.equal({ rows: { sessions: 2 }, more: false });
        },
      );
      expect(await clean()).to.deep.equal({ rows: { sessions: 1 }, more: false });
    });

    it('are deleted in batches of a thousand', async () => {
      const { db } = await testDeps();
      const { id } = await buildStudent((await buildClub()).id);
      await db.source.query(
        `INSERT INTO student_sessions (token_hash, student_id, created_at, expires_at)
         SELECT sha256(number::text::bytea), $1, $2, $2 FROM generate_series(1, 1000) number`,
        [id, ended],
      );
      expect(await removeEndedSessions(db, now)).to.deep.equal({ rows: { sessions: 1_000 }, more: true });
      expect(await removeEndedSessions(db, now)).to.deep.equal({ rows: { sessions: 0 }, more: false });
    });
  });

  it('of one person can be ended together', async () => {
    const { db } = await testDeps();
    const { id: clubId } = await buildClub();
    const [student, other] = [await buildStudent(clubId), await buildStudent(clubId)];
    const open = (id: string) => db.transaction((tx) => openSession(tx, 'student', id, now));
    const newSessions = [await open(student.id), await open(student.id), await open(other.id)];
    await db.transaction((tx) => endSessionsOf(tx, 'student', student.id));
    const sessions = createSessionFinder(db);
    const validSessions = await Promise.all(newSessions.map(({ token }) => sessions.student(token, now)));
    expect(validSessions.map((one) => one?.id)).to.deep.equal([undefined, undefined, other.id]);
  });

  it('of a removed student are invalid, even if a concurrent sign-in opened them', async () => {
    const deps = await testDeps();
    const { db } = deps;
    const { id: clubId } = await buildClub();
    const student = await buildStudent(clubId);
    await removeStudent(deps, clubId, student.id, now);
    const { token } = await db.transaction((tx) => openSession(tx, 'student', student.id, now));
    expect(await createSessionFinder(db).student(token, now)).to.equal(undefined);
    expect(await findLivingCallers(db, [callerWith(sha256(token), clubId)], now)).to.deep.equal([false]);
  });

  it('are returned in the order of the tokens', async () => {
    const { db } = await testDeps();
    const { id: clubId, owner } = await buildClub();
    const student = await buildStudent(clubId);
    const administratorId = owner.id;
    const open = async (kind: 'student' | 'admin', id: string, at: Date) =>
      sha256((await db.transaction((tx) => openSession(tx, kind, id, at))).token);
    const justEnded = { student: after(-sessionLifetimeMs.student), admin: after(-sessionLifetimeMs.admin) };
    const hashes = [
      sha256('unknown'),
      await open('student', student.id, now),
      await open('student', student.id, justEnded.student),
      await open('admin', administratorId, now),
      await open('admin', administratorId, justEnded.admin),
    ];
    const callers = hashes.map((hash) => callerWith(hash, clubId));
    expect(await findLivingCallers(db, callers, now)).to.deep.equal([false, true, false, true, false]);
    expect(await findLivingCallers(db, callers, after(-1))).to.deep.equal([false, true, true, true, true]);
    expect(await findLivingCallers(db, [], now)).to.deep.equal([]);
  });

  it('follow the stream of a club only if they satisfy its sign-in rules (FAC-1)', async () => {
    const { db } = await testDeps();
    const { id: clubId, owner } = await buildClub();
    const origin = { openedBy: 'password', ...unknownClient } as const;
    const open = async (withSecondFactor: boolean) =>
      sha256(
        (await db.transaction((tx) => openSession(tx, 'admin', owner.id, now, { ...origin, withSecondFactor }))).token,
      );
    const callers = [await open(false), await open(true)].map((hash) => callerWith(hash, clubId));
    expect(await findLivingCallers(db, callers, now)).to.deep.equal([true, true]);
    await db.run(sql`INSERT INTO club_sign_in_rules (club_id, requires_second_factor) VALUES (${clubId}, true)`);
    expect(await findLivingCallers(db, callers, now)).to.deep.equal([false, true]);
  });

  it('are not mixed up by concurrent look-ups', async () => {
    const { db } = await testDeps();
    const [club, other] = [await buildClub(), await buildClub()];
    const [student, neighbour] = [await buildStudent(club.id), await buildStudent(other.id)];
    const open = (id: string) => db.transaction((tx) => openSession(tx, 'student', id, now));
    const [own, theirs] = [await open(student.id), await open(neighbour.id)];
    const { id: administratorId, token } = await buildMember(club.id, 'editor');
    const sessions = createSessionFinder(db);
    const students = [own.token, 'unknown', theirs.token, own.token, token].map((one) => sessions.student(one, now));
    const late = sessions.student(own.token, own.expiresAt);
    const clubs = [other.id, club.id, undefined];
    const members = clubs.map((clubId) => sessions.administrator(token, clubId, new Date()));
    const stranger = sessions.administrator(own.token, club.id, now);
    expect((await Promise.all(students)).map((one) => one && { id: one.id, clubId: one.clubId })).to.deep.equal([
      { id: student.id, clubId: club.id },
      undefined,
      { id: neighbour.id, clubId: other.id },
      { id: student.id, clubId: club.id },
      undefined,
    ]);
    expect([await late, await stranger]).to.deep.equal([undefined, undefined]);
    const found = (await Promise.all(members)).map(
      (one) => one && { administratorId: one.administratorId, role: one.role },
    );
    expect(found).to.deep.equal([
      { administratorId, role: null },
      { administratorId, role: 'editor' },
      { administratorId, role: null },
    ]);
  });

  it('are found over another connection if an earlier look-up does not return', async () => {
    const { db } = await testDeps();
    const student = await buildStudent((await buildClub()).id);
    const { token } = await db.transaction((tx) => openSession(tx, 'student', student.id, now));
    const line = await startPostgresLine();
    const source = await createDataSource(
      { ...readConfig().database, url: new Secret(line.url) },
      'club-test',
    ).initialize();
    const sessions = createSessionFinder(new Database(source, { notify() {} }));
    try {
      expect((await sessions.student(token, now))?.id).to.equal(student.id);
      line.freezeOpen();
      await withTimersStopped(async (advance) => {
        const stuck = sessions.student(token, now).catch(({ message }: Error) => message);
        await new Promise(setImmediate); // the look-up is in progress
        const later = sessions.student(token, now);
        await advance(usuallyHoldsMs);
        expect((await later)?.id).to.equal(student.id);
        line.stop();
        expect(await stuck).to.equal('Connection terminated unexpectedly');
      });
    } finally {
      line.stop();
      await source.destroy();
    }
  });

  it('have public ids that differ and do not contain the stored hash', () => {
    const [one, other] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
    expect(sessionIdOf(one)).to.match(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(sessionIdOf(one)).not.to.equal(sessionIdOf(other));
    expect(one.toString('hex')).not.to.include(sessionIdOf(one).slice(0, 8));
  });

  it('contain an administrator’s role in the requested club, or null', async () => {
    const { db } = await testDeps();
    const [club, other] = [await buildClub(), await buildClub()];
    const { id, token } = await buildMember(club.id, 'editor');
    const find = (clubId?: string) => createSessionFinder(db).administrator(token, clubId, new Date());
    expect(await find(club.id)).to.include({ administratorId: id, role: 'editor' });
    expect(await find(other.id)).to.include({ administratorId: id, role: null });
    expect(await find()).to.include({ administratorId: id, role: null });
  });
});
