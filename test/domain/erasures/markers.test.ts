/** Tests the markers of erasures in the private bucket (ERS-20 to ERS-22). */
import { expect } from 'chai';
import {
  listMarkers,
  markerRules,
  removeOldMarkers,
  writeMarker,
  type MarkedErasure,
} from '../../../domain/erasures/markers.ts';
import { newId } from '../../../platform/core/ids.ts';
import { readConfig } from '../../../config.ts';
import { closeStorage, testBucket, testObjectStore } from '../../toolkit/stack/storage.ts';

const dayMs = 86_400_000;
/** Days that no other test writes. */
const [first, second] = [new Date('2031-05-06T23:59:59Z'), new Date('2031-05-07T00:00:00Z')] as const;
/** Markers of later days belong to other tests. */
const last = new Date('2031-05-08');
const student: MarkedErasure = { kind: 'student', subjectId: newId(), clubId: newId() };
const administrator: MarkedErasure = { kind: 'administrator', subjectId: newId(), clubId: null };
const clubId = newId();
const club: MarkedErasure = { kind: 'club', subjectId: clubId, clubId };

describe('markers of erasures', () => {
  after('delete the markers', async () => {
    await (await testObjectStore()).removeUnder('erasures/2031-');
    closeStorage();
  });
  beforeEach('write three markers', async () => {
    const storage = await testObjectStore();
    await writeMarker(storage, student, first);
    await writeMarker(storage, administrator, second);
    await writeMarker(storage, club, second);
  });

  const listed = async (since: Date, until = last): Promise<{ erasures: MarkedErasure[]; unknown: string[] }> => {
    const erasures: MarkedErasure[] = [];
    const unknown: string[] = [];
    const onUnknown = (key: string) => void unknown.push(key);
    for await (const erasure of listMarkers(await testObjectStore(), since, { onUnknown, until }))
      erasures.push(erasure);
    return { erasures, unknown };
  };

  it('are empty objects with the day, the kind and the ids in their key', async () => {
    const bucket = await testBucket();
    expect(await bucket.objects('erasures/2031-')).to.deep.equal([
      `erasures/2031-05-06/student-${student.clubId}-${student.subjectId}`,
      `erasures/2031-05-07/administrator-${administrator.subjectId}`,
      `erasures/2031-05-07/club-${clubId}`,
    ]);
    expect(await bucket.contentOf(`erasures/2031-05-07/club-${clubId}`)).to.have.length(0);
  });

  it('are read from the day of the given time on, with every field', async () => {
    expect((await listed(first)).erasures).to.deep.equal([student, administrator, club]);
    expect((await listed(new Date(second.getTime() + 1_000))).erasures).to.deep.equal([administrator, club]);
    expect((await listed(new Date(second.getTime() + dayMs))).erasures).to.deep.equal([]);
  });

  it('are read up to the last day', async () => {
    expect((await listed(first, first)).erasures).to.deep.equal([student]);
    expect((await listed(first, second)).erasures).to.deep.equal([student, administrator, club]);
  });

  it('get no second version from a repeated call', async () => {
    await writeMarker(await testObjectStore(), club, second);
    const versions = await (await testBucket()).everyVersion();
    expect(versions.filter((key) => key.endsWith(`club-${clubId}`))).to.have.length(1);
  });

  it('are told apart from other objects below the prefix', async () => {
    const bucket = await testBucket();
    const strange = [`erasures/2031-05-08/student-${newId()}`, `erasures/2031-05-08/${newId()}`];
    const other = ['erasures/2031-05-08/club-x', `erasures/2031-05-08/school-${newId()}`];
    for (const key of [...strange, ...other]) await bucket.store(key, Buffer.alloc(0));
    const { erasures, unknown } = await listed(new Date('2031-05-08'));
    expect(erasures).to.deep.equal([]);
    expect(unknown).to.have.members([...strange, ...other]);
    for (const key of unknown) await (await testObjectStore()).remove(key);
  });

  it('refuse a student without a club, and write nothing', async () => {
    const without = { ...student, clubId: null };
    const refused = await writeMarker(await testObjectStore(), without, first).catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(Error);
    expect((await listed(first)).erasures).to.have.length(3);
  });

  it('cannot be read without a signature', async () => {
    const { endpoint, privateBucket, publicBucket } = readConfig().storage;
    const key = `erasures/2031-05-07/club-${clubId}`;
    expect((await fetch(`${endpoint}/${privateBucket}/${key}`)).status).to.equal(403);
    expect((await fetch(`${endpoint}/${publicBucket}/${key}`)).status).to.be.oneOf([403, 404]);
    const names = await fetch(`${endpoint}/${privateBucket}?list-type=2&prefix=erasures/`);
    expect(names.status).to.equal(403);
  });

  it('are deleted with all versions 400 days after the end of their day', async () => {
    const [storage, bucket] = [await testObjectStore(), await testBucket()];
    const [early, old, young] = [10, 11, 12].map((day) => `erasures/1975-06-${day}/club-${newId()}`);
    for (const key of [early, old, young] as string[]) await bucket.store(key, Buffer.alloc(0));
    const now = new Date(Date.parse('1975-06-12T08:00:00Z') + markerRules.keptMs);
    expect(await removeOldMarkers(storage, now)).to.deep.equal({ rows: { erasureMarkersRemoved: 2 }, more: false });
    expect(await bucket.objects('erasures/1975')).to.deep.equal([young]);
    expect((await bucket.everyVersion()).filter((key) => key === early || key === old)).to.deep.equal([]);
    await storage.remove(young ?? '');
  });

  it('are deleted in rounds', async () => {
    const removed: string[] = [];
    const names = Array.from({ length: markerRules.removedARound + 1 }, (_, number) => `erasures/1975-01-01/${number}`);
    const storage = {
      async *list() {
        yield* names;
      },
      remove: async (key: string) => void removed.push(key),
    };
    const { rows, more } = await removeOldMarkers(storage, new Date());
    expect([rows.erasureMarkersRemoved, more, removed.length]).to.deep.equal([200, true, 200]);
  });
});
