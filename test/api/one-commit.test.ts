/**
 * Tests that a write request of a signed-in caller commits once, at its end. If the answer cannot be built, the change is rolled back (ADR
 * 69).
 */
import { expect } from 'chai';
import { buildClub, type TestClub } from '../toolkit/builders/clubs.ts';
import { buildMedia } from '../toolkit/builders/media.ts';
import { png } from '../toolkit/builders/pictures.ts';
import { call, callAt, expectError } from '../toolkit/drive/api.ts';
import { serveApp, type ServedApp } from '../toolkit/stack/app.ts';
import { testDatabase } from '../toolkit/stack/database.ts';

describe('a write with a session', () => {
  let club: TestClub;
  let coverId: string;
  let api: ServedApp;
  let seconds: string[];

  before('create a club with an image, and start an API that cannot sign addresses', async () => {
    club = await buildClub();
    coverId = (await buildMedia(club.id, { title: 'cover.png', mime: 'image/png', bytes: png(4, 4) })).id;
    seconds = [];
    api = await serveApp({
      deps: (usual) => ({
        ...usual,
        onSecondTransaction: (operationId) => void seconds.push(operationId),
        deps: {
          ...usual.deps,
          storage: { ...usual.deps.storage, signGet: () => Promise.reject(new Error('no address today')) },
        },
      }),
    });
  });
  after(() => api.close());

  const titles = async () => {
    const rows = await (
      await testDatabase()
    ).query<{ title: string }[]>(`SELECT title FROM courses WHERE club_id = $1`, [club.id]);
    return rows.map(({ title }) => title);
  };

  it('leaves no row if its answer cannot be built', async () => {
    const body = { title: 'Pottery', cover_media_id: coverId };
    const options = { token: club.owner.token, body };
    expectError(await callAt(api.base, 'POST', `/v1/clubs/${club.id}/courses`, options), 'internal_error');
    expect(await titles()).to.deep.equal([]);
    const again = await call('POST', `/v1/clubs/${club.id}/courses`, options);
    expect([again.status, await titles()]).to.deep.equal([201, ['Pottery']]);
  });

  it('is in the database when the caller receives the answer', async () => {
    const options = { token: club.owner.token, body: { title: 'Weaving' } };
    const answer = await callAt(api.base, 'POST', `/v1/clubs/${club.id}/courses`, options);
    expect([answer.status, (await titles()).includes('Weaving'), seconds]).to.deep.equal([201, true, []]);
  });

  it('commits once, even if 40 such calls share a pool of 20 connections', async () => {
    const calls = Array.from({ length: 40 }, (_, number) =>
      callAt(api.base, 'POST', `/v1/clubs/${club.id}/tags`, {
        token: club.owner.token,
        body: { name: `tag ${number}` },
      }),
    );
    expect((await Promise.all(calls)).map(({ status }) => status)).to.deep.equal(calls.map(() => 201));
  });
});
