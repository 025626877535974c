/** Tests the requests, records and refusals of exports of students (EXP-1, EXP-4 to EXP-6). */
import { expect } from 'chai';
import { studentExportRules } from '../../domain/exports/students/exports.policy.ts';
import { retainExports } from '../../domain/exports/students/removal.ts';
import { newId } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildApiKey } from '../toolkit/builders/api-keys.ts';
import { buildClub, buildMember, buildStudent, type TestClub, type TestStudent } from '../toolkit/builders/clubs.ts';
import { buildSessionLink } from '../toolkit/builders/session-links.ts';
import { call, clock, expectError } from '../toolkit/drive/api.ts';
import { stepStudentExport } from '../toolkit/drive/student-exports.ts';
import { testDatabase, testDeps } from '../toolkit/stack/database.ts';

const day = 86_400_000;

describe('exports of students', () => {
  let club: TestClub;
  let student: TestStudent;
  beforeEach(async () => {
    club = await buildClub();
    student = await buildStudent(club.id);
  });

  const ofClub = () => `/v1/clubs/${club.id}/students/${student.id}/exports`;
  const own = () => `/v1/clubs/${club.id}/classroom/exports`;
  const request = () => call('POST', ofClub(), { token: club.owner.token });
  const requestOwn = (token = student.token) => call('POST', own(), { token });
  const openByLink = async () => {
    const { token } = await buildSessionLink(club.id, student.id);
    const body = { club_id: club.id, token };
    return (await call('POST', '/v1/auth/session-links/exchange', { body })).body.data.token as string;
  };

  it('are accepted with a pending record', async () => {
    const { status, body } = await request();
    expect(status).to.equal(202);
    expect(body.data).to.include({ student_id: student.id, requested_by: 'administrator', status: 'pending' });
    expect(body.data).to.include({ sections_done: 0 }).and.not.have.property('download_url');
  });

  it('begin once a day, for the club and the student together', async () => {
    const first = await request();
    const again = await requestOwn();
    expect(again.status).to.equal(202);
    expect(again.body.data).to.deep.equal(first.body.data);
    clock.advance(day + 1_000);
    expect((await requestOwn()).body.data.id).to.not.equal(first.body.data.id);
  });

  it('begin once if several requests come at the same time', async () => {
    const answers = await Promise.all([request(), requestOwn(), request(), requestOwn()]);
    expect(new Set(answers.map(({ body }) => body.data.id)).size).to.equal(1);
  });

  it('begin again within the day after a failure', async () => {
    const { id } = (await request()).body.data;
    const source = await testDatabase();
    await source.query(`UPDATE student_exports SET status = 'failed', looks_at = NULL WHERE id = $1`, [id]);
    expect((await request()).body.data.id).to.not.equal(id);
  });

  it('answer 404 for a removed student and for a student of another club', async () => {
    const foreign = await buildStudent((await buildClub()).id);
    const { token } = club.owner;
    expectError(await call('POST', `/v1/clubs/${club.id}/students/${foreign.id}/exports`, { token }), 'not_found');
    await call('DELETE', `/v1/clubs/${club.id}/students/${student.id}`, { token });
    await eachCase(['POST', 'GET'], async (method) =>
      expectError(await call(method, ofClub(), { token }), 'not_found'),
    );
  });

  it('answer 404 for the export of another student of the club', async () => {
    const { id } = (await request()).body.data;
    const other = await buildStudent(club.id);
    const path = `/v1/clubs/${club.id}/students/${other.id}/exports/${id}`;
    expectError(await call('GET', path, { token: club.owner.token }), 'not_found');
    expectError(await call('GET', `${own()}/${id}`, { token: other.token }), 'not_found');
  });

  it('refuse editors, and programs with any scope', async () => {
    const editor = await buildMember(club.id, 'editor');
    expectError(await call('POST', ofClub(), { token: editor.token }), 'role_not_permitted');
    const key = await buildApiKey(club.id, ['students:read', 'students:write']);
    expectError(await call('POST', ofClub(), { token: key.token }), 'unauthenticated');
  });

  it('need a fresh proof for the request and for the address, but not for the list', async () => {
    const { id } = (await request()).body.data;
    const source = await testDatabase();
    await source.query(
      `UPDATE administrator_sessions SET created_at = now() - interval '1 hour' WHERE administrator_id = $1`,
      [club.owner.id],
    );
    const { token } = club.owner;
    expectError(await request(), 'fresh_factor_required');
    expectError(await call('GET', `${ofClub()}/${id}`, { token }), 'fresh_factor_required');
    expect((await call('GET', ofClub(), { token })).body.data).to.have.length(1);
  });

  it('refuse a student whose address is not confirmed', async () => {
    student = await buildStudent(club.id, { verified: false });
    expectError(await requestOwn(), 'email_not_verified');
  });

  it('refuse a session that a link of the club’s site opened, and give it no address', async () => {
    const { id } = (await requestOwn()).body.data;
    await stepStudentExport(id);
    const token = await openByLink();
    expectError(await requestOwn(token), 'fresh_factor_required');
    const read = await call('GET', `${own()}/${id}`, { token });
    expect(read.body.data.status).to.equal('ready');
    expect(read.body.data).to.not.have.property('download_url');
  });

  it('show a finished export with a signed address of the ZIP', async () => {
    const { id } = (await requestOwn()).body.data;
    await stepStudentExport(id);
    const { data } = (await call('GET', `${own()}/${id}`, { token: student.token })).body;
    expect(data.sections_done).to.equal(data.sections_total);
    expect(Date.parse(data.expires_at) - Date.parse(data.completed_at)).to.equal(7 * day);
    const file = await fetch(data.download_url);
    expect(file.headers.get('content-disposition')).to.equal('attachment; filename="export.zip"');
    expect((await file.arrayBuffer()).byteLength).to.equal(data.size_bytes);
    expect((await call('GET', `${ofClub()}/${id}`, { token: club.owner.token })).body.data).to.have.property(
      'download_url',
    );
  });

  it('are in lists of the club and of the student, newest first and without addresses', async () => {
    const first = (await request()).body.data.id;
    await stepStudentExport(first);
    clock.advance(2 * day);
    const second = (await requestOwn()).body.data.id;
    const list = await call('GET', own(), { token: student.token });
    expect(list.body.data.map(({ id }: { id: string }) => id)).to.deep.equal([second, first]);
    expect(list.text).to.not.contain('download_url');
  });

  it('are in the audit log of the club with ids only, as are reads of the address', async () => {
    const { id } = (await request()).body.data;
    await call('GET', `${ofClub()}/${id}`, { token: club.owner.token });
    const log = await call('GET', `/v1/clubs/${club.id}/audit-log`, { token: club.owner.token });
    const records = [
      { kind: 'student', id: student.id },
      { kind: 'created', id },
    ];
    const entries = log.body.data.filter(({ operation }: { operation: string }) => operation.includes('StudentExport'));
    expect(entries.map(({ operation }: { operation: string }) => operation)).to.deep.equal([
      'getStudentExport',
      'requestStudentExport',
    ]);
    expect(entries[1].records).to.deep.equal(records);
  });

  it('expire seven days after they were ready, and disappear 90 days after the request', async () => {
    const { id } = (await requestOwn()).body.data;
    await stepStudentExport(id);
    const { db } = await testDeps();
    await retainExports(db, new Date(clock.now().getTime() + studentExportRules.fileMs + 1_000));
    const { data } = (await call('GET', `${own()}/${id}`, { token: student.token })).body;
    expect(data.status).to.equal('expired');
    expect(data).to.not.have.property('download_url');
    await retainExports(db, new Date(clock.now().getTime() + studentExportRules.rowMs + 1_000));
    expectError(await call('GET', `${own()}/${id}`, { token: student.token }), 'not_found');
  });

  it('answer 404 for an unknown id', async () => {
    expectError(await call('GET', `${own()}/${newId()}`, { token: student.token }), 'not_found');
  });
});
