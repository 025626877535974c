/** Tests that `setUses` replaces all uses of a record. */
import { expect } from 'chai';
import { removeMedia } from '../../../../domain/media/erasure/erasure.ts';
import { setUses } from '../../../../domain/media/uses/uses.ts';
import { DomainError } from '../../../../platform/core/errors.ts';
import { newId, type Id } from '../../../../platform/core/ids.ts';
import { sql } from '../../../../platform/infra/postgres/sql.ts';
import { eachCase } from '../../../toolkit/assert/each-case.ts';
import { buildAgent } from '../../../toolkit/builders/agents.ts';
import { buildClub, buildStudent, type TestClub } from '../../../toolkit/builders/clubs.ts';
import { buildMedia } from '../../../toolkit/builders/media.ts';
import { mediaDeps } from '../../../toolkit/drive/media.ts';
import { untilWaitingForLocks, withOpenTransaction } from '../../../toolkit/drive/races.ts';
import { testDatabase, testDeps } from '../../../toolkit/stack/database.ts';

const codeOf = (error: unknown) => (error instanceof DomainError ? error.code : error);

describe('setUses (MED-14)', () => {
  let club: TestClub;
  let place: { kind: 'lesson'; id: Id };
  beforeEach(async () => {
    club = await buildClub();
    place = { kind: 'lesson', id: newId() };
  });

  const set = async (mediaIds: readonly Id[], mayBeGone?: readonly Id[]) =>
    (await testDeps()).db
      .transaction((tx) => setUses(tx, club.id, place, mediaIds, { ...(mayBeGone && { mayBeGone }) }))
      .then(() => 'set', codeOf);
  const used = async () =>
    (
      await (
        await testDatabase()
      ).query<{ id: Id }[]>(
        `SELECT media_id AS id FROM media_uses WHERE kind = $1 AND place_id = $2 ORDER BY media_id`,
        [place.kind, place.id],
      )
    ).map(({ id }) => id);
  const archive = async (id: Id) =>
    (await testDatabase()).query(`UPDATE media SET archived = true WHERE id = $1`, [id]);

  it('replaces all files of a record, for any order, letter case and repetition', async () => {
    const [one, two, three] = [
      (await buildMedia(club.id)).id,
      (await buildMedia(club.id)).id,
      (await buildMedia(club.id)).id,
    ];
    expect(await set([two, one.toUpperCase(), one])).to.equal('set');
    expect(await used()).to.deep.equal([one, two]);
    expect(await set([three, two])).to.equal('set');
    expect(await used()).to.deep.equal([two, three]);
    expect(await set([])).to.equal('set');
    expect(await used()).to.deep.equal([]);
  });

  it('answers not_found for files outside the library', async () => {
    const { id } = await buildMedia(club.id);
    await set([id]);
    const removed = (await buildMedia(club.id)).id;
    await removeMedia(await mediaDeps(), club.id, removed, new Date());
    const foreign = (await buildMedia((await buildClub()).id)).id;
    const image = (await buildMedia(club.id, { studentId: (await buildStudent(club.id)).id })).id;
    await eachCase([newId(), removed, foreign, image], async (stranger) => {
      expect(await set([stranger])).to.equal('not_found');
      expect(await used()).to.deep.equal([id]);
      expect(await set([stranger], [stranger.toUpperCase()])).to.equal('set');
      expect(await used()).to.deep.equal([]);
      await set([id]);
    });
  });

  it('refuses a new use of an archived file with media_archived', async () => {
    const { id } = await buildMedia(club.id);
    await set([id]);
    await archive(id);
    expect(await set([id])).to.equal('set');
    expect(await used()).to.deep.equal([id]);
    await set([]);
    expect(await set([id])).to.equal('media_archived');
    expect(await set([id], [id])).to.equal('media_archived');
    expect(await used()).to.deep.equal([]);
  });

  it('makes a simultaneous deletion wait, and then refuses it', async () => {
    const { id } = await buildMedia(club.id);
    const deps = await mediaDeps();
    const agent = await buildAgent(club.id);
    let deletion: Promise<unknown> = Promise.resolve();
    await withOpenTransaction(
      (tx) => setUses(tx, club.id, { kind: 'agent', id: agent.id }, [id]),
      async () => {
        deletion = removeMedia(deps, club.id, id, new Date()).then(() => 'removed', codeOf);
        await untilWaitingForLocks(1);
      },
    );
    expect(await deletion).to.equal('in_use');
  });

  it('makes a simultaneous use wait for the deletion, and then finds no file', async () => {
    const { id } = await buildMedia(club.id);
    let use: Promise<unknown> = Promise.resolve();
    await withOpenTransaction(
      async (tx) => {
        await tx.run(sql`SELECT FROM media WHERE id = ${id} FOR UPDATE`);
        await tx.run(sql`UPDATE media SET removed_at = ${new Date()} WHERE id = ${id}`);
      },
      async () => {
        use = set([id]);
        await untilWaitingForLocks(1);
      },
    );
    expect(await use).to.equal('not_found');
    expect(await used()).to.deep.equal([]);
  });
});
