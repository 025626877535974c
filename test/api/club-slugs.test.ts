/** Tests slugs of clubs: the public data of a slug, changes, and how long a former slug is valid (ACC-8, ACC-9). */
import { expect } from 'chai';
import { createOrganization } from '../../domain/clubs/organizations.ts';
import { updateClub } from '../../domain/clubs/settings.ts';
import { slugRules } from '../../domain/clubs/slugs.ts';
import { openSession } from '../../domain/identity/sessions/sessions.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { Transaction } from '../../platform/infra/postgres/database.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildAccessDelivery } from '../toolkit/builders/access.ts';
import { buildAdministrator, buildClub, buildMember, buildStudent, type TestClub } from '../toolkit/builders/clubs.ts';
import { call, clock, expectError, visible } from '../toolkit/drive/api.ts';
import { callsOf } from '../toolkit/drive/club-calls.ts';
import { untilWaitingForLocks, withOpenTransaction } from '../toolkit/drive/races.ts';
import { databaseOf } from '../toolkit/fakes/databases.ts';
import { testDatabase, testDeps } from '../toolkit/stack/database.ts';

const termMs = slugRules.answersForDays * 86_400_000;
const newSlug = () => `club-${newId().slice(-12)}`;
const find = (slug: string) => call('GET', `/v1/clubs/by-slug/${slug}`);
const slugOf = async ({ id }: { id: Id }) => {
  const [row] = await (await testDatabase()).query<{ slug: string }[]>(`SELECT slug FROM clubs WHERE id = $1`, [id]);
  return row?.slug ?? '';
};
const slugsOf = async ({ id }: { id: Id }): Promise<Record<string, boolean>> => {
  const rows = await (
    await testDatabase()
  ).query<{ slug: string; former: boolean }[]>(
    `SELECT slug, answers_until IS NOT NULL AS former FROM club_slugs WHERE club_id = $1`,
    [id],
  );
  return Object.fromEntries(rows.map(({ slug, former }) => [slug, former]));
};
const change = (club: TestClub, slug: string, more: object = {}) => callsOf(club)('PATCH', '', { slug, ...more });
/** Signs in again for each tested time, because sessions do not last 90 days. */
const changeAt = async ({ id }: TestClub, slug: string, at: number): Promise<string> => {
  const deps = await testDeps();
  return updateClub(deps, id, { slug }, new Date(at)).then(
    (club) => club.slug,
    (error: { code: string }) => error.code,
  );
};

