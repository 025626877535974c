/** Tests the language of a certificate, and the warning about letters that no font has (CERT-5, CERT-6). */
import { expect } from 'chai';
import type { Language } from '../../entities/clubs/values.ts';
import { buildClub, buildStudent, type TestClub } from '../toolkit/builders/clubs.ts';
import { buildCourse } from '../toolkit/builders/courses.ts';
import { call } from '../toolkit/drive/api.ts';
import { certificateCalls, certificatesPath, issueCertificateByHand } from '../toolkit/drive/certificates.ts';
import { testDatabase } from '../toolkit/stack/database.ts';

const speak = async (club: TestClub, language: Language) => {
  const answer = await call('PATCH', `/v1/clubs/${club.id}`, { token: club.owner.token, body: { language } });
  expect(answer.status).to.equal(200);
};

const printedLanguage = async (club: TestClub, id: string) => {
  const { bytes } = await certificateCalls(club, id).print();
  return /\/Lang \((\S+)\)\s/.exec(bytes.toString('latin1'))?.[1];
};

describe('the language of a certificate (CERT-6)', () => {
  it('is the club’s language at the time of issue, even if the club’s language later changes', async () => {
    const club = await buildClub();
    await speak(club, 'pt');
    const { id } = await issueCertificateByHand(club);
    await speak(club, 'de');
    expect(await printedLanguage(club, id)).to.equal('pt');
    expect((await certificateCalls(club, id).reissue()).status).to.equal(200);
    expect(await printedLanguage(club, id)).to.equal('pt');
    expect(await printedLanguage(club, (await issueCertificateByHand(club)).id)).to.equal('de');
  });

  it('is set once to the club’s current language if an earlier release stored none', async () => {
    const club = await buildClub();
    await speak(club, 'es');
    const { id } = await issueCertificateByHand(club);
    const source = await testDatabase();
    await source.query(`UPDATE certificates SET language = NULL WHERE id = $1`, [id]);
    expect(await printedLanguage(club, id)).to.equal('es');
    await speak(club, 'fr');
    await speak(club, 'it');
    expect(await printedLanguage(club, id)).to.equal('es');
  });

  it('is the club’s language if a process of the previous release issues the certificate', async () => {
    const club = await buildClub();
    await speak(club, 'fr');
    const { id } = await issueCertificateByHand(club);
    const source = await testDatabase();
    const [copied] = await source.query<{ language: string; warnings: unknown }[]>(
      `WITH issued AS (DELETE FROM certificates WHERE id = $1 RETURNING *)
       INSERT INTO certificates (id, club_id, student_id, course_id, code, student_name, student_email, course_title, club_name, lesson_count, verify_url, issued_at)
       SELECT gen_random_uuid(), club_id, student_id, course_id, code || 'X', student_name, student_email, course_title, club_name, lesson_count, verify_url, issued_at FROM issued
       RETURNING language, warnings`,
      [id],
    );
    expect(copied).to.deep.equal({ language: 'fr', warnings: [] });
  });
});

describe('letters that no font has (CERT-5)', () => {
  /** Egyptian hieroglyphs. */
  const unprintable = 'Ada \u{13000}\u{13001}';

  it('cause a warning in the certificate record, but the certificate is still issued and printed', async () => {
    const club = await buildClub();
    const student = await buildStudent(club.id, { name: unprintable });
    const course = await buildCourse(club.id, { title: 'Knots \u{12000}' });
    const issued = await issueCertificateByHand(club, { student, courseId: course.id });
    const warnings = [{ code: 'letters_without_font', fields: ['student_name', 'course_title'] }];
    expect(issued.warnings).to.deep.equal(warnings);
    const calls = certificateCalls(club, issued.id);
    expect((await calls.read()).body.data.warnings).to.deep.equal(warnings);
    const list = await call('GET', certificatesPath(club), { token: club.owner.token });
    expect(list.body.data[0].warnings).to.deep.equal(warnings);
    expect((await calls.print()).status).to.equal(200);
  });

  it('cause no warning for names in scripts that have fonts', async () => {
    const club = await buildClub();
    const student = await buildStudent(club.id, { name: '王小明 김민준 अनिता สมชาย محمد' });
    expect(await issueCertificateByHand(club, { student })).to.not.have.property('warnings');
  });

  it('are searched again when the certificate gets a new version', async () => {
    const club = await buildClub();
    const student = await buildStudent(club.id, { name: unprintable });
    const { id } = await issueCertificateByHand(club, { student });
    const source = await testDatabase();
    const rename = (name: string) => source.query(`UPDATE students SET name = $2 WHERE id = $1`, [student.id, name]);
    await rename('Ada');
    expect((await certificateCalls(club, id).reissue()).body.data).to.not.have.property('warnings');
    await rename(unprintable);
    expect((await certificateCalls(club, id).reissue()).body.data.warnings).to.deep.equal([
      { code: 'letters_without_font', fields: ['student_name'] },
    ]);
  });

  it('are erased from the warning when the student is removed', async () => {
    const club = await buildClub();
    const student = await buildStudent(club.id, { name: unprintable });
    const { id } = await issueCertificateByHand(club, { student });
    const removed = await call('DELETE', `/v1/clubs/${club.id}/students/${student.id}`, { token: club.owner.token });
    expect(removed.status).to.be.oneOf([200, 202, 204]);
    expect((await certificateCalls(club, id).read()).body.data).to.not.have.property('warnings');
    const rows = await (await testDatabase()).query(`SELECT warnings FROM certificates WHERE id = $1`, [id]);
    expect(rows).to.deep.equal([{ warnings: [] }]);
  });
});
