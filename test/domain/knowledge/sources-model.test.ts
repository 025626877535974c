/** Compares the club's index with a model after random acts. */
import { expect } from 'chai';
import * as fc from 'fast-check';
import { IsNull, Not } from 'typeorm';
import { AgentSource } from '../../../entities/knowledge/agent-source.ts';
import { syncSources } from '../../../domain/knowledge/sources.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { workflowIdOf } from '../../../platform/engine/workflow-types.ts';
import { indexedSourcesOf } from '../../toolkit/assert/sources.ts';
import { wakesBy } from '../../toolkit/assert/wakes.ts';
import { anyAct, openIndexedClub, perform, SourceIndexModel, type Act } from '../../toolkit/model/source-index.ts';
import { testDeps } from '../../toolkit/stack/database.ts';

/** So that many acts concern material. */
const firstLessons = [0, 1, 0].map((course): Act => ({ kind: 'create', details: { course, published: true } }));
const lengths = { minLength: 4, maxLength: 20, size: 'max' } as const;

/** These sources have left the index, and their runs will delete the rows. */
async function leftOf(clubId: Id): Promise<Id[]> {
  const { db } = await testDeps();
  const removedSources = await db.manager.find(AgentSource, { where: { clubId, removedAt: Not(IsNull()) } });
  return removedSources.map(({ id }) => id);
}

describe('the index of a club', () => {
  it('contains the required sources after any changes', async function () {
    this.timeout(180_000);
    const { db } = await testDeps();
    await fc.assert(
      fc.asyncProperty(fc.array(anyAct, lengths), async (acts) => {
        const club = await openIndexedClub();
        const { clubId } = club;
        const model = new SourceIndexModel(club);
        for (const act of [...firstLessons, ...acts]) {
          let changed: Id[] = [];
          const leftBefore = await leftOf(clubId);
          const woken = await wakesBy(clubId, async () => {
            changed = await perform(act, club, model);
          });
          const newlyRemoved = (await leftOf(clubId)).filter((id) => !leftBefore.includes(id));
          const toRead = model.settle(changed);
          const index = await indexedSourcesOf(clubId);
          const sources = index.map((one) => [one.itemId, one.title, one.wantedVersion, one.status]);
          const expectedSources = [...model.index].toSorted(([a], [b]) => (a < b ? -1 : 1));
          expect(sources, JSON.stringify(act)).to.deep.equal(
            expectedSources.map(([id, { title, version }]) => [id, title, version, 'pending']),
          );
          const due = index.filter(({ itemId }) => toRead.includes(itemId));
          expect(woken, JSON.stringify(act)).to.deep.equal(
            [...due.map(({ id }) => id), ...newlyRemoved].map((id) => workflowIdOf('sourceIndex', id)).toSorted(),
          );
        }
        const before = await indexedSourcesOf(clubId);
        const again = await wakesBy(clubId, () =>
          db.transaction((tx) => syncSources(tx, clubId, { wholeClub: true }, new Date())),
        );
        expect(again).to.deep.equal([]);
        expect(await indexedSourcesOf(clubId)).to.deep.equal(before);
      }),
      { numRuns: Number(process.env.SOURCES_MODEL_SEQUENCES ?? 40) },
    );
  });
});
