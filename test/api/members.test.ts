import { expect } from 'chai';
import { newId, type Id } from '../../platform/core/ids.ts';
import { roles } from '../../entities/clubs/values.ts';
import { buildAdministrator, buildClub, buildMember, type TestClub } from '../toolkit/builders/clubs.ts';
import { call, expectError } from '../toolkit/drive/api.ts';
import { allAtOnce } from '../toolkit/drive/races.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';

const list = (club: TestClub, query = '') =>
  call('GET', `/v1/clubs/${club.id}/members${query}`, { token: club.owner.token });
const change = (token: string, clubId: Id, memberId: Id, role: string) =>
  call('PATCH', `/v1/clubs/${clubId}/members/${memberId}`, { token, body: { role } });
const remove = (token: string, clubId: Id, memberId: Id) =>
  call('DELETE', `/v1/clubs/${clubId}/members/${memberId}`, { token });
const rolesOf = async (club: TestClub, token = club.owner.token): Promise<Record<Id, string>> => {
  const { body } = await call('GET', `/v1/clubs/${club.id}/members`, { token });
  return Object.fromEntries(
    body.data.map((member: { administrator_id: Id; role: string }) => [member.administrator_id, member.role]),
  );
};

describe('GET /v1/clubs/{clubId}/members', () => {
  describe('200', () => {
    it('lists first the members and then the open invitations, each group sorted by e-mail', async () => {
      const club = await buildClub();
      const members = [club.owner, await buildMember(club.id, 'support'), await buildMember(club.id, 'editor')];
      const invite = (email: string) =>
        call('POST', `/v1/clubs/${club.id}/members`, { token: club.owner.token, body: { email, role: 'support' } });
      const [zoe, abe] = [await invite(`zoe.${newId()}@example.com`), await invite(`abe.${newId()}@example.com`)];
      const { body } = await list(club);
      const roleOrder = ['owner', 'support', 'editor'];
      expect(body).to.deep.equal({
        data: [
          ...members
            .map(({ id, email }, index) => ({
              administrator_id: id,
              name: 'Ada Administrator',
              email,
              role: roleOrder[index],
              status: 'active',
              has_second_factor: false,
              joined_at: body.data.find((member: { administrator_id: Id }) => member.administrator_id === id)
                ?.joined_at,
            }))
            .toSorted((a, b) => (a.email < b.email ? -1 : 1)),
          abe.body.data,
          zoe.body.data,
        ],
        total: 5,
      });
    });

    it('returns each record once over all pages, and the total on every page', async () => {
      const club = await buildClub();
      for (let index = 0; index < 4; index++) await buildMember(club.id, 'support');
      const pages = [];
      for (const page of [1, 2, 3, 4]) pages.push(await list(club, `?page=${page}&page_size=2`));
      expect(pages.map(({ body }) => body.data.length)).to.deep.equal([2, 2, 1, 0]);
      expect(pages.map(({ body }) => body.total)).to.deep.equal([5, 5, 5, 5]);
      const ids = pages.flatMap(({ body }) =>
        body.data.map((member: { administrator_id: Id }) => member.administrator_id),
      );
      expect(new Set(ids).size).to.equal(5);
    });
  });
});

