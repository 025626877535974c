/** Tests that an export has every text of a student that Postgres has, and nothing of other people (EXP-2, EXP-3). */
import { expect } from 'chai';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startFakeModel, type FakeModel } from '../../dev/fake-model/fake-model.ts';
import { sectionNames } from '../../domain/exports/students/exports.policy.ts';
import { newId } from '../../platform/core/ids.ts';
import { recordFaults } from '../toolkit/assert/contract-schemas.ts';
import { askPython, whyNoPython } from '../toolkit/assert/python.ts';
import { needlesIn, tracesInTables } from '../toolkit/assert/traces.ts';
import { buildStudent } from '../toolkit/builders/clubs.ts';
import { buildKnownStudent, type KnownStudent } from '../toolkit/builders/known-student.ts';
import { png } from '../toolkit/builders/pictures.ts';
import { callAt } from '../toolkit/drive/api.ts';
import type { ExportedStudentDocument } from '../toolkit/drive/student-exports.ts';
import { serveApp, type ServedApp } from '../toolkit/stack/app.ts';
import { testDatabase } from '../toolkit/stack/database.ts';
import { useDeliveries } from '../toolkit/stack/receivers.ts';
import { useWorkerProcesses } from '../toolkit/stack/worker.ts';

const second = 1_000;

/** The needles that an export leaves out, with the reason. */
const leftOut: Readonly<Record<string, string>> = {
  'former e-mail': 'is not in Postgres any more',
  'key of the e-mail': 'is a hash',
  'key of the former e-mail': 'is a hash',
  'name of a file': 'is the name of a file of the club, which may name other people',
  'ignored column': 'is a header of a file of the club, which may name other people',
  'note of a bulk award': 'is an internal note',
  moderation: 'is an internal note',
  'id of a request to the model': 'is an id of a provider, and no data of the student',
};

/** Reads the entries of the ZIP, and the document. */
const reading = `
with zipfile.ZipFile(sys.argv[1]) as archive:
    bad = archive.testzip()
    print(json.dumps({'bad': bad, 'names': archive.namelist(), 'document': archive.read('export.json').decode(),
                      'files': {n: archive.read(n).hex() for n in archive.namelist() if n != 'export.json'}}))`;

