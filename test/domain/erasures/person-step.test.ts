/** Tests the steps that follow the erasure of a person outside Postgres (ERS-23, ERS-24). */
import { expect } from 'chai';
import { contextsInLockOrder } from '../../../domain/contexts.ts';
import { recordErasure } from '../../../domain/erasures/erasures.ts';
import { stepPersonErasure, type PersonErasureStep } from '../../../domain/erasures/person-step.ts';
import { eraseDueFiles } from '../../../domain/learning/certificates/files.ts';
import { removeStudent } from '../../../domain/students/students.ts';
import { fanOut } from '../../../domain/webhooks/events/fan-out.ts';
import { Erasure } from '../../../entities/erasures/erasure.ts';
import { Fact } from '../../../entities/facts/fact.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { workflowIdOf } from '../../../platform/engine/workflow-types.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { ObjectStore } from '../../../platform/infra/store/object-store.ts';
import { wakesBy } from '../../toolkit/assert/wakes.ts';
import { buildApiKey } from '../../toolkit/builders/api-keys.ts';
import { buildAdministrator, buildClub, buildStudent, type TestClub } from '../../toolkit/builders/clubs.ts';
import { buildMedia } from '../../toolkit/builders/media.ts';
import { buildEndpoint } from '../../toolkit/builders/webhooks.ts';
import { call } from '../../toolkit/drive/api.ts';
import { certificateCalls, issueCertificateByHand } from '../../toolkit/drive/certificates.ts';
import { eraseAll } from '../../toolkit/drive/erasure.ts';
import { testDeps } from '../../toolkit/stack/database.ts';
import { testBucket, testObjectStore } from '../../toolkit/stack/storage.ts';

const second = 1_000;
const day = 86_400 * second;

const remains = contextsInLockOrder.flatMap(({ remainsOfPerson }) => remainsOfPerson ?? []);

