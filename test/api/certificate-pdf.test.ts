import { expect } from 'chai';
import QRCode from 'qrcode';
import { newId } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { readPdf } from '../toolkit/assert/pdf.ts';
import { buildClub, buildMember, buildStudent, type TestClub, type TestStudent } from '../toolkit/builders/clubs.ts';
import { buildCourse } from '../toolkit/builders/courses.ts';
import { call, expectError, type Answer } from '../toolkit/drive/api.ts';
import { certificateCalls, issueCertificateByHand } from '../toolkit/drive/certificates.ts';
import { testDatabase } from '../toolkit/stack/database.ts';

const printOwn = (club: TestClub, student: TestStudent, id: string) =>
  call('GET', `/v1/clubs/${club.id}/classroom/certificates/${id}/pdf`, { token: student.token });

/** Returns the modules (dark and light squares) of a printed QR code, row by row from the upper left corner. */
function printedModules(answer: Answer): number[] {
  const fills = readPdf(answer.bytes).fills.filter((fill) => fill.length > 0);
  const [ground] = fills.at(-2) ?? [];
  const squares = fills.at(-1) ?? [];
  if (!ground) throw new Error('QR code has no background rectangle');
  const [x, y, side] = ground;
  const module = Math.min(...squares.map(([, , , height]) => height));
  const size = Math.round(side / module) - 8;
  const modules: number[] = Array.from({ length: size * size }, () => 0);
  for (const [left, top, width] of squares) {
    const row = Math.round((top - y) / module) - 4;
    const column = Math.round((left - x) / module) - 4;
    modules.fill(1, row * size + column, row * size + column + Math.round(width / module));
  }
  return modules;
}

