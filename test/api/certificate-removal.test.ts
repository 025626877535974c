/** Tests how certificates change when the data of their student is corrected or the student is removed. */
import { expect } from 'chai';
import { newId } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildClub, buildStudent, type TestClub } from '../toolkit/builders/clubs.ts';
import { call, expectError } from '../toolkit/drive/api.ts';
import { certificateCalls, certificatesPath, issueCertificateByHand } from '../toolkit/drive/certificates.ts';
import { columnsHolding, rowCounts } from '../toolkit/stack/database.ts';

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
  it('changes the searchable e-mail of all certificates, but the printed name only after a reissue', async () => {
    const club = await buildClub();
    const student = await buildStudent(club.id, { name: 'Before' });
    const certificate = await issueCertificateByHand(club, { student });
    const second = await issueCertificateByHand(club, { student });
    const bystander = await issueCertificateByHand(club);
    const email = `after.${newId()}@example.com`;
    expect((await correct(club, student.id, { name: 'After', email })).status).to.equal(200);
    const { read, reissue } = certificateCalls(club, certificate.id);
    expect((await read()).body.data).to.deep.equal({ ...certificate, student_email: email });
    expect(await find(club, email)).to.have.members([certificate.id, second.id]);
    expect(await find(club, student.email)).to.deep.equal([]);
    // The search text matches the new e-mail. The certificates still show the old names.
    expect(await find(club, 'After')).to.have.members([certificate.id, second.id]);
    expect((await certificateCalls(club, bystander.id).read()).body.data).to.deep.equal(bystander);
    expect((await reissue()).body.data).to.include({ student_name: 'After', student_email: email, version: 2 });
  });
});

describe('the removal of a student', () => {
  it('withdraws the certificates: erases name and e-mail, but keeps code and course', async () => {
    const club = await buildClub();
    const tag = newId().slice(-12);
    const student = await buildStudent(club.id, { name: `Removable ${tag}`, email: `rosalind.${tag}@example.com` });
    const certificate = await issueCertificateByHand(club, { student });
    const revoked = await issueCertificateByHand(club, { student });
    await certificateCalls(club, revoked.id).revoke(`Removable ${tag} cheated.`);
    const bystander = await issueCertificateByHand(club);
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
    await eachCase([certificate, revoked], async ({ code, course_title: title }) => {
      const { body } = await call('GET', `/certificates/${code}`);
      expect(body.data).to.include({ state: 'withdrawn', code, course_title: title });
      expect(body.data).to.not.have.any.keys('student_name', 'revoked_at');
      const page = await call('GET', `/certificates/${code}`, { headers: { accept: 'text/html' } });
      expect(page.text).to.include('was withdrawn').and.to.not.include('Awarded to');
    });
    expect((await certificateCalls(club, bystander.id).read()).body.data).to.deep.equal(bystander);
  });

  it('causes 409 if a withdrawn certificate is reissued, revoked or printed', async () => {
    const club = await buildClub();
    const certificate = await issueCertificateByHand(club);
    await remove(club, certificate.student_id);
    const before = await rowCounts();
    const { reissue, revoke, print, read } = certificateCalls(club, certificate.id);
    const { body } = await read();
    await eachCase([reissue, revoke, print], async (ask) => expectError(await ask(), 'certificate_withdrawn'));
    expect((await read()).body).to.deep.equal(body);
    expect(await rowCounts()).to.deep.equal(before);
  });

  it('erases the name even if the certificate is issued or reissued at the same time', async () => {
    for (let round = 0; round < 5; round++) {
      const club = await buildClub();
      const tag = newId().slice(-12);
      const student = await buildStudent(club.id, { name: `Racing ${tag}`, email: `racing.${tag}@example.com` });
      const { id } = await issueCertificateByHand(club, { student });
      const [removed] = await Promise.all([
        remove(club, student.id),
        issueCertificateByHand(club, { student }).catch(() => undefined), // The request is refused if the removal is stored before it.
        certificateCalls(club, id).reissue(),
      ]);
      expect(removed.status, `round ${round}`).to.equal(204);
      expect(await columnsHolding(tag), `round ${round}`).to.deep.equal([]);
    }
  });
});
