/** Tests the iteration of lists (SDK-5): by page numbers over the real API, and by cursor over a server that gives cursors. */
import { expect } from 'chai';
import { createClient, itemsOf, pagesOf, type ClubLearningClient } from '../../sdk/src/index.ts';
import { buildApiKey } from '../toolkit/builders/api-keys.ts';
import { buildClub, buildStudent } from '../toolkit/builders/clubs.ts';
import { testApi } from '../toolkit/drive/api.ts';
import { startScriptedServer, type ScriptedServer } from '../toolkit/fakes/scripted-server.ts';

const collect = async <Item>(items: AsyncIterable<Item>): Promise<Item[]> => {
  const collected: Item[] = [];
  for await (const item of items) collected.push(item);
  return collected;
};

describe('iteration over a list with the SDK', () => {
  describe('from the real API', () => {
    let client: ClubLearningClient;
    let clubId: string;
    let ids: string[];
    before(async () => {
      const club = await buildClub();
      const { token } = await buildApiKey(club.id, ['students:read', 'tags:read']);
      client = createClient({ baseUrl: `http://127.0.0.1:${(await testApi()).port}`, token });
      clubId = club.id;
      ids = [];
      for (let count = 0; count < 5; count++) ids.unshift((await buildStudent(club.id)).id);
    });

    it('yields every record once, in the order of the list', async () => {
      const students = await collect(itemsOf(client.listStudents, { path: { clubId }, query: { page_size: 2 } }));
      expect(students.map(({ id }) => id)).to.deep.equal(ids);
    });

    it('yields pages, and sends the filters with each request', async () => {
      const query = { page_size: 2, verified: true };
      const pages = await collect(pagesOf(client.listStudents, { path: { clubId }, query }));
      expect(pages.map(({ data }) => data.length)).to.deep.equal([2, 2, 1]);
      const none = await collect(itemsOf(client.listStudents, { path: { clubId }, query: { verified: false } }));
      expect(none).to.deep.equal([]);
    });

    it('begins at the page of the caller', async () => {
      const students = await collect(
        itemsOf(client.listStudents, { path: { clubId }, query: { page: 2, page_size: 2 } }),
      );
      expect(students.map(({ id }) => id)).to.deep.equal(ids.slice(2));
    });
  });

  describe('from a server with cursors', () => {
    let server: ScriptedServer;
    let client: ClubLearningClient;
    const cursors: Readonly<Record<string, string | undefined>> = { '': 'c2', c2: 'c3', c3: undefined, loop: 'loop' };
    beforeEach(async () => {
      server = await startScriptedServer(({ url }) => {
        const cursor = new URL(url, 'http://a').searchParams.get('cursor') ?? '';
        const next = cursors[cursor];
        // More records are in the total than on the pages, because some were deleted between two requests.
        return { body: { data: [{ id: cursor }], total: 9, ...(next !== undefined && { next_cursor: next }) } };
      });
      client = createClient({ baseUrl: server.base });
    });
    afterEach(() => server.stop());
    const args = { path: { clubId: 'a' }, query: { page_size: 1, q: 'knot' } };
    const positions = () =>
      server.requests.map(({ url }) => {
        const query = new URL(url, 'http://a').searchParams;
        return [query.get('cursor'), query.get('page'), query.get('q')];
      });

    it('follows the cursors to the last page, and never sends a cursor with a page', async () => {
      expect((await collect(itemsOf(client.listStudents, args))).map(({ id }) => id)).to.deep.equal(['', 'c2', 'c3']);
      expect(positions()).to.deep.equal([
        [null, null, 'knot'],
        ['c2', null, 'knot'],
        ['c3', null, 'knot'],
      ]);
    });

    it('begins after the cursor of the caller', async () => {
      const query: { q: string; cursor: string } = { q: 'knot', cursor: 'c3' };
      expect(await collect(itemsOf(client.listStudents, { ...args, query }))).to.have.length(1);
      expect(positions()).to.deep.equal([['c3', null, 'knot']]);
    });

    it('sends no further request when the caller leaves the loop', async () => {
      for await (const student of itemsOf(client.listStudents, args)) if (student.id === 'c2') break;
      expect(server.requests).to.have.length(2);
    });

    it('throws if two pages have one cursor', async () => {
      const query: { q: string; cursor: string } = { q: 'knot', cursor: 'loop' };
      const failure = await collect(itemsOf(client.listStudents, { ...args, query })).catch(String);
      expect(failure).to.equal('Error: The list did not advance: two pages have the same cursor.');
    });
  });
});
