/** What a student's correction and removal do to their certificates. */
import { expect } from 'chai';
import { newId } from '../../domain/core/ids.ts';
import { buildCourse } from '../toolkit/builders/access.ts';
import { holdingOpen, waitingForLocks } from '../toolkit/builders/deliveries.ts';
import { call, expectError, type Answer } from '../toolkit/drive/api.ts';
import { buildCertificate, certificateCalls, certificatesPath } from '../toolkit/drive/certificates.ts';
import { columnsHolding, rowCounts } from '../toolkit/stack/database.ts';
import { buildClub, buildStudent, type TestClub } from '../toolkit/builders/factories.ts';

const correct = (club: TestClub, id: string, body: object) =>
  call('PATCH', `/v1/clubs/${club.id}/students/${id}`, { token: club.owner.token, body });
const remove = (club: TestClub, id: string) =>
  call('DELETE', `/v1/clubs/${club.id}/students/${id}`, { token: club.owner.token });
const find = async (club: TestClub, q: string): Promise<string[]> => {
  const path = `${certificatesPath(club)}?${new URLSearchParams({ q }).toString()}`;
  const { body } = await call('GET', path, { token: club.owner.token });
  return body.data.map(({ id }: { id: string }) => id);
};

describe('a correction of name or e-mail', () => {
  it('the e-mail follows on all of the student’s certificates, for searching; the printed name only by issuing again', async () => {
    const club = await buildClub();
    const student = await buildStudent(club.id, { name: 'Before' });
    const certificate = await buildCertificate(club, { student });
    const second = await buildCertificate(club, { student });
    const bystander = await buildCertificate(club);
    const email = `after.${newId()}@example.com`;
    expect((await correct(club, student.id, { name: 'After', email })).status).to.equal(200);
    const { read, reissue } = certificateCalls(club, certificate.id);
    expect((await read()).body.data).to.deep.equal({ ...certificate, student_email: email });
    expect(await find(club, email)).to.have.members([certificate.id, second.id]);
    expect(await find(club, student.email)).to.deep.equal([]);
    expect(await find(club, 'After')).to.have.members([certificate.id, second.id]); // by the e-mail: names stay
    expect((await certificateCalls(club, bystander.id).read()).body.data).to.deep.equal(bystander);
    expect((await reissue()).body.data).to.include({ student_name: 'After', student_email: email, version: 2 });
  });
});

describe('the removal of a student', () => {
  it('their certificates keep code and course, lose the name, and verify as withdrawn', async () => {
    const club = await buildClub();
    const tag = newId().slice(-12);
    const student = await buildStudent(club.id, { name: `Removable ${tag}`, email: `rosalind.${tag}@example.com` });
    const certificate = await buildCertificate(club, { student });
    const revoked = await buildCertificate(club, { student });
    await certificateCalls(club, revoked.id).revoke(`Removable ${tag} cheated.`);
    const bystander = await buildCertificate(club);
    expect(await columnsHolding(`Removable ${tag}`)).to.include.members([
      'certificates.student_name',
      'certificates.revoked_reason',
    ]);
    expect(await columnsHolding(student.email)).to.include('certificates.student_email');
    expect((await remove(club, student.id)).status).to.equal(204);

    for (const trace of [tag, student.email]) expect(await columnsHolding(trace), trace).to.deep.equal([]);
    const withdrawn = { ...certificate, student_name: 'Removed student', student_email: '' };
    expect((await certificateCalls(club, certificate.id).read()).body.data).to.deep.equal(withdrawn);
    expect((await certificateCalls(club, revoked.id).read()).body.data)
      .to.include({ revoked: true })
      .and.to.not.have.property('revoked_reason');
    expect(await find(club, certificate.code_formatted)).to.deep.equal([certificate.id]);
    for (const { code, course_title: title } of [certificate, revoked]) {
      const { body } = await call('GET', `/certificates/${code}`);
      expect(body.data).to.include({ state: 'withdrawn', code, course_title: title });
      expect(body.data).to.not.have.any.keys('student_name', 'revoked_at');
      const page = await call('GET', `/certificates/${code}`, { headers: { accept: 'text/html' } });
      expect(page.text).to.include('was withdrawn').and.to.not.include('Awarded to');
    }
    expect((await certificateCalls(club, bystander.id).read()).body.data).to.deep.equal(bystander);
  });

  it('409: a withdrawn one is neither issued again, nor revoked, nor printed', async () => {
    const club = await buildClub();
    const certificate = await buildCertificate(club);
    await remove(club, certificate.student_id);
    const before = await rowCounts();
    const { reissue, revoke, print, read } = certificateCalls(club, certificate.id);
    const { body } = await read();
    for (const ask of [reissue, revoke, print]) expectError(await ask(), 'certificate_withdrawn');
    expect((await read()).body).to.deep.equal(body);
    expect(await rowCounts()).to.deep.equal(before);
  });

  for (const place of [0, 1, 2]) {
    it(`at once with an issue and a re-issue, as number ${place + 1} of the three: nothing with a name is left`, async () => {
      const club = await buildClub();
      const tag = newId().slice(-12);
      const student = await buildStudent(club.id, { name: `Racing ${tag}`, email: `racing.${tag}@example.com` });
      const { id } = await buildCertificate(club, { student });
      const body = { student_id: student.id, course_id: (await buildCourse(club.id)).id };
      const begin = [
        () => call('POST', certificatesPath(club), { token: club.owner.token, body }),
        () => certificateCalls(club, id).reissue(),
      ];
      begin.splice(place, 0, () => remove(club, student.id));
      const under: Promise<Answer>[] = [];
      await holdingOpen(
        (tx) => tx.query(`SELECT FROM students WHERE id = $1 FOR UPDATE`, [student.id]),
        async () => {
          for (const start of begin) {
            under.push(start());
            await waitingForLocks(under.length);
          }
        },
      );
      const statuses = (await Promise.all(under)).map(({ status }) => status);
      const expected = [place < 1 ? 404 : 201, place < 2 ? 409 : 200]; // refused where the removal came first
      expected.splice(place, 0, 204);
      expect(statuses).to.deep.equal(expected);
      expect(await columnsHolding(tag)).to.deep.equal([]);
    });
  }
});
