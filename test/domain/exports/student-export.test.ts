/** Tests the step of an export: crashes, removals, stale workers, missing files and large conversations (EXP-2, EXP-5). */
import { expect } from 'chai';
import { contextsInLockOrder } from '../../../domain/contexts.ts';
import { requestExport } from '../../../domain/exports/students/exports.ts';
import { sectionNames, studentExportRules } from '../../../domain/exports/students/exports.policy.ts';
import type { StudentExportDeps } from '../../../domain/exports/students/step.ts';
import { buyerFieldsOf } from '../../../domain/sales/notices/buyer-fields.ts';
import { retainExports } from '../../../domain/exports/students/removal.ts';
import { eraseLeftovers } from '../../../domain/media/erasure/leftovers.ts';
import { removeStudent } from '../../../domain/students/students.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { buildClub, buildStudent, type TestClub, type TestStudent } from '../../toolkit/builders/clubs.ts';
import { buildConversation } from '../../toolkit/builders/questions.ts';
import { buildAgent } from '../../toolkit/builders/agents.ts';
import { stepStudentExport, studentExportDeps } from '../../toolkit/drive/student-exports.ts';
import { testDatabase, testDeps } from '../../toolkit/stack/database.ts';
import { testBucket, testObjectStore } from '../../toolkit/stack/storage.ts';

const day = 86_400_000;
type Failpoint = Parameters<StudentExportDeps['failpoint']>[0];

describe('the step of an export', () => {
  let club: TestClub;
  let student: TestStudent;
  let exportId: Id;
  beforeEach(async () => {
    club = await buildClub();
    student = await buildStudent(club.id);
    exportId = await begin();
  });

  async function begin(at = new Date()): Promise<Id> {
    const whose = { clubId: club.id, studentId: student.id };
    return (await requestExport(await testDeps(), whose, { kind: 'student', id: student.id }, at)).id;
  }
  const at = (name: Failpoint, act: () => Promise<unknown>) =>
    studentExportDeps({
      async failpoint(reached) {
        if (reached === name) await act();
      },
      onFault() {},
    });
  const dieAt = (name: Failpoint) =>
    at(name, () => {
      throw new Error('the worker dies');
    });
  const objects = async () => (await testBucket()).objects(`exports/${club.id}/`);
  const remove = async () => removeStudent(await testDeps(), club.id, student.id, new Date());
  const erase = async (now: Date) => eraseLeftovers({ ...(await testDeps()), storage: await testObjectStore() }, now);
  const inMinutes = (count: number) => new Date(Date.now() + count * 60_000);

  for (const name of ['export_claimed', 'export_written', 'export_uploaded'] as const)
    it(`repeats an attempt that died at ${name}, and leaves only the file of the last attempt`, async () => {
      await stepStudentExport(exportId, await dieAt(name)).catch(() => undefined);
      const source = await testDatabase();
      await source.query(`UPDATE student_exports SET lease_until = NULL WHERE id = $1`, [exportId]);
      expect(await stepStudentExport(exportId, undefined, inMinutes(5))).to.deep.equal({
        done: true,
        outcome: 'ready',
      });
      await erase(inMinutes(24 * 60));
      expect(await objects()).to.deep.equal([`exports/${club.id}/${student.id}/${exportId}-2.zip`]);
    });

  it('does nothing while another worker has the lease', async () => {
    let second: unknown;
    await stepStudentExport(
      exportId,
      await at('export_written', async () => {
        second = await stepStudentExport(exportId);
      }),
    );
    expect(second).to.include({ done: false });
    expect(await objects()).to.have.length(1);
  });

  it('discards the file of a worker that lost its lease', async () => {
    const source = await testDatabase();
    const deps = await at('export_uploaded', async () => {
      await source.query(`UPDATE student_exports SET lease_until = NULL WHERE id = $1`, [exportId]);
      await stepStudentExport(exportId, undefined, inMinutes(1));
    });
    expect(await stepStudentExport(exportId, deps)).to.deep.equal({ done: true, outcome: 'ready' });
    await erase(inMinutes(24 * 60));
    expect(await objects()).to.deep.equal([`exports/${club.id}/${student.id}/${exportId}-2.zip`]);
  });

  for (const name of ['export_claimed', 'export_written', 'export_uploaded'] as const)
    it(`leaves nothing if the student is removed at ${name}`, async () => {
      expect(await stepStudentExport(exportId, await at(name, remove))).to.deep.equal({ done: true, outcome: 'gone' });
      expect(await objects()).to.deep.equal([]);
    });

  it('leaves nothing if the student is removed during the upload of a worker that dies', async () => {
    const deps = await at('export_uploaded', async () => {
      await remove();
      throw new Error('the worker dies');
    });
    await stepStudentExport(exportId, deps).catch(() => undefined);
    expect(await objects()).to.have.length(1);
    await erase(inMinutes(1));
    expect(await objects()).to.deep.equal([]);
  });

  it('loses its file with the removal of the student', async () => {
    await stepStudentExport(exportId);
    await remove();
    await erase(inMinutes(1));
    expect(await objects()).to.deep.equal([]);
    const rows = await (await testDatabase()).query(`SELECT FROM student_exports WHERE student_id = $1`, [student.id]);
    expect(rows).to.have.length(0);
  });

  it('loses its file after seven days', async () => {
    await stepStudentExport(exportId);
    const { db } = await testDeps();
    await retainExports(db, new Date(Date.now() + 7 * day - 60_000));
    await erase(new Date(Date.now() + 7 * day - 60_000));
    expect(await objects()).to.have.length(1);
    await retainExports(db, new Date(Date.now() + 7 * day + 60_000));
    await erase(new Date(Date.now() + 7 * day + 60_000));
    expect(await objects()).to.deep.equal([]);
  });

  it('fails after five attempts, and leaves nothing', async () => {
    const deps = await dieAt('export_written');
    for (let attempt = 0; attempt < studentExportRules.attempts; attempt++)
      expect(await stepStudentExport(exportId, deps, inMinutes(2 * attempt))).to.include({ done: false });
    expect(await stepStudentExport(exportId, deps, inMinutes(20))).to.deep.equal({ done: true, outcome: 'failed' });
    expect(await objects()).to.deep.equal([]);
  });

  it('waits five minutes if the disk has no room, and does not count the attempt', async () => {
    const now = new Date();
    const step = await stepStudentExport(exportId, await studentExportDeps({ inScratch: async () => undefined }), now);
    expect(step).to.deep.equal({ done: false, at: now.getTime() + 5 * 60_000, attempt: 1, sections: 0 });
  });

  it('leaves out a file that the store lacks', async () => {
    const source = await testDatabase();
    await source.query(
      `INSERT INTO media (id, club_id, purpose, owner_id, kind, title, provider, status, file_name, mime, size_bytes, object_key, created_at, updated_at)
       VALUES ($1, $2, 'assignment', $3, 'image', 'Lost', 'objstore', 'ready', 'lost.png', 'image/png', 5, 'media/lost', now(), now())`,
      [newId(), club.id, student.id],
    );
    expect(await stepStudentExport(exportId)).to.deep.equal({ done: true, outcome: 'ready' });
  });

  it('writes 10,000 messages in small pieces, so that the memory stays bounded', async function () {
    this.timeout(120_000);
    const agent = await buildAgent(club.id);
    const asker = { clubId: club.id, agentId: agent.id, studentId: student.id };
    const { conversationId } = await buildConversation({}, asker);
    const source = await testDatabase();
    await source.query(
      `WITH question AS (
         INSERT INTO agent_questions (id, club_id, agent_id, student_id, conversation_id, content, asked_at)
         SELECT gen_random_uuid(), $1, $2, $3, $4, repeat('How do I tie it? ', 20), now() FROM generate_series(1, 10000) RETURNING id)
       INSERT INTO agent_answers (id, question_id, club_id, agent_id, student_id, conversation_id, status, content, model, max_tokens, looks_at, created_at, completed_at)
       SELECT gen_random_uuid(), id, $1, $2, $3, $4, 'complete', repeat('Take the left end over the right end. ', 50), 'm', 100, now(), now(), now() FROM question`,
      [club.id, agent.id, student.id, conversationId],
    );
    const sizes: number[] = [];
    const inScratch: StudentExportDeps['inScratch'] = async (work) => {
      const pieces: Buffer[] = [];
      return work({
        async write(written) {
          for await (const piece of written) {
            sizes.push(piece.length);
            pieces.push(piece);
          }
        },
        async *read() {
          yield* pieces;
        },
      });
    };
    expect(await stepStudentExport(exportId, await studentExportDeps({ inScratch }))).to.include({ outcome: 'ready' });
    expect(sizes.reduce((sum, size) => sum + size, 0)).to.be.above(20_000_000);
    expect(Math.max(...sizes)).to.be.below(1_000_000);
  });
});

