import { expect } from 'chai';
import { readerVersion } from '../../../../domain/knowledge/indexing/indexing.policy.ts';
import { readOldSourcesAgain } from '../../../../domain/knowledge/indexing/reading-again.ts';
import { workflowIdOf } from '../../../../platform/engine/workflow-types.ts';
import type { Id } from '../../../../platform/core/ids.ts';
import { textsOf } from '../../../toolkit/assert/sources.ts';
import { buildClub } from '../../../toolkit/builders/clubs.ts';
import { buildSource } from '../../../toolkit/builders/sources.ts';
import { testDatabase, testDeps } from '../../../toolkit/stack/database.ts';

describe('reading of old sources again', () => {
  const now = new Date('2027-03-01T12:00:00Z');
  const again = async (version?: number) =>
    readOldSourcesAgain((await testDeps()).db, now, { readsScans: false, ...(version !== undefined && { version }) });
  const rowsOf = async (clubId: Id) =>
    (await testDatabase()).query<{ id: Id; status: string; due: boolean }[]>(
      `SELECT id, status, looks_at IS NOT NULL AS due FROM agent_sources WHERE club_id = $1 ORDER BY id`,
      [clubId],
    );
  const settle = async () => {
    await (
      await testDatabase()
    ).query(
      `UPDATE agent_sources SET looks_at = NULL, ocr_due_at = NULL, status = 'ready', error_code = NULL, reader_version = 1000000 WHERE removed_at IS NULL`,
    );
  };
  beforeEach(settle);
  after(settle);

  async function oldSources(count: number): Promise<{ clubId: Id; ids: Id[] }> {
    const { id: clubId } = await buildClub();
    const ids: Id[] = [];
    for (let at = 0; at < count; at++) ids.push((await buildSource(clubId, { passages: ['A bowline.'] })).id);
    await (
      await testDatabase()
    ).query(`UPDATE agent_sources SET reader_version = $2 WHERE club_id = $1`, [clubId, readerVersion - 1]);
    return { clubId, ids: ids.toSorted() };
  }

  it('makes sources pending with bulk priority, and keeps their old passages', async () => {
    const { clubId, ids } = await oldSources(2);
    expect(await again()).to.equal(2);
    expect(await rowsOf(clubId)).to.deep.equal(ids.map((id) => ({ id, status: 'pending', due: true })));
    expect(await textsOf({ id: ids[0] ?? '' })).to.deep.equal(['A bowline.']);
    const wakes = await (
      await testDatabase()
    ).query<object[]>(`SELECT workflow_id, priority FROM wakes WHERE club_id = $1 ORDER BY 1`, [clubId]);
    expect(wakes).to.deep.equal(ids.map((id) => ({ workflow_id: workflowIdOf('sourceIndex', id), priority: 2 })));
    expect(await again()).to.equal(0);
  });

  it('does not change sources that the current readers have read', async () => {
    const { id: clubId } = await buildClub();
    const { id } = await buildSource(clubId);
    expect(await again()).to.equal(0);
    expect(await rowsOf(clubId)).to.deep.equal([{ id, status: 'ready', due: false }]);
  });

  describe('sources that wait for OCR', () => {
    const withOcr = async () => readOldSourcesAgain((await testDeps()).db, now, { readsScans: true });
    const waiting = async (dueAt: string) => {
      const { id: clubId } = await buildClub();
      const { id } = await buildSource(clubId, { passages: ['A bowline.'] });
      await (await testDatabase()).query(`UPDATE agent_sources SET ocr_due_at = $2 WHERE id = $1`, [id, dueAt]);
      return { clubId, id };
    };

    it('become pending when OCR is due, if the deployment has OCR', async () => {
      const { clubId, id } = await waiting('2027-03-01T11:59:00Z');
      expect([await again(), await withOcr()]).to.deep.equal([0, 1]);
      expect(await rowsOf(clubId)).to.deep.equal([{ id, status: 'pending', due: true }]);
      const wakes = await (
        await testDatabase()
      ).query<object[]>(`SELECT workflow_id, priority FROM wakes WHERE club_id = $1`, [clubId]);
      expect(wakes).to.deep.equal([{ workflow_id: workflowIdOf('sourceIndex', id), priority: 2 }]);
      expect(await withOcr(), 'once').to.equal(0);
    });

    it('stay unchanged until their next try is due', async () => {
      await waiting('2027-03-01T12:00:01Z');
      expect(await withOcr()).to.equal(0);
    });

    it('become pending up to a total of a hundred sources', async () => {
      await oldSources(70);
      for (let at = 0; at < 40; at++) await waiting('2027-03-01T11:59:00Z');
      expect(await withOcr()).to.equal(100);
    });
  });

  it('makes one club’s sources after another pending, until 100 are waiting', async () => {
    const [one, two] = [await oldSources(70), await oldSources(70)];
    const { id: waiting } = await buildClub();
    for (let at = 0; at < 10; at++) await buildSource(waiting, { status: 'pending' });
    expect(await again()).to.equal(90);
    const [first, second] = one.clubId < two.clubId ? [one, two] : [two, one];
    const dueOf = async (clubId: Id) => (await rowsOf(clubId)).filter(({ due }) => due).length;
    expect([await dueOf(first.clubId), await dueOf(second.clubId)]).to.deep.equal([70, 20]);
    expect(await again()).to.equal(0);
  });
});
