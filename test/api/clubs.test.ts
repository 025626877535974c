import { expect } from 'chai';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { indexedSourcesOf } from '../toolkit/assert/sources.ts';
import { wakesBy } from '../toolkit/assert/wakes.ts';
import { buildAgent } from '../toolkit/builders/agents.ts';
import { buildClub, buildMember, type TestClub } from '../toolkit/builders/clubs.ts';
import { buildMedia } from '../toolkit/builders/media.ts';
import { expectError } from '../toolkit/drive/api.ts';
import { callsOf } from '../toolkit/drive/club-calls.ts';
import { rowCounts, testDatabase } from '../toolkit/stack/database.ts';

describe('clubs', () => {
  let club: TestClub;
  let write: ReturnType<typeof callsOf>;
  beforeEach(async () => {
    club = await buildClub();
    write = callsOf(club);
  });
  const read = async () => (await write('GET', '')).body.data;
  const change = (body: object) => write('PATCH', '', body);

  describe('GET /v1/clubs/{clubId}', () => {
    it('shows the complete record of a new club to every member', async () => {
      const { data } = (await write('GET', '')).body;
      expect(data).to.deep.equal({
        id: club.id,
        name: `Club ${club.owner.id}`,
        slug: data.slug,
        time_zone: 'UTC',
        language: 'en',
        created_at: data.created_at,
      });
      const support = callsOf(club, (await buildMember(club.id, 'support')).token);
      expect((await support('GET', '')).body.data).to.deep.equal(data);
    });
  });

  describe('PATCH /v1/clubs/{clubId}', () => {
    it('changes only the given fields, and does not change the slug', async () => {
      let data = await read();
      await eachCase(
        [
          { name: 'Harbour Club' },
          { time_zone: 'America/Sao_Paulo' },
          { time_zone: 'Asia/Kolkata' },
          { language: 'pt' },
        ],
        async (fields) => {
          const { status, body } = await change(fields);
          expect(status).to.equal(200);
          expect(body.data).to.deep.equal({ ...data, ...fields });
          expect(await read()).to.deep.equal(body.data);
          ({ data } = body);
        },
      );
      expect((await change({ name: '  Old   Pier ' })).body.data.name).to.equal('Old Pier');
    });

    it('changes no other club', async () => {
      const other = callsOf(await buildClub());
      const { data } = (await other('GET', '')).body;
      await change({ name: 'Harbour Club', time_zone: 'Europe/Lisbon', language: 'pt' });
      expect((await other('GET', '')).body.data).to.deep.equal(data);
    });

    it('indexes every source again after a change of the language, but not after a change of the name', async () => {
      const agent = await buildAgent(club.id);
      const files = [await buildMedia(club.id), await buildMedia(club.id)];
      const media = files.map(({ id }) => id);
      await write('PUT', `/agents/${agent.id}/material`, { course_ids: [], lesson_ids: [], media_ids: media });
      const versions = async () => (await indexedSourcesOf(club.id)).map(({ wantedVersion }) => wantedVersion);
      expect(await wakesBy(club.id, () => change({ language: 'en', name: 'Harbour', time_zone: 'UTC' }))).to.deep.equal(
        [],
      );
      expect(await versions()).to.deep.equal([1, 1]);
      expect(await wakesBy(club.id, () => change({ language: 'pt' }))).to.have.length(2);
      expect(await versions()).to.deep.equal([2, 2]);
    });

    it('starts the indexing of all sources, even if they are too many for one statement', async () => {
      const source = await testDatabase();
      const agent = await buildAgent(club.id);
      const count = 1_001;
      await source.query(
        `WITH files AS (
         INSERT INTO media (id, club_id, purpose, kind, title, provider, status, created_at, updated_at)
         SELECT gen_random_uuid(), $1, 'library', 'document', 'Rope', 'objstore', 'ready', now(), now() FROM generate_series(1, $2)
         RETURNING id),
       named AS (
         INSERT INTO agent_materials (id, agent_id, media_id) SELECT gen_random_uuid(), $3, id FROM files)
       INSERT INTO agent_sources (id, club_id, kind, media_id, title, created_at, updated_at)
       SELECT gen_random_uuid(), $1, 'media', id, 'Rope', now(), now() FROM files`,
        [club.id, count, agent.id],
      );
      expect(await wakesBy(club.id, () => change({ language: 'pt' }))).to.have.length(count);
      expect(new Set((await indexedSourcesOf(club.id)).map(({ wantedVersion }) => wantedVersion))).to.deep.equal(
        new Set([2]),
      );
    });

    it('returns 403 role_not_permitted to an editor', async () => {
      const editor = callsOf(club, (await buildMember(club.id, 'editor')).token);
      expectError(await editor('PATCH', '', { name: 'Mine' }), 'role_not_permitted');
    });

    it('returns 422 for an invalid time zone, language or name and for an empty change', async () => {
      const [before, counts] = [await read(), await rowCounts()];
      await eachCase(
        [
          { name: 'New', time_zone: 'Europe/Atlantis' },
          { time_zone: 'europe/lisbon' },
          { time_zone: 'posixrules' },
          { time_zone: '+03:00' },
          { time_zone: '' },
          { time_zone: 'x'.repeat(65) },
          { language: 'xx' },
          { language: 'EN' },
          { name: ' ' },
          { name: 'x'.repeat(121) },
          {},
        ],
        async (body) => expectError(await change(body), 'invalid_request'),
      );
      expectError(await change({ motto: 'Ahoy' }), 'malformed_request');
      expect(await read()).to.deep.equal(before);
      expect(await rowCounts()).to.deep.equal(counts);
    });
  });
});