describe('the sections of an export', () => {
  const student = { clubId: newId(), studentId: newId() };

  it('belong to exactly one context each', () => {
    const written = contextsInLockOrder.flatMap(({ exportStudent }) =>
      Object.keys(exportStudent?.(student).sections ?? {}),
    );
    expect(written.toSorted()).to.deep.equal(sectionNames.toSorted());
  });
});

describe('the data about a buyer', () => {
  const ofStudent = { field: 'buyer.email', value: 'stella@example.com' };

  /** @returns the buyer that the export of stella@example.com shows */
  async function buyerIn(status: 'pending' | 'processed', buyer: string): Promise<readonly unknown[]> {
    const sections = contextsInLockOrder.flatMap(
      ({ exportStudent }) => exportStudent?.({ clubId: newId(), studentId: newId() }).sections.sales_notices ?? [],
    );
    const body = Buffer.from(JSON.stringify({ buyer: { email: buyer }, affiliate: { email: 'stella@example.com' } }));
    return sections.map(
      ({ present }) => present?.({ id: newId(), status, body, email: 'stella@example.com' })['buyer'],
    );
  }

  it('is shown to the buyer whose notice waits', async () => {
    expect(await buyerIn('pending', 'Stella@Example.com')).to.deep.equal([
      [{ field: 'buyer.email', value: 'Stella@Example.com' }],
    ]);
  });

  it('is shown to the student of a processed notice, also after a change of the address', async () => {
    expect(await buyerIn('processed', 'old@example.com')).to.deep.equal([[{ ...ofStudent, value: 'old@example.com' }]]);
  });

  it('is not shown to another person whose address the notice has', async () => {
    expect(await buyerIn('pending', 'otto@example.com')).to.deep.equal([[]]);
  });

  it('leave out everything else in a notice', () => {
    const body = { buyer: { email: 'a@b.c', address: { city: 'Faro' }, age: 3, none: null }, seller: { name: 'Otto' } };
    expect(buyerFieldsOf(Buffer.from(JSON.stringify(body)))).to.deep.equal([
      { field: 'buyer.email', value: 'a@b.c' },
      { field: 'buyer.address.city', value: 'Faro' },
      { field: 'buyer.age', value: '3' },
    ]);
  });

  it('are empty for a body that is no JSON', () => {
    expect(buyerFieldsOf(Buffer.from('{'))).to.deep.equal([]);
  });
});
