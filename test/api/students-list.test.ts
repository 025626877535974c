import { expect } from 'chai';
import { newId } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildClub, buildStudent, type TestClub } from '../toolkit/builders/clubs.ts';
import { call, expectError } from '../toolkit/drive/api.ts';

interface Listed {
  id: string;
  name: string;
  email: string;
  created_at: string;
}

describe('GET /v1/clubs/{clubId}/students', () => {
  const list = (club: TestClub, query: Record<string, string> = {}) =>
    call('GET', `/v1/clubs/${club.id}/students?${new URLSearchParams(query).toString()}`, { token: club.owner.token });
  const names = async (club: TestClub, query: Record<string, string>): Promise<string[]> => {
    const { body } = await list(club, query);
    expect(body.total).to.equal(body.data.length);
    return body.data.map(({ name }: Listed) => name).toSorted();
  };

  describe('200', () => {
    it('returns no data and total 0 for an empty club', async () => {
      const answer = await list(await buildClub());
      expect([answer.status, answer.body]).to.deep.equal([200, { data: [], total: 0 }]);
    });

    it('lists complete records of this club’s students, newest first, without removed students', async () => {
      const [club, other] = [await buildClub(), await buildClub()];
      await buildStudent(other.id);
      const removed = await buildStudent(club.id);
      await call('DELETE', `/v1/clubs/${club.id}/students/${removed.id}`, { token: club.owner.token });
      const older = await buildStudent(club.id, { createdAt: new Date('2026-01-01T10:00:00.123Z'), verified: false });
      const newer = await buildStudent(club.id, { createdAt: new Date('2026-01-02T10:00:00.000Z'), name: 'Nora' });
      const { body } = await list(club);
      const slug = body.data[0].club_slug;
      const common = { has_password: true, club_id: club.id, club_slug: slug };
      expect(body).to.deep.equal({
        data: [
          {
            id: newer.id,
            name: 'Nora',
            email: newer.email,
            verified: true,
            created_at: '2026-01-02T10:00:00.000Z',
            ...common,
          },
          {
            id: older.id,
            name: 'Stella Student',
            email: older.email,
            verified: false,
            created_at: '2026-01-01T10:00:00.123Z',
            ...common,
          },
        ],
        total: 2,
      });
    });

    it('filters by verified=true and verified=false', async () => {
      const club = await buildClub();
      await buildStudent(club.id, { name: 'Confirmed' });
      await buildStudent(club.id, { name: 'Unconfirmed', verified: false });
      expect(await names(club, { verified: 'true' })).to.deep.equal(['Confirmed']);
      expect(await names(club, { verified: 'false' })).to.deep.equal(['Unconfirmed']);
      expect(await names(club, {})).to.have.length(2);
    });
  });

  describe('q', () => {
    let club: TestClub;
    before(async () => {
      club = await buildClub();
      for (const name of ['Ada Lovelace', 'Bob 100% Sure', 'Carl_Gustav', 'Dora \\ Backslash', "Eve O'Neil", 'José']) {
        await buildStudent(club.id, { name });
      }
      await buildStudent(club.id, { name: 'By e-mail', email: `findable.${newId()}@elsewhere.example` });
    });

    it('finds any part of name and e-mail, in any letter case', async () => {
      expect(await names(club, { q: 'LOVE' })).to.deep.equal(['Ada Lovelace']);
      expect(await names(club, { q: 'a lov' })).to.deep.equal(['Ada Lovelace']);
      expect(await names(club, { q: 'FINDABLE' })).to.deep.equal(['By e-mail']);
      expect(await names(club, { q: '@elsewhere' })).to.deep.equal(['By e-mail']);
      expect(await names(club, { q: 'JOSÉ' })).to.deep.equal(['José']);
      expect(await names(club, { q: 'Jose\u0301' })).to.deep.equal(['José']);
      expect(await names(club, { q: ' ada   lovelace ' })).to.deep.equal(['Ada Lovelace']);
      expect(await names(club, { q: 'no such student' })).to.deep.equal([]);
    });

    it('reads %, _ and \\ literally', async () => {
      expect(await names(club, { q: '%' })).to.deep.equal(['Bob 100% Sure']);
      expect(await names(club, { q: '0% s' })).to.deep.equal(['Bob 100% Sure']);
      expect(await names(club, { q: 'l_g' })).to.deep.equal(['Carl_Gustav']);
      expect(await names(club, { q: 'l%g' })).to.deep.equal([]);
      expect(await names(club, { q: '\\' })).to.deep.equal(['Dora \\ Backslash']);
      expect(await names(club, { q: '\\%' })).to.deep.equal([]);
    });

    it('is taken literally, even if it contains quotes or SQL', async () => {
      expect(await names(club, { q: "O'Neil" })).to.deep.equal(["Eve O'Neil"]);
      expect(await names(club, { q: "' OR '1'='1" })).to.deep.equal([]);
      expect(await names(club, { q: '$1' })).to.deep.equal([]);
    });

    it('finds all students if q is empty, and can be combined with verified', async () => {
      expect(await names(club, { q: '' })).to.have.length(7);
      expect(await names(club, { q: 'Ada', verified: 'false' })).to.deep.equal([]);
    });

    it('is refused with 422 if it has more than 120 characters', async () => {
      expect((await list(club, { q: 'x'.repeat(120) })).status).to.equal(200);
      expectError(await list(club, { q: 'x'.repeat(121) }), 'invalid_request');
    });
  });

  describe('page and page_size', () => {
    let club: TestClub;
    before(async () => {
      club = await buildClub();
      const createdAt = new Date('2026-01-01T00:00:00Z');
      // All students have the same creation time, so the order needs a second key.
      await Promise.all(
        Array.from({ length: 25 }, (_, index) => buildStudent(club.id, { name: `${index}`, createdAt })),
      );
    });

    it('default to page 1 with 20 records', async () => {
      const [first, defaults] = [await list(club, { page: '1', page_size: '20' }), await list(club)];
      expect(defaults.body).to.deep.equal(first.body);
      expect(defaults.body.data).to.have.length(20);
      expect(defaults.body.total).to.equal(25);
    });

    it('return each record on exactly one page, in a fixed order, and the same total on every page', async () => {
      const pages = [];
      for (const page of ['1', '2', '3', '4']) pages.push(await list(club, { page, page_size: '10' }));
      expect(pages.map(({ body }) => body.data.length)).to.deep.equal([10, 10, 5, 0]);
      expect(new Set(pages.map(({ body }) => body.total))).to.deep.equal(new Set([25]));
      const all = await list(club, { page_size: '100' });
      expect(pages.flatMap(({ body }) => body.data)).to.deep.equal(all.body.data);
      expect(new Set(all.body.data.map(({ id }: Listed) => id)).size).to.equal(25);
    });

    it('accept a page_size of 1 to 100 and a page of at least 1', async () => {
      for (const query of [{ page_size: '1' }, { page_size: '100' }, { page: '1' }, { page: '2147483647' }]) {
        expect((await list(club, query)).status, JSON.stringify(query)).to.equal(200);
      }
      await eachCase(
        [{ page_size: '0' }, { page_size: '101' }, { page: '0' }, { page: '-1' }, { page: '2147483648' }],
        async (query) => expectError(await list(club, query), 'invalid_request'),
      );
    });

    it('cause 422 or an empty page if the page number is huge', async () => {
      await eachCase(['9007199254740993', '9'.repeat(30), '9'.repeat(400)], async (page) =>
        expectError(await list(club, { page }), 'invalid_request'),
      );
      const last = await list(club, { page: '2147483647', page_size: '100' });
      expect(last.body).to.deep.equal({ data: [], total: 25 });
    });
  });
});
