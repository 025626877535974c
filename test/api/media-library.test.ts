/** Tests how administrators list, search, edit and sort files of the library, and add references to external content. */
import { expect } from 'chai';
import fc from 'fast-check';
import type { RecordOf } from '../../contract/contract.ts';
import { rollUpListTallies } from '../../platform/infra/postgres/lists/counts.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildAgent, buildMaterial } from '../toolkit/builders/agents.ts';
import { buildClub, buildMember, buildStudent, type TestClub } from '../toolkit/builders/clubs.ts';
import { buildMedia } from '../toolkit/builders/media.ts';
import { call, expectError, type Answer } from '../toolkit/drive/api.ts';
import { libraryPath, type MediaRecord } from '../toolkit/drive/media.ts';
import { inThisOrder } from '../toolkit/drive/races.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { rowCounts, testDatabase, testDeps } from '../toolkit/stack/database.ts';

type Folder = RecordOf<'MediaFolder'>;

describe('the media library', () => {
  let club: TestClub;
  beforeEach(async () => {
    club = await buildClub();
  });

  const send = (method: string, path: string[], body?: object, token = club.owner.token) =>
    call(method, libraryPath(club, ...path), { token, ...(body && { body }) });
  const list = async (query = '', token = club.owner.token): Promise<{ data: MediaRecord[]; total: number }> =>
    (await call('GET', `${libraryPath(club)}${query}`, { token })).body;
  const titles = async (query = '', token?: string) => {
    const { data, total } = await list(query, token);
    return [data.map(({ title }) => title).toSorted(), total];
  };
  const edit = (id: Id, change: object, token?: string) => send('PATCH', [id], change, token);
  const makeFolder = async (name: string, parent?: Id): Promise<Id> => {
    const answer = await send('POST', ['folders'], { name, ...(parent !== undefined && { parent_id: parent }) });
    if (answer.status !== 201) throw new Error(answer.text);
    return answer.body.data.id;
  };
  const refer = (body: object) =>
    send('POST', ['references'], { provider: 'external', external_id: 'https://knots.org/', title: 'Knots', ...body });

  /** Creates one file of each screen type (MED-4). */
  async function buildTypes() {
    const source = await testDatabase();
    const types = { video: ['video', 'video/mp4'], image: ['image', 'image/png'], audio: ['audio', 'audio/mpeg'] };
    for (const [title, [kind, mime]] of Object.entries(types)) {
      const { id } = await buildMedia(club.id, { title });
      await source.query(`UPDATE media SET kind = $2, mime = $3 WHERE id = $1`, [id, kind, mime]);
    }
    const pdf = await buildMedia(club.id, { title: 'pdf' });
    await source.query(`UPDATE media SET mime = 'application/pdf' WHERE id = $1`, [pdf.id]);
    const named = await buildMedia(club.id, { title: 'pdf by its extension' });
    await source.query(`UPDATE media SET mime = 'application/octet-stream', file_name = 'A.PDF' WHERE id = $1`, [
      named.id,
    ]);
    await buildMedia(club.id, { title: 'file' });
    await refer({ title: 'embed' });
    await refer({ title: 'protected', provider: 'protectedvideo', external_id: 'abc' });
  }

  describe('GET /v1/clubs/{clubId}/media', () => {
    it('filters files by screen type (MED-4)', async () => {
      await buildTypes();
      expect(await titles('?types=video')).to.deep.equal([['protected', 'video'], 2]);
      expect(await titles('?types=image,audio')).to.deep.equal([['audio', 'image'], 2]);
      expect(await titles('?types=pdf')).to.deep.equal([['pdf', 'pdf by its extension'], 2]);
      expect(await titles('?types=file,embed')).to.deep.equal([['embed', 'file'], 2]);
      expect((await list()).total).to.equal(8);
      const { data } = await list('?types=embed');
      expect(data.map(({ type }) => type)).to.deep.equal(['embed']);
      await eachCase(['?types=', '?types=music', '?types=pdf,pdf', '?types=pdf&types=file'], async (query) =>
        expect([400, 422]).to.include(
          (await call('GET', `${libraryPath(club)}${query}`, { token: club.owner.token })).status,
        ),
      );
    });

    it('lists files of several types newest first, and pages neither repeat nor miss a file', async () => {
      await buildTypes();
      const all = (await list('?page_size=100')).data.map(({ id }) => id);
      const paged: Id[] = [];
      for (let page = 1; page <= 3; page++)
        paged.push(
          ...(await list(`?page=${page}&page_size=3&types=pdf,file,video,image,audio,embed`)).data.map(({ id }) => id),
        );
      expect(paged).to.deep.equal(all);
      expect(all).to.deep.equal(all.toSorted().toReversed());
    });

    it('lists only the files of a given folder, or, with `top`, only the files without a folder', async () => {
      const outer = await makeFolder('Outer');
      const inner = await makeFolder('Inner', outer);
      for (const [title, folder] of [
        ['a', outer],
        ['b', inner],
        ['c', undefined],
      ] as const) {
        const { id } = await buildMedia(club.id, { title });
        if (folder) expect((await edit(id, { folder_id: folder })).body.data.folder_id).to.equal(folder);
      }
      expect(await titles(`?folder_id=${outer}`)).to.deep.equal([['a'], 1]);
      expect(await titles(`?folder_id=${inner.toUpperCase()}&types=file`)).to.deep.equal([['b'], 1]);
      expect(await titles('?folder_id=top')).to.deep.equal([['c'], 1]);
      expect(await titles(`?folder_id=${newId()}`)).to.deep.equal([[], 0]);
      expect(await titles()).to.deep.equal([['a', 'b', 'c'], 3]);
    });

    it('lists archived files only on request, and can list only the caller’s favorites', async () => {
      const member = await buildMember(club.id, 'editor');
      const [one, two] = [await buildMedia(club.id, { title: 'one' }), await buildMedia(club.id, { title: 'two' })];
      expect((await edit(one.id, { archived: true })).body.data).to.include({ archived: true, favorite: false });
      expect((await edit(two.id, { favorite: true })).body.data).to.include({ archived: false, favorite: true });
      expect(await titles('?archived=true')).to.deep.equal([['one'], 1]);
      expect(await titles()).to.deep.equal([['two'], 1]);
      expect(await titles('?favorite=true')).to.deep.equal([['two'], 1]);
      expect(await titles('?favorite=false')).to.deep.equal([[], 0]);
      expect(await titles('?favorite=true', member.token)).to.deep.equal([[], 0]);
      expect(await titles('?favorite=false', member.token)).to.deep.equal([['two'], 1]);
      expect((await edit(two.id, { favorite: false })).body.data.favorite).to.equal(false);
      expect(await titles('?favorite=true')).to.deep.equal([[], 0]);
    });

    it('finds parts of titles and file names by q in any letter case, also with further filters', async () => {
      const folder = await makeFolder('Folder');
      const { id } = await buildMedia(club.id, { title: 'Nós de MARINHEIRO', bytes: 'x' });
      await buildMedia(club.id, { title: 'marinha' });
      await edit(id, { folder_id: folder });
      await (await testDatabase()).query(`UPDATE media SET file_name = '100%_off.txt' WHERE id = $1`, [id]);
      expect(await titles('?q=marinheiro')).to.deep.equal([['Nós de MARINHEIRO'], 1]);
      expect(await titles(`?q=${encodeURIComponent('nos de ｍａｒｉｎｈｅｉｒｏ')}`)).to.deep.equal([
        ['Nós de MARINHEIRO'],
        1,
      ]);
      expect(await titles('?q=%20MARI')).to.deep.equal([['Nós de MARINHEIRO', 'marinha'], 2]);
      expect(await titles('?q=0%25_O')).to.deep.equal([['Nós de MARINHEIRO'], 1]);
      expect(await titles(`?q=mari&folder_id=top`)).to.deep.equal([['marinha'], 1]);
      expect(await titles(`?q=mari&types=pdf`)).to.deep.equal([[], 0]);
      expect(await titles('?q=%20')).to.deep.equal([['Nós de MARINHEIRO', 'marinha'], 2]);
    });

    it('returns exact totals after any change, even before the stored tallies include the change', async () => {
      const { db } = await testDeps();
      const source = await testDatabase();
      const folders = [await makeFolder('a'), await makeFolder('b')];
      const acts: Record<string, string> = {
        come: `INSERT INTO media (id, club_id, purpose, kind, title, provider, status, created_at, updated_at)
          SELECT gen_random_uuid(), '${club.id}', 'library', (ARRAY['image','document','video'])[1 + n % 3], 't', 'objstore', 'uploading', now(), now() FROM generate_series(1, 5) AS n`,
        move: `UPDATE media SET folder_id = (ARRAY['${folders[0]}','${folders[1]}',NULL])[1 + floor(random() * 3)::int]::uuid`,
        archive: `UPDATE media SET archived = random() < 0.5`,
        settle: `UPDATE media SET mime = 'application/pdf', kind = 'document'`,
        remove: `UPDATE media SET removed_at = now(), folder_id = NULL`,
        vanish: `DELETE FROM media`,
      };
      const queries = [
        '',
        '&archived=true',
        `&folder_id=${folders[0]}`,
        '&folder_id=top',
        '&types=pdf',
        '&types=image,video&archived=true',
      ];
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.tuple(fc.constantFrom(...Object.keys(acts)), fc.integer({ min: 0, max: 9 }), fc.boolean()), {
            minLength: 3,
            maxLength: 8,
          }),
          async (steps) => {
            for (const [act, digit, folds] of [['come', 0, false] as const, ...steps]) {
              const part =
                act === 'come'
                  ? ''
                  : ` WHERE club_id = '${club.id}' AND right(id::text, 1) >= '${digit}' AND right(id::text, 1) <= '${digit + 3}'`;
              await source.query(`${acts[act]}${part}`);
              if (folds) await rollUpListTallies(db, 1_000);
            }
            for (const query of queries) {
              const { data, total } = await list(`?page_size=100${query}`);
              expect(total, query).to.equal(data.length);
            }
          },
        ),
        { numRuns: 6 },
      );
    });
  });

  describe('PATCH /v1/clubs/{clubId}/media/{mediaId}', () => {
    it('changes the given fields, and also returns favorite and usage_count (MED-11)', async () => {
      const folder = await makeFolder('Folder');
      const { id } = await buildMedia(club.id, { title: 'Old' });
      const agent = await buildAgent(club.id);
      await buildMaterial(agent.id, { mediaId: id });
      const answer = await edit(id, { title: ' New  title ', folder_id: folder });
      expect(answer.body.data).to.include({
        title: 'New title',
        folder_id: folder,
        favorite: false,
        usage_count: 1,
        archived: false,
      });
      expect((await edit(id, { archived: true })).body.data).to.include({ title: 'New title', folder_id: folder });
      expect((await edit(id, { folder_id: 'top' })).body.data).not.to.have.any.keys('folder_id');
      const read = await send('GET', [id]);
      expect(read.body.data).to.include({ title: 'New title', archived: true, usage_count: 1, favorite: false });
    });

    it('removes an archived file from the agents’ index until it is unarchived, and indexes a new title', async () => {
      const source = await testDatabase();
      const { id } = await buildMedia(club.id, { title: 'Old' });
      const agent = await buildAgent(club.id);
      const give = () =>
        call('PUT', `/v1/clubs/${club.id}/agents/${agent.id}/material`, {
          token: club.owner.token,
          body: { course_ids: [], lesson_ids: [], media_ids: [id] },
        });
      expect((await give()).status).to.equal(200);
      const indexed = () => source.query<object[]>(`SELECT title FROM agent_sources WHERE media_id = $1`, [id]);
      await edit(id, { title: 'New' });
      expect(await indexed()).to.deep.equal([{ title: 'New' }]);
      await edit(id, { archived: true });
      expect(await indexed()).to.deep.equal([]);
      expect((await give()).status).to.equal(200); // the archived file stays in the agent's material
      expectError(
        await call('PUT', `/v1/clubs/${club.id}/agents/${(await buildAgent(club.id)).id}/material`, {
          token: club.owner.token,
          body: { course_ids: [], lesson_ids: [], media_ids: [id] },
        }),
        'media_archived',
      );
      await edit(id, { archived: false });
      expect(await indexed()).to.deep.equal([{ title: 'New' }]);
    });

    it('returns 404 if file or folder belong to another club, and 422 for an invalid title or folder', async () => {
      const { id } = await buildMedia(club.id);
      const student = await buildStudent(club.id);
      const image = await buildMedia(club.id, { studentId: student.id });
      const stranger = await buildClub();
      const foreign = await buildMedia(stranger.id);
      const foreignFolder = (
        await call('POST', libraryPath(stranger, 'folders'), { token: stranger.owner.token, body: { name: 'x' } })
      ).body.data.id;
      const before = await send('GET', [id]);
      await eachCase([newId(), image.id, foreign.id], async (unknown) =>
        expectError(await edit(unknown, { title: 'x' }), 'not_found'),
      );
      await eachCase([newId(), foreignFolder], async (folder) =>
        expectError(await edit(id, { title: 'x', folder_id: folder, favorite: true }), 'not_found'),
      );
      await eachCase(
        [{ title: ' \n' }, { title: 'x'.repeat(256) }, { folder_id: 'bottom' }, { folder_id: '' }],
        async (body) => expectError(await edit(id, body), 'invalid_request'),
      );
      await eachCase([{ visibility: 'public' }, { title: null }], async (body) =>
        expectError(await edit(id, body), 'malformed_request'),
      );
      expectError(await edit(id, {}), 'invalid_request');
      expect((await send('GET', [id])).body).to.deep.equal(before.body);
    });
  });

  describe('POST /v1/clubs/{clubId}/media/references', () => {
    it('creates a ready reference with the id from the address, without bytes or download_url (MED-9)', async () => {
      const folder = await makeFolder('Folder');
      const answer = await refer({
        provider: 'videosite1',
        external_id: 'https://youtu.be/dQw4w9WgXcQ?t=1',
        title: ' The  bowline ',
        folder_id: folder,
      });
      expect(answer.status).to.equal(201);
      const { id, created_at: createdAt, ...reference } = answer.body.data;
      expect(reference).to.deep.equal({
        kind: 'video',
        title: 'The bowline',
        provider: 'videosite1',
        status: 'ready',
        visibility: 'private',
        archived: false,
        external_id: 'dQw4w9WgXcQ',
        folder_id: folder,
        type: 'embed',
        favorite: false,
        usage_count: 0,
      });
      expect((await send('GET', [id])).body.data).to.deep.equal(answer.body.data);
      expect(createdAt).to.be.a('string');
      expect((await refer({ kind: 'audio' })).body.data).to.include({ kind: 'audio', type: 'embed' });
      expect((await refer({})).body.data).to.include({ kind: 'document', external_id: 'https://knots.org/' });
    });

    it('returns 422, 400 or 404 for a bad reference, and writes nothing', async () => {
      const before = await rowCounts();
      await eachCase(
        [
          { external_id: 'javascript:alert(1)' },
          { external_id: 'https://10.0.0.1/' },
          { provider: 'videosite1', external_id: 'https://evil.org/watch?v=dQw4w9WgXcQ' },
          { provider: 'videosite2', external_id: 'knots' },
          { provider: 'objstore' },
          { title: ' ' },
          { external_id: '' },
          { external_id: 'x'.repeat(2_049) },
        ],
        async (body) => expectError(await refer(body), 'invalid_request'),
      );
      await eachCase([{ title: undefined }, { visibility: 'public' }, { external_id: 3 }], async (body) =>
        expectError(await refer(body), 'malformed_request'),
      );
      expectError(await refer({ folder_id: newId() }), 'not_found');
      expect(await rowCounts()).to.deep.equal(before);
    });

    it('creates a reference that agents cannot use as a source and that needs no storage', async () => {
      const { id } = (await refer({})).body.data;
      const agent = await buildAgent(club.id);
      await call('PUT', `/v1/clubs/${club.id}/agents/${agent.id}/material`, {
        token: club.owner.token,
        body: { course_ids: [], lesson_ids: [], media_ids: [id] },
      });
      const source = await testDatabase();
      expect(await source.query(`SELECT FROM agent_sources WHERE club_id = $1`, [club.id])).to.deep.equal([]);
      expect((await send('GET', ['storage'])).body).to.include({ bytes: 0, files: 0 });
    });
  });

  it('serves the preview and the download of an SVG as attachments under the file’s name', async () => {
    const { id } = await buildMedia(club.id, { title: 'Nó.svg', bytes: '<svg xmlns="http://www.w3.org/2000/svg"/>' });
    await (await testDatabase()).query(`UPDATE media SET kind = 'image', mime = 'image/svg+xml' WHERE id = $1`, [id]);
    const { preview_url: preview, download_url: download } = (await send('GET', [id])).body.data;
    for (const url of [preview, download]) {
      const { headers } = await fetch(url);
      expect(headers.get('content-type')).to.equal('image/svg+xml');
      expect(headers.get('content-disposition')).to.equal(
        `attachment; filename="N_.svg"; filename*=UTF-8''N%C3%B3.svg`,
      );
    }
  });

  describe('folders of the library (MED-15)', () => {
    const move = (id: Id, parent: Id | null) => send('PATCH', ['folders', id], { parent_id: parent ?? 'top' });
    const all = async (): Promise<Folder[]> => (await send('GET', ['folders'])).body.data;

    it('are created, renamed, moved, listed by name and deleted', async () => {
      const outer = await makeFolder(' Week  1 ');
      const inner = await makeFolder('Handouts', outer);
      expect((await all()).map(({ name, parent_id: parent }) => [name, parent])).to.deep.equal([
        ['Handouts', outer],
        ['Week 1', undefined],
      ]);
      expect((await send('PATCH', ['folders', inner], { name: 'Zoo' })).body.data).to.include({
        name: 'Zoo',
        parent_id: outer,
      });
      expect((await move(inner, null)).body.data).not.to.have.any.keys('parent_id');
      expect((await all()).map(({ name }) => name)).to.deep.equal(['Week 1', 'Zoo']);
      expect((await send('DELETE', ['folders', outer])).status).to.equal(204);
      expectError(await send('DELETE', ['folders', outer]), 'not_found');
      expectError(await send('PATCH', ['folders', outer], { name: 'x' }), 'not_found');
    });

    it('have unique names within a folder in any letter case (409 name_taken)', async () => {
      const outer = await makeFolder('A');
      const inner = await makeFolder('a', outer);
      expectError(await send('POST', ['folders'], { name: ' a ' }), 'name_taken');
      expectError(await send('POST', ['folders'], { name: 'A', parent_id: outer }), 'name_taken');
      expectError(await move(inner, null), 'name_taken');
      const other = await buildClub();
      const answer = await call('POST', libraryPath(other, 'folders'), {
        token: other.owner.token,
        body: { name: 'A' },
      });
      expect(answer.status).to.equal(201);
      expectError(await send('POST', ['folders'], { name: 'B', parent_id: answer.body.data.id }), 'not_found');
      expectError(await move(inner, answer.body.data.id), 'not_found');
      expectError(await send('POST', ['folders'], { name: ' ' }), 'invalid_request');
      expectError(await send('POST', ['folders'], { name: 'x'.repeat(121) }), 'invalid_request');
    });

    it('cannot be deleted (409 folder_not_empty) while they contain a folder or a file, even an archived one', async () => {
      const outer = await makeFolder('A');
      const inner = await makeFolder('B', outer);
      expectError(await send('DELETE', ['folders', outer]), 'folder_not_empty');
      const { id } = await buildMedia(club.id);
      await edit(id, { folder_id: inner, archived: true });
      expectError(await send('DELETE', ['folders', inner]), 'folder_not_empty');
      expect((await send('DELETE', [id])).status).to.equal(204);
      expect((await send('DELETE', ['folders', inner])).status).to.equal(204);
      expect((await send('DELETE', ['folders', outer])).status).to.equal(204);
    });

    it('return 409 folder_too_deep if a creation or a move would add an eleventh level', async () => {
      const chain = async (levels: number, under?: Id) => {
        const folders: Id[] = [];
        for (let level = 1; level <= levels; level += 1)
          folders.push(await makeFolder(`level ${level}`, folders.at(-1) ?? under));
        return folders;
      };
      const ten = await chain(10);
      expectError(await send('POST', ['folders'], { name: 'eleventh', parent_id: ten[9] }), 'folder_too_deep');
      const [topOfThree = ''] = await chain(3, await makeFolder('three'));
      expectError(await move(topOfThree, ten[7] ?? ''), 'folder_too_deep');
      expect((await move(topOfThree, ten[6] ?? '')).status).to.equal(200);
    });

    it('refuse the later of two simultaneous moves that would form a cycle', async () => {
      const [one, two] = [await makeFolder('one'), await makeFolder('two')];
      const lock = sql`SELECT pg_advisory_xact_lock(hashtextextended('media folders ' || ${club.id}::text, 0))`;
      const [first, second] = await inThisOrder(
        lock,
        () => move(one, two),
        () => move(two, one),
      );
      expect(first.status).to.equal(200);
      expectError(second, 'folder_cycle');
    });

    it('lose no file and cause no deadlock if a folder is deleted while files are moved into the folder', async () => {
      const folder = await makeFolder('A');
      const files = await Promise.all(Array.from({ length: 4 }, () => buildMedia(club.id)));
      const answers = await Promise.all([
        ...files.map(({ id }) => edit(id, { folder_id: folder, title: 'moved' })),
        send('DELETE', ['folders', folder]),
        send('PATCH', ['folders', folder], { name: 'B' }),
      ]);
      const isThere = (await all()).length === 1;
      for (const { status } of answers) expect(status).to.be.oneOf([200, 204, 404, 409]);
      expect((await list(`?folder_id=${folder}`)).total > 0).to.equal(isThere);
    });

    it('behave like a model: no cycle, at most ten levels, and no equal names in a folder', async () => {
      const step = fc.record({
        act: fc.constantFrom('create', 'create', 'create', 'move', 'move', 'rename', 'delete'),
        of: fc.nat(30),
        to: fc.option(fc.nat(30), { nil: null, freq: 6 }),
        name: fc.constantFrom('a', 'b', 'c', 'd'),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 15, maxLength: 30 }), async (steps) => {
          club = await buildClub();
          const model = new FolderModel();
          for (const { act, of, to, name } of steps) {
            const ids = [...model.folders.keys()];
            const id = ids[of % (ids.length || 1)];
            // Most steps choose the last folder as the parent, so that the tree becomes deep.
            const parent = to === null ? null : (ids[to > 12 ? ids.length - 1 : to % (ids.length || 1)] ?? null);
            if (act !== 'create' && id === undefined) continue;
            const answer = await perform(act, id ?? '', parent, name);
            const expected = model.outcomeOf(act, id ?? '', parent, name);
            expect(answer.status < 300 ? 'done' : answer.body.error.code, act).to.equal(expected);
            if (expected === 'done')
              model.apply(act, act === 'create' ? answer.body.data.id : (id ?? ''), parent, name);
          }
          const listed = (
            await call('GET', `${libraryPath(club, 'folders')}?page_size=100`, { token: club.owner.token })
          ).body;
          const listedFolders = (listed.data as Folder[]).map((one) => [
            one.id,
            { parent: one.parent_id ?? null, name: one.name },
          ]);
          expect(Object.fromEntries(listedFolders)).to.deep.equal(Object.fromEntries(model.folders));
        }),
        { numRuns: 4 },
      );
    });

    const perform = (act: string, id: Id, parent: Id | null, name: string): Promise<Answer> => {
      if (act === 'create') return send('POST', ['folders'], { name, ...(parent !== null && { parent_id: parent }) });
      if (act === 'move') return move(id, parent);
      return act === 'rename'
        ? send('PATCH', ['folders', id], { name: name.toUpperCase() })
        : send('DELETE', ['folders', id]);
    };
  });

  it('lets members with the role support read the library and its folders, but write nothing', async () => {
    const { token } = await buildMember(club.id, 'support');
    const { id } = await buildMedia(club.id);
    expect((await list('', token)).total).to.equal(1);
    expect((await send('GET', ['folders'], undefined, token)).status).to.equal(200);
    await eachCase(
      [
        await edit(id, { favorite: true }, token),
        await send('POST', ['folders'], { name: 'A' }, token),
        await send(
          'POST',
          ['references'],
          { provider: 'external', external_id: 'https://knots.org', title: 'x' },
          token,
        ),
      ],
      (answer) => expectError(answer, 'role_not_permitted'),
    );
  });
});