describe('club slugs', () => {
  let club: TestClub;
  let slug: string;
  beforeEach(async () => {
    club = await buildClub();
    slug = await slugOf(club);
  });

  describe('GET /v1/clubs/by-slug/{slug}', () => {
    it('shows the complete record to any caller, and allows caches to keep the answer for a minute', async () => {
      const { status, body, headers } = await find(slug);
      expect(status).to.equal(200);
      expect(body).to.deep.equal({
        data: {
          id: club.id,
          name: `Club ${club.owner.id}`,
          slug,
          language: 'en',
          languages: ['en', 'pt-BR', 'es', 'de', 'ar'],
          branding: { accent_color: '#1f4fd8', links: [] },
        },
      });
      expect(headers.get('cache-control')).to.equal('public, max-age=60');
    });

    it('shows a language that the service writes, even if the club’s own language only works for search', async () => {
      const languages = { pt: 'pt-BR', fr: 'en', de: 'de', ar: 'ar' };
      await eachCase(Object.entries(languages), async ([language, spoken]) => {
        await callsOf(club)('PATCH', '', { language });
        expect((await find(slug)).body.data.language).to.equal(spoken);
      });
    });

    it('accepts the slug in any letter case, and with a dot before or after it', async () => {
      await eachCase([slug.toUpperCase(), `.${slug}`, `${slug}.`], async (typed) =>
        expect((await find(typed)).body.data).to.include({ id: club.id, slug }),
      );
    });

    it('finds a club even if its slug is the name of an API resource', async () => {
      const answer = await change(club, 'students');
      expect(answer.status).to.equal(200);
      expect((await find('students')).body.data).to.include({ id: club.id, slug: 'students' });
      const other = await call('POST', '/v1/clubs/by-slug/students', { token: club.owner.token, body: {} });
      expectError(other, 'method_not_allowed');
      expect(other.headers.get('allow')).to.equal('GET');
    });

    it('accepts a former slug for 90 days, and returns the current slug', async () => {
      const [former, current] = [slug, newSlug()];
      const before = clock.now().getTime();
      await change(club, current);
      const after = clock.now().getTime();
      const record = (await find(former)).body.data;
      expect(record).to.deep.equal((await find(current)).body.data);
      expect(record).to.include({ id: club.id, slug: current });
      clock.advance(before + termMs - 1_000 - clock.now().getTime());
      expect((await find(former)).status).to.equal(200);
      clock.advance(after + termMs - clock.now().getTime());
      expectError(await find(former), 'not_found');
      expect((await find(current)).status).to.equal(200);
    });

    it('returns the same 404 answer for invalid, unknown, reserved and expired slugs', async () => {
      await change(club, newSlug());
      const expired = slug;
      clock.advance(termMs + 1_000);
      const unknown = await find(newSlug());
      expectError(unknown, 'not_found');
      const typed = [
        expired,
        'admin',
        'no%20slug',
        'xn--mnchen-3ya',
        'm%C3%BCnchen',
        `${(await slugOf(club)).replace('k', '')}%E2%84%AA`,
        `${await slugOf(club)}%2F`,
        `${await slugOf(club)}%00`,
        '%zz',
        '%FF',
        "'",
        'x'.repeat(64),
        'x'.repeat(2_000),
      ];
      await eachCase(typed, async (one) => expect(visible(await find(one)), one).to.equal(visible(unknown)));
    });

    it('does not accept `by-slug` as a club id in other paths', async () => {
      expectError(await call('GET', '/v1/clubs/by-slug'), 'unauthenticated');
      expectError(await call('GET', '/v1/clubs/by-slug', { token: club.owner.token }), 'forbidden');
      expectError(
        await call('GET', '/v1/clubs/by-slug/classroom/courses', { token: club.owner.token }),
        'unauthenticated',
      );
      expectError(await find(`${slug}/`), 'not_found');
    });
  });

  describe('PATCH /v1/clubs/{clubId} with a slug', () => {
    it('changes the slug for every caller', async () => {
      const student = await buildStudent(club.id);
      const delivery = await buildAccessDelivery(club.id);
      const link = await callsOf(club)('POST', '/registration-links', { name: 'Spring', delivery_ids: [delivery.id] });
      const current = newSlug();
      const { status, body } = await change(club, current, { name: 'Harbour' });
      expect(status).to.equal(200);
      expect(body.data).to.include({ id: club.id, slug: current, name: 'Harbour' });
      const [session, profile, address] = await Promise.all([
        call('GET', '/v1/auth/session', { token: student.token }),
        call('GET', '/v1/me', { token: club.owner.token }),
        callsOf(club)('GET', `/registration-links/${link.body.data.id}`),
      ]);
      expect(session.body.data.club_slug).to.equal(current);
      expect(profile.body.data.organizations[0].slug).to.equal(current);
      expect(new URL(address.body.data.url).hostname).to.equal(`${current}.classroom.localhost`);
    });

    it('changes nothing if the new slug is already the current slug', async () => {
      expect((await change(club, slug)).body.data.slug).to.equal(slug);
      expect(await slugsOf(club)).to.deep.equal({ [slug]: false });
    });

    it('lets a club take back a former slug at any time, even if the club has three former slugs', async () => {
      const slugs = [slug, newSlug(), newSlug(), newSlug()];
      for (const next of slugs.slice(1)) expect((await change(club, next)).status).to.equal(200);
      await eachCase(slugs, async (current) => {
        expect((await change(club, current)).body.data.slug).to.equal(current);
        expect(await slugsOf(club)).to.deep.equal(Object.fromEntries(slugs.map((each) => [each, each !== current])));
      });
    });

    it('accepts 3 to 40 letters, digits and single hyphens', async () => {
      const tag = newId().slice(-12);
      await eachCase(['k2x', `a-b-${tag}`.padEnd(40, 'x')], async (good) =>
        expect((await change(club, good)).body.data.slug).to.equal(good),
      );
    });

    it('returns 422 for a slug of any other form, and changes nothing', async () => {
      const bad = [
        'ab',
        'x'.repeat(41),
        'Harbour',
        'a--b',
        'xn--mnchen-3ya',
        '-abc',
        'abc-',
        'a.bc',
        'a_bc',
        'münchen',
      ];
      await eachCase([...bad, 'abc\n', ' abc', 'ab\u212a', ''], async (typed) =>
        expectError(await change(club, typed, { name: 'Harbour' }), 'invalid_request'),
      );
      expect((await find(slug)).body.data).to.include({ name: `Club ${club.owner.id}`, slug });
      expect(await slugsOf(club)).to.deep.equal({ [slug]: false });
    });

    it('returns 403 role_not_permitted to an editor', async () => {
      const editor = callsOf(club, (await buildMember(club.id, 'editor')).token);
      expectError(await editor('PATCH', '', { slug: newSlug() }), 'role_not_permitted');
    });

    it('returns 409 slug_taken if the slug is reserved, or another club has it or released it recently', async () => {
      const other = await buildClub();
      const former = await slugOf(other);
      await change(other, newSlug());
      await eachCase(['admin', 'www', 'wpad', await slugOf(other), former], async (unavailable) =>
        expectError(await change(club, unavailable, { name: 'Harbour' }), 'slug_taken'),
      );
      expect((await find(slug)).body.data).to.include({ name: `Club ${club.owner.id}`, slug });
      expect(await slugsOf(club)).to.deep.equal({ [slug]: false });
    });

    it('lets another club take a former slug after 90 days, but not earlier', async () => {
      const [other, leftAt] = [await buildClub(), Date.now()];
      expect(await changeAt(club, newSlug(), leftAt)).to.match(/^club-/);
      expect(await changeAt(other, slug, leftAt + termMs - 1)).to.equal('slug_taken');
      expect(await changeAt(other, slug, leftAt + termMs)).to.equal(slug);
      expect(await slugsOf(other)).to.have.property(slug, false);
      expect(await slugsOf(club)).to.deep.equal({ [await slugOf(club)]: false });
      expect(await changeAt(club, slug, leftAt + termMs)).to.equal('slug_taken');
    });

    it('returns 409 slug_limit_reached if a change would leave four former slugs', async () => {
      const startedAt = Date.now();
      const day = (count: number) => startedAt + count * 86_400_000;
      for (const count of [0, 1, 2]) expect(await changeAt(club, newSlug(), day(count))).to.match(/^club-/);
      expectError(await change(club, newSlug()), 'slug_limit_reached');
      expect(await changeAt(club, newSlug(), startedAt + termMs - 1)).to.equal('slug_limit_reached');
      expect(await changeAt(club, newSlug(), startedAt + termMs)).to.match(/^club-/);
      expect(await slugsOf(club), 'the expired slug is deleted').to.not.have.property(slug);
      expect(Object.keys(await slugsOf(club))).to.have.length(4);
    });
  });

  describe('simultaneous changes of slugs', () => {
    const codes = (answers: readonly { body: { error?: { code: string } } }[]) =>
      answers.map(({ body }) => body.error?.code ?? 'changed').toSorted();
    const five = () => Promise.all([1, 2, 3, 4, 5].map(() => buildClub()));
    const oneWins = ['changed', 'slug_taken', 'slug_taken', 'slug_taken', 'slug_taken'];

    it('give a new slug to one of five clubs that want it, and 409 to the others', async () => {
      const newOne = newSlug();
      const answers = await Promise.all((await five()).map((one) => change(one, newOne)));
      expect(codes(answers)).to.deep.equal(oneWins);
    });

    it('give an expired slug to one of five clubs that want it, and 409 to the others', async () => {
      await changeAt(club, newSlug(), Date.now() - termMs);
      const answers = await Promise.all((await five()).map((one) => change(one, slug)));
      expect(codes(answers)).to.deep.equal(oneWins);
    });

    it('do not let two clubs exchange their slugs', async () => {
      const other = await buildClub();
      const answers = await Promise.all([change(club, await slugOf(other)), change(other, slug)]);
      expect(codes(answers)).to.deep.equal(['slug_taken', 'slug_taken']);
    });

    it('leave at most three former slugs if one club sends five changes', async () => {
      const answers = await Promise.all([1, 2, 3, 4, 5].map(() => change(club, newSlug())));
      expect(codes(answers)).to.deep.equal([...Array(3).fill('changed'), ...Array(2).fill('slug_limit_reached')]);
      expect(Object.values(await slugsOf(club)).filter((former) => former)).to.have.length(3);
    });

    it('wait for transactions that reference the club, and do not block these transactions', async () => {
      let changed: ReturnType<typeof change> | undefined;
      await withOpenTransaction(
        (tx) => tx.manager.query(`SELECT FROM clubs WHERE id = $1 FOR KEY SHARE`, [club.id]), // The insertion of a student takes this lock.
        async (tx) => {
          changed = change(club, newSlug());
          await untilWaitingForLocks(1);
          await tx.manager.query(`SET LOCAL lock_timeout = '300ms'`);
          await tx.manager.query(`SELECT FROM clubs WHERE id = $1 FOR NO KEY UPDATE`, [club.id]);
        },
      );
      expect((await changed)?.status).to.equal(200);
    });

    it('add a suffix to the slug of a new club if another club releases this slug at the same moment', async () => {
      const { id } = await buildAdministrator();
      const { db } = await testDeps();
      let opened: Promise<{ slug: string }> | undefined;
      await withOpenTransaction(
        (tx) => updateClub({ db: databaseOf(tx) }, club.id, { slug: newSlug() }, new Date()),
        async () => {
          opened = db.transaction((tx) => createOrganization(tx, id, { name: slug, plan: 'trial' }, new Date()));
          await untilWaitingForLocks(1);
        },
      );
      expect((await opened)?.slug).to.match(new RegExp(`^${slug}-[0-9a-f]{6}$`));
    });

    it('return 409 for a slug that a new club takes at the same moment', async () => {
      const [{ id }, name] = [await buildAdministrator(), newSlug()];
      let changing: ReturnType<typeof change> | undefined;
      await withOpenTransaction(
        (tx) => createOrganization(tx, id, { name, plan: 'trial' }, new Date()),
        async () => {
          changing = change(club, name);
          await untilWaitingForLocks(1);
        },
      );
      if (changing) expectError(await changing, 'slug_taken');
      expect(await slugOf(club)).to.equal(slug);
    });
  });

  describe('the slug of a new club', () => {
    const open = async (name: string, at: number) => {
      const [{ id }, { db }] = await Promise.all([buildAdministrator(), testDeps()]);
      return db.transaction((tx) => createOrganization(tx, id, { name, plan: 'trial' }, new Date(at)));
    };

    it('is never a slug that another club released less than 90 days ago', async () => {
      const leftAt = Date.now();
      await changeAt(club, newSlug(), leftAt);
      expect((await open(slug, leftAt + termMs - 1)).slug).to.match(new RegExp(`^${slug}-[0-9a-f]{6}$`));
      const opened = await open(slug, leftAt + termMs);
      expect(opened.slug).to.equal(slug);
      expect(await slugsOf({ id: opened.organization_id })).to.deep.equal({ [slug]: false });
    });

    it('is stored and checked even if a process of the previous release creates the club', async () => {
      const source = await testDatabase();
      const insert = (name: string) =>
        source.query<object[]>(
          `INSERT INTO clubs (id, name, slug, opening_plan, created_at) VALUES ($1, 'Club', $2, 'trial', now())
             ON CONFLICT (slug) DO NOTHING RETURNING slug`,
          [newId(), name],
        );
      await change(club, newSlug());
      const free = newSlug();
      expect(await insert(slug)).to.deep.equal([]);
      expect(await insert(await slugOf(club))).to.deep.equal([]);
      expect(await insert(free)).to.deep.equal([{ slug: free }]);
      expect((await find(free)).body.data.slug).to.equal(free);
      expectError(await change(club, free), 'slug_taken');
    });
  });

  it('are deleted with their club, and are then available to other clubs', async () => {
    await change(club, newSlug());
    const current = await slugOf(club);
    await (await testDatabase()).query(`DELETE FROM clubs WHERE id = $1`, [club.id]);
    await eachCase([slug, current], async (deleted) => expectError(await find(deleted), 'not_found'));
    expect((await change(await buildClub(), slug)).status).to.equal(200);
  });

  it('can be changed again after 90 days, with a new session', async () => {
    await change(club, newSlug());
    clock.advance(termMs);
    const source = await testDatabase();
    const { token } = await source.transaction((tx) =>
      openSession(new Transaction(tx), 'admin', club.owner.id, clock.now()),
    );
    expect((await callsOf(club, token)('PATCH', '', { slug })).body.data.slug).to.equal(slug);
  });
});