describe('PATCH /v1/clubs/{clubId}/members/{administratorId}', () => {
  describe('200', () => {
    it('changes the role and returns the member', async () => {
      const club = await buildClub();
      const member = await buildMember(club.id, 'support');
      await eachCase(roles.toReversed(), async (role) => {
        const { status, body } = await change(club.owner.token, club.id, member.id, role);
        expect(status).to.equal(200);
        expect(body.data).to.include({ administrator_id: member.id, email: member.email, role, status: 'active' });
      });
      expect(await rolesOf(club)).to.deep.equal({ [club.owner.id]: 'owner', [member.id]: 'owner' });
    });

    it('lets an owner step down if there is another owner', async () => {
      const club = await buildClub();
      const other = await buildMember(club.id, 'owner');
      expect((await change(club.owner.token, club.id, club.owner.id, 'support')).status).to.equal(200);
      expect(await rolesOf(club, other.token)).to.deep.equal({ [club.owner.id]: 'support', [other.id]: 'owner' });
    });

    it('lets an admin change the role of a member below owner to any role below owner', async () => {
      const club = await buildClub();
      const admin = await buildMember(club.id, 'admin');
      const member = await buildMember(club.id, 'support');
      expect((await change(admin.token, club.id, member.id, 'admin')).status).to.equal(200);
    });
  });

  describe('403', () => {
    it('returns role_not_permitted if a caller who is not an owner changes or appoints an owner', async () => {
      const club = await buildClub();
      const admin = await buildMember(club.id, 'admin');
      expectError(await change(admin.token, club.id, admin.id, 'owner'), 'role_not_permitted');
      expectError(await change(admin.token, club.id, club.owner.id, 'admin'), 'role_not_permitted');
      expectError(await change(admin.token, club.id, club.owner.id, 'owner'), 'role_not_permitted');
      expect(await rolesOf(club)).to.deep.equal({ [club.owner.id]: 'owner', [admin.id]: 'admin' });
    });
  });

  describe('404', () => {
    it('is returned for an administrator who is not a member of this club, and for an invitation', async () => {
      const [club, other] = [await buildClub(), await buildClub()];
      const invited = await call('POST', `/v1/clubs/${club.id}/members`, {
        token: club.owner.token,
        body: { email: `${newId()}@example.com`, role: 'support' },
      });
      const ids = [newId(), (await buildAdministrator()).id, other.owner.id, invited.body.data.invitation_id];
      await eachCase(ids, async (id) => {
        expectError(await change(club.owner.token, club.id, id, 'support'), 'not_found');
        expectError(await remove(club.owner.token, club.id, id), 'not_found');
      });
    });
  });

  describe('409', () => {
    it('returns last_owner for a change of the last owner, who keeps the role', async () => {
      const club = await buildClub();
      await buildMember(club.id, 'admin');
      expectError(await change(club.owner.token, club.id, club.owner.id, 'admin'), 'last_owner');
      expect((await change(club.owner.token, club.id, club.owner.id, 'owner')).status).to.equal(200);
    });

    it('returns last_owner to one of two owners who step down simultaneously', async () => {
      const club = await buildClub();
      const other = await buildMember(club.id, 'owner');
      const answers = await allAtOnce(club.id, () => [
        change(club.owner.token, club.id, club.owner.id, 'admin'),
        change(other.token, club.id, other.id, 'admin'),
      ]);
      expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).to.deep.equal([200, 409]);
    });
  });
});

describe('DELETE /v1/clubs/{clubId}/members/{administratorId}', () => {
  describe('204', () => {
    it('ends the member’s access to this club, but not the session and other memberships', async () => {
      const club = await buildClub();
      const member = await buildMember(club.id, 'admin');
      const own = await call('POST', '/v1/organizations', { token: member.token, body: { name: `Own ${newId()}` } });
      const answer = await remove(club.owner.token, club.id, member.id);
      expect([answer.status, answer.text]).to.deep.equal([204, '']);
      expectError(await call('GET', `/v1/clubs/${club.id}/members`, { token: member.token }), 'forbidden');
      const { body } = await call('GET', '/v1/me', { token: member.token });
      expect(body.data.organizations).to.deep.equal([own.body.data]);
    });

    it('lets a member leave', async () => {
      const club = await buildClub();
      const admin = await buildMember(club.id, 'admin');
      expect((await remove(admin.token, club.id, admin.id)).status).to.equal(204);
    });

    it('lets a removed member be invited again', async () => {
      const club = await buildClub();
      const member = await buildMember(club.id, 'admin');
      await remove(club.owner.token, club.id, member.id);
      const answer = await call('POST', `/v1/clubs/${club.id}/members`, {
        token: club.owner.token,
        body: { email: member.email, role: 'editor' },
      });
      expect(answer.status).to.equal(201);
    });
  });

  describe('403', () => {
    it('returns role_not_permitted to an admin who removes an owner', async () => {
      const club = await buildClub();
      await buildMember(club.id, 'owner');
      const admin = await buildMember(club.id, 'admin');
      expectError(await remove(admin.token, club.id, club.owner.id), 'role_not_permitted');
    });
  });

  describe('409', () => {
    it('returns last_owner to the last owner who leaves', async () => {
      const club = await buildClub();
      expectError(await remove(club.owner.token, club.id, club.owner.id), 'last_owner');
      expect(await rolesOf(club)).to.deep.equal({ [club.owner.id]: 'owner' });
    });

    it('returns forbidden to one of two owners who remove each other simultaneously', async () => {
      const club = await buildClub();
      const other = await buildMember(club.id, 'owner');
      const answers = await allAtOnce(club.id, () => [
        remove(club.owner.token, club.id, other.id),
        remove(other.token, club.id, club.owner.id),
      ]);
      // This owner is not a member any more.
      expect(answers.map(({ status, body }) => body?.error.code ?? status)).to.have.members([204, 'forbidden']);
    });
  });
});