describe('the export of a student', function () {
  this.timeout(60 * second);
  const startWorker = useWorkerProcesses();
  const delivering = useDeliveries();

  const tag = newId().slice(-10);
  const givenName = 'روزاليند 花子 Zoe\u0308';
  const flourish = ' عرض 日本語 🦜👩‍🚀 e\u0301';
  const stranger = { name: `Otto Unbeteiligt${tag}`, email: `otto.unbeteiligt${tag}@example.com` };
  let known: KnownStudent;
  let model: FakeModel;
  let served: ServedApp;
  let zip: { bad: string | null; names: string[]; document: string; files: Record<string, string> };
  let document: ExportedStudentDocument;
  let tables: string[];

  before('create a student with every kind of record, and download the export', async function () {
    if (whyNoPython !== undefined) this.skip();
    this.timeout(180 * second);
    model = await startFakeModel();
    served = await serveApp({});
    known = await buildKnownStudent({
      model,
      served,
      startWorker,
      delivering: delivering(),
      tag,
      givenName,
      flourish,
      async beforeExport({ club, post }) {
        const other = await buildStudent(club.id, stranger);
        const source = await testDatabase();
        await source.query(
          `INSERT INTO community_comments (id, club_id, post_id, student_id, body, created_at) VALUES ($1, $2, $3, $4, $5, now())`,
          [newId(), club.id, post.id, other.id, `Answered ${tag}`],
        );
        await source.query(
          `INSERT INTO lesson_comments (id, club_id, lesson_id, student_id, body, created_at)
           SELECT $1, $2, lesson_id, $3, $4, now() FROM lesson_comments WHERE club_id = $2 LIMIT 1`,
          [newId(), club.id, other.id, `Foreign${tag}`],
        );
      },
    });
    const { club, studentId, exportId, admin } = known;
    tables = await tracesInTables(known.needles);
    const record = await admin('GET', `/students/${studentId}/exports/${exportId}`);
    expect(record.status).to.equal('ready');
    const bytes = Buffer.from(await (await fetch(record.download_url)).arrayBuffer());
    expect(bytes.length).to.equal(record.size_bytes);
    const directory = await mkdtemp(path.join(tmpdir(), 'exported-'));
    const file = path.join(directory, 'export.zip');
    await writeFile(file, bytes);
    zip = (await askPython(file, reading)) as typeof zip;
    await rm(directory, { recursive: true });
    document = JSON.parse(zip.document);
    expect(document.club.id).to.equal(club.id);
  });
  after(async () => {
    await served?.close();
    await model?.stop();
  });

  it('has every text of the student that the search finds in Postgres', () => {
    const found = new Set(tables.map((trace) => trace.split(': ')[1] ?? ''));
    const exported = needlesIn(zip.document, known.needles);
    expect([...found].filter((what) => !exported.includes(what) && !(what in leftOut))).to.deep.equal([]);
  });

  it('has no hash, no internal note and no text about files of the club', () => {
    expect(needlesIn(zip.document, known.needles).filter((what) => what in leftOut)).to.deep.equal([]);
  });

  it('has no name, no address and no words of other people', async () => {
    const source = await testDatabase();
    const people = await source.query<{ name: string; email: string }[]>(
      `SELECT name, email FROM administrators UNION ALL SELECT name, email FROM students WHERE id <> $1 AND email IS NOT NULL`,
      [known.studentId],
    );
    expect(people.map(({ email }) => email)).to.include(stranger.email);
    const others = Object.fromEntries(
      people.flatMap(({ name, email }) => [[name, name] as const, [email, email] as const]),
    );
    expect(needlesIn(zip.document, { ...others, foreign: `Foreign${tag}` })).to.deep.equal([]);
  });

  it('has replies of others without their names', () => {
    const reply = document.replies.find(({ body }) => body === `Answered ${tag}`);
    expect(reply?.author).to.equal('another member');
  });

  it('follows the schema of the contract', () => {
    expect(recordFaults('StudentExport', document)).to.deep.equal([]);
  });

  it('has a record in every section', () => {
    const empty = sectionNames.filter((name) => name !== 'profile' && document[name].length === 0);
    // No record of these sections belongs to this student.
    expect(empty).to.deep.equal(['passkeys']);
  });

  it('keeps every character of texts in every script', () => {
    expect(document.profile.name).to.equal(known.name.normalize('NFC')); // the sign-up stores it so
    const texts = [
      document.lesson_comments[0]?.body,
      document.posts[0]?.body,
      document.post_comments[0]?.body,
      document.submissions[0]?.text,
      document.mentorship_sessions.find(({ agenda }) => agenda !== undefined)?.agenda,
      document.messages[0]?.question,
    ];
    for (const text of texts) expect(text?.endsWith(flourish), text).to.equal(true);
  });

  it('has the answers with their citations, and the review without its author', () => {
    expect(document.messages[0]?.citations[0]?.cited_text).to.be.a('string');
    expect(document.submissions[0]?.review).to.include({ outcome: 'changes_requested' });
  });

  it('is a ZIP that Python’s zipfile reads, with the document and every file of the student', () => {
    expect(zip.bad).to.equal(null);
    const paths = document.files.flatMap(({ path: place }) => place ?? []);
    expect(zip.names.toSorted()).to.deep.equal(['export.json', ...paths].toSorted());
    expect(paths).to.have.length.above(3);
    expect(Object.values(zip.files)).to.include(png().toString('hex'));
  });

  it('is gone with the student', async () => {
    const { admin, club, studentId, exportId } = known;
    await admin('DELETE', `/students/${studentId}`);
    const answer = await callAt(served.base, 'GET', `/v1/clubs/${club.id}/students/${studentId}/exports/${exportId}`, {
      token: club.owner.token,
    });
    expect(answer.status).to.equal(404);
  });
});
