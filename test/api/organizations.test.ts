import { expect } from 'chai';
import { newId } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildAdministrator, buildClub, buildMember, buildStudent } from '../toolkit/builders/clubs.ts';
import { call, callAt, expectError, testConfig } from '../toolkit/drive/api.ts';
import { startApi } from '../../api/server.ts';
import { mailedToken } from '../toolkit/builders/sessions.ts';
import { untilWaitingForLocks, withOpenTransaction } from '../toolkit/drive/races.ts';
import { databaseOf } from '../toolkit/fakes/databases.ts';
import { openOrganization } from '../../domain/clubs/organizations.ts';
import { signUpAdministrator } from '../../domain/clubs/sign-up.ts';
import { rowCounts, testDatabase, testDeps } from '../toolkit/stack/database.ts';

const profileOf = async (token: string) => (await call('GET', '/v1/me', { token })).body.data;

describe('GET /v1/me', () => {
  describe('200', () => {
    it('returns the administrator’s profile with the organization of each membership, sorted by name', async () => {
      const administrator = await buildAdministrator();
      const create = (name: string) =>
        call('POST', '/v1/organizations', {
          token: administrator.token,
          body: { name: `${name} ${administrator.id}` },
        });
      const [second, first] = [await create('Beta'), await create('Alpha')];
      const answer = await call('GET', '/v1/me', { token: administrator.token });
      expect(answer.body).to.deep.equal({
        data: {
          id: administrator.id,
          name: 'Ada Administrator',
          email: administrator.email,
          verified: true,
          phone_verified: false,
          has_password: true,
          organizations: [first.body.data, second.body.data],
        },
      });
    });

    it('shows the phone if the profile has one', async () => {
      const { id, token } = await buildAdministrator();
      const source = await testDatabase();
      await source.query(`UPDATE administrators SET phone = '+351210000000', phone_verified_at = now() WHERE id = $1`, [
        id,
      ]);
      expect(await profileOf(token)).to.include({ phone: '+351210000000', phone_verified: true });
    });

    it('shows the administrator’s role in each organization, and the id for {clubId} in other paths', async () => {
      const [one, two] = [await buildClub(), await buildClub()];
      const member = await buildMember(one.id, 'support');
      const source = await testDatabase();
      await source.query(
        `INSERT INTO memberships (club_id, administrator_id, role, joined_at) VALUES ($1, $2, 'editor', now())`,
        [two.id, member.id],
      );
      const { organizations } = await profileOf(member.token);
      const roles = Object.fromEntries(
        organizations.map(({ organization_id: id, role }: { organization_id: string; role: string }) => [id, role]),
      );
      expect(roles).to.deep.equal({ [one.id]: 'support', [two.id]: 'editor' });
      await eachCase(Object.keys(roles), async (id) =>
        expect((await call('GET', `/v1/clubs/${id}/students`, { token: member.token })).status).to.equal(200),
      );
    });
  });
});

describe('POST /v1/organizations', () => {
  const create = (token: string, name: string) => call('POST', '/v1/organizations', { token, body: { name } });

  describe('201', () => {
    it('creates a club with the caller as owner', async () => {
      const { token } = await buildAdministrator();
      const tag = newId();
      const { status, body } = await create(token, `  Søren’s   Académie ${tag} `);
      expect(status).to.equal(201);
      expect(body.data).to.deep.equal({
        organization_id: body.data.organization_id,
        name: `Søren’s Académie ${tag}`,
        slug: `s-ren-s-academie-${tag}`.slice(0, 40).replace(/-$/, ''),
        role: 'owner',
      });
      const members = await call('GET', `/v1/clubs/${body.data.organization_id}/members`, { token });
      expect(members.body.data.map(({ role }: { role: string }) => role)).to.deep.equal(['owner']);
    });

    it('generates a slug for a name without ASCII letters and digits', async () => {
      const { token } = await buildAdministrator();
      await eachCase(['学びの場', '🎓', '—'], async (name) =>
        expect((await create(token, name)).body.data.slug).to.match(/^club(-[0-9a-f]{6})?$/),
      );
    });

    it('generates five different slugs if five clubs with the same name are created simultaneously', async () => {
      const { token } = await buildAdministrator();
      const name = `Harbour ${newId()}`;
      const answers = await Promise.all([1, 2, 3, 4, 5].map(() => create(token, name)));
      expect(answers.map(({ status }) => status)).to.deep.equal([201, 201, 201, 201, 201]);
      expect(new Set(answers.map(({ body }) => body.data.slug)).size).to.equal(5);
    });
  });
});

