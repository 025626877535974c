/** Tests PDFs of certificates in the bucket (DEC-56). */
import { expect } from 'chai';
import {
  eraseDueFiles,
  printCertificate,
  type CertificateFileDeps,
} from '../../../../domain/learning/certificates/files.ts';
import { findCertificate } from '../../../../domain/learning/certificates/reads.ts';
import { removeStudent } from '../../../../domain/students/students.ts';
import { buildClub, buildStudent, type TestClub, type TestStudent } from '../../../toolkit/builders/clubs.ts';
import { certificateCalls, issueCertificateByHand } from '../../../toolkit/drive/certificates.ts';
import { testDatabase, testDeps } from '../../../toolkit/stack/database.ts';
import { testBucket, testObjectStore } from '../../../toolkit/stack/storage.ts';

const minute = 60_000;

describe('the PDF of a certificate in the bucket (DEC-56)', function () {
  this.timeout(20_000);
  let club: TestClub;
  let student: TestStudent;
  let id: string;
  let deps: CertificateFileDeps;
  beforeEach(async () => {
    club = await buildClub();
    student = await buildStudent(club.id);
    ({ id } = await issueCertificateByHand(club, { student }));
    deps = { db: (await testDeps()).db, storage: await testObjectStore() };
  });

  const later = (ms: number) => new Date(Date.now() + ms);
  const files = async () => (await testBucket()).objects(`certificates/${club.id}/`);
  const print = async (with_: CertificateFileDeps = deps) =>
    printCertificate(with_, await findCertificate(deps.db, club.id, id), new Date());
  const erase = async (now: Date) => {
    while ((await eraseDueFiles(deps, now)).more);
  };
  const rowsLeft = async () =>
    (await (await testDatabase()).query<unknown[]>(`SELECT 1 FROM certificate_files WHERE certificate_id = $1`, [id]))
      .length;

  it('is drawn once, and is later read from the bucket', async () => {
    const calls = certificateCalls(club, id);
    const first = await calls.print();
    const [key = '', ...others] = await files();
    expect([key.split('/').slice(0, 3), others]).to.deep.equal([['certificates', club.id, id], []]);
    let puts = 0;
    const storage = { ...deps.storage, put: async () => void puts++ };
    expect((await print({ ...deps, storage })).equals(first.bytes)).to.equal(true);
    expect([puts, (await calls.print()).bytes.equals(first.bytes)]).to.deep.equal([0, true]);
  });

  it('is drawn again after a reissue or a change of time zone', async () => {
    await print();
    const before = await files();
    await (await testDatabase()).query(`UPDATE clubs SET time_zone = 'Asia/Tokyo' WHERE id = $1`, [club.id]);
    await print();
    await erase(later(0));
    const moved = await files();
    expect([moved.length, moved[0] === before[0]]).to.deep.equal([1, false]);
    expect((await certificateCalls(club, id).reissue()).status).to.equal(200);
    await erase(later(0));
    expect(await files()).to.deep.equal([]);
    await print();
    expect((await files())[0]).to.match(/\/2-[0-9a-f]{32}\.pdf$/);
  });

  it('is erased after a revocation, and after the removal of the student', async () => {
    await print();
    await certificateCalls(club, id).revoke();
    await erase(later(0));
    expect(await files()).to.deep.equal([]);
    await certificateCalls(club, id).reissue();
    await print();
    await removeStudent(await testDeps(), club.id, student.id, new Date());
    await erase(later(0));
    await erase(later(6 * minute));
    expect([await files(), await rowsLeft()]).to.deep.equal([[], 0]);
  });

  it('is erased even if it is written while its student is being removed', async () => {
    const storage: CertificateFileDeps['storage'] = {
      ...deps.storage,
      async put(...file) {
        await removeStudent(await testDeps(), club.id, student.id, new Date());
        await erase(later(0));
        await deps.storage.put(...file);
      },
    };
    await print({ ...deps, storage });
    expect(await files()).to.have.length(1);
    await erase(later(6 * minute));
    expect([await files(), await rowsLeft()]).to.deep.equal([[], 0]);
  });

  it('is not stored if the student was removed while the PDF was drawn', async () => {
    const certificate = await findCertificate(deps.db, club.id, id);
    await removeStudent(await testDeps(), club.id, student.id, new Date());
    await printCertificate(deps, certificate, new Date());
    expect([await files(), await rowsLeft()]).to.deep.equal([[], 0]);
  });

  it('is drawn for each request while the bucket cannot be reached', async () => {
    const away = () => Promise.reject(new Error('The store cannot be reached'));
    const bytes = await print({ ...deps, storage: { put: away, read: away, stream: away, remove: away } });
    expect(bytes.toString('latin1', 0, 5)).to.equal('%PDF-');
    await print();
    expect(await files()).to.have.length(1);
  });
});