describe('the erasure of a person outside Postgres', () => {
  let club: TestClub;
  let studentId: Id;
  let removedAt: Date;
  const after = (ms: number) => removedAt.getTime() + ms;

  beforeEach(async () => {
    club = await buildClub();
    studentId = (await buildStudent(club.id)).id;
    removedAt = new Date();
  });

  const step = async (id: Id, now: number, replaced: Partial<ObjectStore> = {}): Promise<PersonErasureStep> => {
    const { db } = await testDeps();
    return stepPersonErasure({ db, storage: { ...(await testObjectStore()), ...replaced }, remains }, id, now);
  };
  const remove = async () => removeStudent(await testDeps(), club.id, studentId, removedAt);
  /** Deletes the facts as a relay does after the fan-out. */
  const carryFacts = async () => {
    const { db } = await testDeps();
    for (const { id, type, occurredAt } of await db.manager.findBy(Fact, { clubId: club.id, studentId })) {
      await fanOut(
        db,
        { id, clubId: club.id, type, studentId, subjectId: null, details: null, occurredAt },
        occurredAt,
      );
      await db.manager.delete(Fact, { clubId: club.id, id });
    }
  };
  const rowOf = async (subjectId: Id) => (await testDeps()).db.manager.findOneByOrFail(Erasure, { subjectId });
  const markers = async () => {
    const keys = await (await testBucket()).objects(`erasures/${removedAt.toISOString().slice(0, 10)}/`);
    return keys.filter((key) => key.includes(club.id));
  };

  it('is woken by the removal of a student, which records the person who asked', async () => {
    const path = `/v1/clubs/${club.id}/students/${studentId}`;
    const wakes = await wakesBy(club.id, () => call('DELETE', path, { token: club.owner.token }));
    expect(wakes).to.include(workflowIdOf('personErasure', studentId));
    expect(await rowOf(studentId)).to.include({ kind: 'student', clubId: club.id, requestedBy: club.owner.id });
  });

  it('records the API key that asked', async () => {
    const key = await buildApiKey(club.id, ['students:write']);
    const answer = await call('DELETE', `/v1/clubs/${club.id}/students/${studentId}`, { token: key.token });
    expect(answer.status).to.equal(204);
    expect((await rowOf(studentId)).requestedBy).to.equal(key.id);
  });

  it('writes the marker, and completes if nothing remains', async () => {
    await remove();
    await carryFacts();
    expect(await step(studentId, after(0))).to.deep.equal({ done: true, outcome: 'completed' });
    expect(await markers()).to.have.length(1);
    expect(await rowOf(studentId)).to.deep.include({
      status: 'completed',
      looksAt: null,
      completedAt: new Date(after(0)),
      counts: { buckets: { private: 0 } },
    });
  });

  it('writes the marker before anything else, and again after a fault', async () => {
    await remove();
    const fail = () => Promise.reject(new Error('The store is away'));
    expect(await step(studentId, after(0), { size: fail }).catch((error: Error) => error.message)).to.equal(
      'The store is away',
    );
    const { db } = await testDeps();
    await db.run(sql`UPDATE erasures SET lease_until = NULL WHERE subject_id = ${studentId}`);
    expect((await rowOf(studentId)).status).to.equal('objects');
    await step(studentId, after(day));
    expect(await markers(), 'on the day of the request').to.have.length(1);
  });

  it('waits until the bucket has erased every file of the student, and counts the files', async () => {
    await buildMedia(club.id, { studentId, bytes: 'a picture', mime: 'image/png' });
    await buildMedia(club.id, { studentId, bytes: 'another', mime: 'image/png' });
    await buildMedia(club.id, { bytes: 'a file of the club' });
    await remove();
    await carryFacts();
    const waiting = { done: false, at: after(10 * second), remaining: { files: 2, receivers: 0 } };
    expect(await step(studentId, after(0))).to.deep.equal(waiting);
    await eraseAll(new Date(after(0)));
    expect(await step(studentId, after(10 * second))).to.deep.equal({ done: true, outcome: 'completed' });
    expect((await rowOf(studentId)).counts).to.deep.equal({ buckets: { private: 2 } });
  });

  it('waits for the PDF of a certificate', async () => {
    const student = { id: studentId, email: '', token: '' };
    const { id } = await issueCertificateByHand(club, { student });
    expect((await certificateCalls(club, id).print()).status).to.equal(200);
    removedAt = new Date();
    await remove();
    await carryFacts();
    expect(await step(studentId, after(0))).to.deep.include({ remaining: { files: 1, receivers: 0 } });
    const { db } = await testDeps();
    await eraseDueFiles({ db, storage: await testObjectStore() }, new Date(after(day)));
    expect(await step(studentId, after(day))).to.deep.equal({ done: true, outcome: 'completed' });
  });

  it('erases the exports of the student, and counts them', async () => {
    const bucket = await testBucket();
    const other = `exports/${club.id}/${newId()}/${newId()}.zip`;
    for (const name of ['a.json', 'a.zip']) await bucket.store(`exports/${club.id}/${studentId}/${name}`, Buffer.of(1));
    await bucket.store(other, Buffer.of(1));
    await remove();
    await carryFacts();
    await step(studentId, after(0));
    expect(await bucket.objects(`exports/${club.id}/`)).to.deep.equal([other]);
    expect((await rowOf(studentId)).counts).to.deep.equal({ buckets: { private: 2 } });
  });

  it('waits for a fact and for pending deliveries of student.removed', async () => {
    const { id: endpointId } = await buildEndpoint(club.id, 'https://receiver.example.com/hook');
    await remove();
    expect(await step(studentId, after(0))).to.deep.include({ remaining: { files: 0, receivers: 1 } });
    await carryFacts();
    expect(await step(studentId, after(10 * second))).to.deep.include({ remaining: { files: 0, receivers: 1 } });
    const { db } = await testDeps();
    await db.run(
      sql`UPDATE webhook_deliveries SET status = 'failed', completed_at = now() WHERE endpoint_id = ${endpointId}`,
    );
    expect(await step(studentId, after(20 * second))).to.deep.equal({ done: true, outcome: 'completed' });
  });

  it('waits for receivers no longer than a delivery can be pending', async () => {
    await buildEndpoint(club.id, 'https://receiver.example.com/hook');
    await remove();
    await carryFacts();
    expect(await step(studentId, after(30 * day))).to.deep.include({ remaining: { files: 0, receivers: 1 } });
    expect(await step(studentId, after(31 * day))).to.deep.equal({ done: true, outcome: 'completed' });
  });

  it('looks after waits that grow to six hours', async () => {
    await buildEndpoint(club.id, 'https://receiver.example.com/hook');
    await remove();
    const waitsAt = async (ms: number) => {
      const next = await step(studentId, after(ms));
      return next.done ? undefined : (next.at - after(ms)) / second;
    };
    expect(await waitsAt(0)).to.equal(10);
    expect(await waitsAt(10 * second)).to.equal(10);
    expect(await waitsAt(600 * second)).to.equal(600);
    expect(await waitsAt(day)).to.equal(6 * 3_600);
  });

  it('reports the lease of another worker, and changes nothing', async () => {
    await remove();
    const { db } = await testDeps();
    const until = new Date(Date.now() + 60 * second);
    await db.run(sql`UPDATE erasures SET lease_until = ${until} WHERE subject_id = ${studentId}`);
    expect(await step(studentId, after(0))).to.deep.equal({ done: false, at: until.getTime() });
    expect(await markers()).to.deep.equal([]);
  });

  it('waits for the pictures of an administrator', async () => {
    const { id } = await buildAdministrator();
    const { db } = await testDeps();
    const person = { kind: 'administrator', subjectId: id, clubId: null, requestedBy: id } as const;
    await db.transaction((tx) => recordErasure(tx, person, removedAt));
    const key = `media/administrators/${id}/${newId()}`;
    const bucket = await testBucket();
    await bucket.store(key, Buffer.of(1));
    expect(await step(id, after(0))).to.deep.include({ remaining: { files: 1, receivers: 0 } });
    await (await testObjectStore()).remove(key);
    expect(await step(id, after(day))).to.deep.equal({ done: true, outcome: 'completed' });
    const today = `erasures/${removedAt.toISOString().slice(0, 10)}/`;
    expect(await bucket.objects(`${today}administrator-${id}`)).to.have.length(1);
  });

  it('leaves the erasure of a club to the run of the club', async () => {
    const { db } = await testDeps();
    const times = { requestedAt: removedAt, erasesAt: removedAt, looksAt: removedAt };
    const row = { id: newId(), kind: 'club', subjectId: club.id, clubId: club.id, requestedBy: null } as const;
    await db.manager.insert(Erasure, { ...row, ...times, status: 'objects' });
    expect(await step(club.id, after(day))).to.deep.equal({ done: true, outcome: 'gone' });
    expect(await markers()).to.deep.equal([]);
  });
});