describe('a new club', () => {
  it('is refused with 409 if the administrator already owns too many clubs (DEC-20)', async () => {
    const config = await testConfig({ NEW_CLUB_PLAN: 'trial', CLUBS_PER_ADMINISTRATOR: '2' });
    const api = await startApi(config, { readinessGraceMs: 0 });
    try {
      const { token } = await buildAdministrator();
      const base = `http://127.0.0.1:${api.port}`;
      const open = () => callAt(base, 'POST', '/v1/organizations', { token, body: { name: 'Harbour' } });
      const answers = await Promise.all([open(), open(), open(), open()]);
      expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).to.deep.equal([201, 201, 409, 409]);
      const refused = answers.find(({ status }) => status === 409);
      if (refused) expectError(refused, 'organization_limit_reached');
      const id = answers.find(({ status }) => status === 201)?.body.data.organization_id;
      const { data: plan } = (await callAt(base, 'GET', `/v1/clubs/${id}/plan`, { token })).body;
      expect(plan).to.include({ plan: 'trial', status: 'active' });
      expect(plan.features).to.include.members(['agents', 'imports', 'campaigns']);
      expect(plan.allowances.students.included).to.equal(50);
      expect(plan.allowances.storage_bytes.included).to.equal(1_000_000_000);
      expect(plan.allowances.ai_budget.included).to.equal(100);
    } finally {
      await api.stop();
    }
  });

  it('is refused to one of two simultaneous requests if only one more club is allowed (DEC-20)', async () => {
    const { id } = await buildAdministrator();
    const { db } = await testDeps();
    const newClubs = { plan: 'trial', perAdministrator: 1 } as const;
    const open = (on = db) => openOrganization({ db: on, newClubs }, id, 'Harbour', new Date());
    let second: Promise<unknown> = Promise.resolve();
    await withOpenTransaction(
      (tx) => open(databaseOf(tx)),
      async () => {
        second = open().catch((error: unknown) => error);
        await untilWaitingForLocks(1);
      },
    );
    expect(await second).to.include({ code: 'organization_limit_reached' });
  });

  it('has the configured plan, even if it is created with a sign-up', async () => {
    const deps = await testDeps();
    const email = `${newId()}@example.com`;
    const newClubs = { plan: 'starter', perAdministrator: 1 } as const;
    const input = {
      name: 'Ada',
      email,
      password: 'correct horse battery',
      organization: { name: 'Harbour' },
      language: null,
    };
    await signUpAdministrator({ ...deps, newClubs }, input, new Date());
    const plans = await deps.db.source.query<object[]>(
      `SELECT club.opening_plan FROM clubs club JOIN memberships membership ON membership.club_id = club.id
         JOIN administrators administrator ON administrator.id = membership.administrator_id WHERE administrator.email = $1`,
      [email],
    );
    expect(plans).to.deep.equal([{ opening_plan: 'starter' }]);
  });
});

describe('422 for a web address in a name that mails contain (DEC-64)', () => {
  const name = 'Win at evil.com';
  it('is returned for names of organizations, students, administrators and invited people', async () => {
    const club = await buildClub();
    const student = await buildStudent(club.id);
    const { token } = club.owner;
    const email = `${newId()}@example.com`;
    const password = 'correct horse battery';
    const students = `/v1/clubs/${club.id}/students`;
    const invited = await call('POST', `/v1/clubs/${club.id}/members`, { token, body: { email, role: 'editor' } });
    const invitation = await mailedToken('administrator_invitation', invited.body.data.invitation_id);
    const before = await rowCounts();
    const answers = [
      await call('POST', '/v1/organizations', { token, body: { name } }),
      await call('PATCH', `/v1/clubs/${club.id}`, { token, body: { name } }),
      await call('POST', students, { token, body: { name, email } }),
      await call('PATCH', `${students}/${student.id}`, { token, body: { name } }),
      await call('POST', `/v1/clubs/${club.id}/classroom/sign-up`, { body: { name, email, password } }),
      await call('POST', '/v1/auth/admin/sign-up', { body: { name, email, password, organization: { name: 'X' } } }),
      await call('POST', '/v1/auth/admin/sign-up', { body: { name: 'Ada', email, password, organization: { name } } }),
      await call('POST', '/v1/auth/admin/invitations/accept', { body: { token: invitation, name, password } }),
    ];
    for (const [index, answer] of answers.entries()) {
      expectError(answer, 'invalid_request');
      expect(answer.body.error.message, String(index)).to.match(/name must not contain a web address/);
    }
    expect(await rowCounts()).to.deep.equal(before);
  });
});