class FolderModel {
  readonly folders = new Map<Id, { parent: Id | null; name: string }>();

  #way(from: Id | null): Id[] {
    const way: Id[] = [];
    for (let at = from; at !== null; at = this.folders.get(at)?.parent ?? null) way.push(at);
    return way;
  }

  #height(id: Id): number {
    const below = [...this.folders].filter(([, { parent }]) => parent === id).map(([child]) => this.#height(child));
    return 1 + Math.max(0, ...below);
  }

  #isTaken(id: Id | undefined, parent: Id | null, name: string): boolean {
    return [...this.folders].some(
      ([other, one]) => other !== id && one.parent === parent && one.name.toLowerCase() === name.toLowerCase(),
    );
  }

  outcomeOf(act: string, id: Id, parent: Id | null, name: string): string {
    const own = this.folders.get(id);
    if (act === 'delete')
      return [...this.folders.values()].some((one) => one.parent === id) ? 'folder_not_empty' : 'done';
    if (act === 'rename') return this.#isTaken(id, own?.parent ?? null, name) ? 'name_taken' : 'done';
    if (act === 'move' && this.#way(parent).includes(id)) return 'folder_cycle';
    const height = act === 'move' ? this.#height(id) : 1;
    if (this.#way(parent).length + height > 10) return 'folder_too_deep';
    const moved = act === 'move' ? { id, name: own?.name ?? '' } : { id: undefined, name };
    return this.#isTaken(moved.id, parent, moved.name) ? 'name_taken' : 'done';
  }

  apply(act: string, id: Id, parent: Id | null, name: string): void {
    const own = this.folders.get(id);
    if (act === 'delete') this.folders.delete(id);
    else if (act === 'create') this.folders.set(id, { parent, name });
    else if (own && act === 'move') own.parent = parent;
    else if (own) own.name = name.toUpperCase();
  }
}