describe('GET /v1/clubs/{clubId}/certificates/{certificateId}/pdf', () => {
  describe('200', () => {
    it('returns one landscape A4 page that browsers display, with the code in the file name', async () => {
      const club = await buildClub();
      const { id, code_formatted: code } = await issueCertificateByHand(club);
      const answer = await certificateCalls(club, id).print();
      expect(answer.status).to.equal(200);
      expect(answer.headers.get('content-type')).to.equal('application/pdf');
      expect(answer.headers.get('content-disposition')).to.equal(`inline; filename="certificate-${code}.pdf"`);
      expect(answer.headers.get('content-length')).to.equal(String(answer.bytes.length));
      expect(readPdf(answer.bytes).pages).to.deep.equal([[841.89, 595.28]]);
    });

    it('prints club, student, course, lessons, hours and code, with dates in the club’s time zone', async () => {
      const club = await buildClub();
      const student = await buildStudent(club.id, { name: 'José Ángel Świętopełk' });
      const course = await buildCourse(club.id, { title: 'Nós e amarrações', hours: 1 });
      const source = await testDatabase();
      await source.query(`UPDATE clubs SET name = 'Clube do Porto', time_zone = 'America/Sao_Paulo' WHERE id = $1`, [
        club.id,
      ]);
      await source.query(
        `INSERT INTO course_completions (student_id, course_id, club_id, completed_at) VALUES ($1, $2, $3, '2026-03-02T01:15:00Z')`,
        [student.id, course.id, club.id],
      );
      const {
        id,
        code_formatted: code,
        verify_url: url,
      } = await issueCertificateByHand(club, { student, courseId: course.id });
      await source.query(`UPDATE certificates SET issued_at = '2026-03-02T03:15:00Z' WHERE id = $1`, [id]);
      const { lines, links } = readPdf((await certificateCalls(club, id).print()).bytes);
      expect(lines).to.deep.equal([
        'Clube do Porto',
        'Certificate of Completion',
        'This certifies that',
        'José Ángel Świętopełk',
        'has completed the course',
        'Nós e amarrações',
        '4 lessons · 1 hour · completed on 1 March 2026',
        '2 March 2026',
        'Date of issue · version 1',
        code,
        url.replace('http://', ''),
      ]);
      expect(links).to.deep.equal([url]);
    });

    it('prints verify_url as a QR code with a quiet zone', async () => {
      const club = await buildClub();
      const { id, verify_url: url } = await issueCertificateByHand(club);
      const { modules } = QRCode.create(url, { errorCorrectionLevel: 'M' });
      expect(printedModules(await certificateCalls(club, id).print())).to.deep.equal(Array.from(modules.data, Number));
    });

    const names = {
      Cyrillic: 'Владислав Щербаков',
      Greek: 'Ωκεανός Παπαδόπουλος',
      Vietnamese: 'Nguyễn Thị Hường',
      Turkish: 'Çağrı Öztürk İpek',
      Armenian: 'Արամ Խաչատրյան',
    };
    for (const [script, name] of Object.entries(names)) {
      it(`prints a name in a script outside Latin-1: ${script}`, async () => {
        const club = await buildClub();
        const { id } = await issueCertificateByHand(club, { student: await buildStudent(club.id, { name }) });
        const { lines } = readPdf((await certificateCalls(club, id).print()).bytes);
        expect(lines.map((line) => line.normalize('NFC'))).to.include(name.normalize('NFC'));
      });
    }

    it('prints right-to-left scripts in visual order', async () => {
      const club = await buildClub();
      await eachCase(['שרה בת אברהם', 'محمد عبد الله'], async (name) => {
        const { id } = await issueCertificateByHand(club, { student: await buildStudent(club.id, { name }) });
        const { lines } = readPdf((await certificateCalls(club, id).print()).bytes);
        expect(lines.map((line) => line.split('').toReversed().join(''))).to.include(name);
      });
    });

    it('prints the longest name, title and club name completely on one page', async () => {
      const club = await buildClub();
      const [name, title, clubName] = ['W'.repeat(120), 'M'.repeat(200), 'Q'.repeat(120)];
      const student = await buildStudent(club.id, { name });
      const course = await buildCourse(club.id, { title });
      await (await testDatabase()).query(`UPDATE clubs SET name = $2 WHERE id = $1`, [club.id, clubName]);
      const { id } = await issueCertificateByHand(club, { student, courseId: course.id });
      const { lines, pages } = readPdf((await certificateCalls(club, id).print()).bytes);
      expect(pages).to.have.length(1);
      await eachCase([name, title, clubName], (text) => expect(lines.join('')).to.include(text));
    });

    it('returns the same bytes for each request, until the certificate is reissued', async () => {
      const club = await buildClub();
      const { id } = await issueCertificateByHand(club);
      const { print, reissue } = certificateCalls(club, id);
      const [first, second] = [await print(), await print()];
      expect(first.bytes.equals(second.bytes)).to.equal(true);
      await reissue();
      expect(readPdf((await print()).bytes).lines).to.include('Date of issue · version 2');
    });

    it('is available to every member, including support', async () => {
      const club = await buildClub();
      const { id } = await issueCertificateByHand(club);
      const support = await buildMember(club.id, 'support');
      expect((await certificateCalls(club, id, support.token).print()).status).to.equal(200);
    });
  });

  it('returns 409 for a revoked certificate, until it is reissued', async () => {
    const club = await buildClub();
    const { id } = await issueCertificateByHand(club);
    const { print, revoke, reissue } = certificateCalls(club, id);
    await revoke();
    expectError(await print(), 'certificate_revoked');
    await reissue();
    expect((await print()).status).to.equal(200);
  });
});

describe('GET /v1/clubs/{clubId}/classroom/certificates/{certificateId}/pdf', () => {
  it('returns the student’s own certificate with the same bytes that administrators get', async () => {
    const club = await buildClub();
    const student = await buildStudent(club.id);
    const { id } = await issueCertificateByHand(club, { student });
    const own = await printOwn(club, student, id);
    expect(own.status).to.equal(200);
    expect(own.bytes.equals((await certificateCalls(club, id).print()).bytes)).to.equal(true);
  });

  it('returns 404 for an unknown certificate and for a certificate of another student or club', async () => {
    const [club, other] = [await buildClub(), await buildClub()];
    const student = await buildStudent(club.id);
    const ids = [(await issueCertificateByHand(club)).id, (await issueCertificateByHand(other)).id, newId()];
    await eachCase(ids, async (id) => expectError(await printOwn(club, student, id), 'not_found'));
  });

  it('returns 409 for a revoked certificate', async () => {
    const club = await buildClub();
    const student = await buildStudent(club.id);
    const { id } = await issueCertificateByHand(club, { student });
    await certificateCalls(club, id).revoke();
    expectError(await printOwn(club, student, id), 'certificate_revoked');
  });
});
