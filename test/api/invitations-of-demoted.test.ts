/** Tests that invitations end when their inviter loses the right to give the role (DEC-151). */
import { expect } from 'chai';
import { newId, type Id } from '../../platform/core/ids.ts';
import { roles, type Role } from '../../entities/clubs/values.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildClub, buildMember, type TestClub } from '../toolkit/builders/clubs.ts';
import { mailedToken } from '../toolkit/builders/sessions.ts';
import { call, expectError, visible } from '../toolkit/drive/api.ts';
import { allAtOnce } from '../toolkit/drive/races.ts';
import { testDatabase } from '../toolkit/stack/database.ts';

const person = { name: 'Edsger Example', password: 'the invited phrase' };
const accept = (token: string) => call('POST', '/v1/auth/admin/invitations/accept', { body: { token, ...person } });

describe('invitations after their inviter is demoted or removed', () => {
  let club: TestClub;
  beforeEach(async () => {
    club = await buildClub();
  });

  async function invited(by: string, role: Role): Promise<string> {
    const email = `${newId()}@example.com`;
    const { status, body } = await call('POST', `/v1/clubs/${club.id}/members`, { token: by, body: { email, role } });
    expect(status).to.equal(201);
    return mailedToken('administrator_invitation', body.data.invitation_id);
  }
  const change = (id: Id, role: Role) =>
    call('PATCH', `/v1/clubs/${club.id}/members/${id}`, { token: club.owner.token, body: { role } });
  const remove = (id: Id) => call('DELETE', `/v1/clubs/${club.id}/members/${id}`, { token: club.owner.token });
  const openRoles = async (): Promise<Role[]> => {
    const { body } = await call('GET', `/v1/clubs/${club.id}/members`, { token: club.owner.token });
    return body.data
      .filter(({ status }: { status: string }) => status === 'invited')
      .map(({ role }: { role: Role }) => role)
      .toSorted();
  };

  const cases: readonly (readonly [before: Role, after: Role | 'removed', remaining: readonly Role[]])[] = [
    ['owner', 'owner', ['admin', 'editor', 'owner', 'support']],
    ['owner', 'admin', ['admin', 'editor', 'support']],
    ['owner', 'editor', []],
    ['owner', 'support', []],
    ['owner', 'removed', []],
    ['admin', 'owner', ['admin', 'editor', 'support']],
    ['admin', 'editor', []],
    ['admin', 'support', []],
    ['admin', 'removed', []],
  ];

  it('remain valid for roles that the inviter may still give, and otherwise end', async () => {
    await eachCase(cases, async ([before, after, remaining]) => {
      const inviter = await buildMember(club.id, before);
      const givableRoles = before === 'owner' ? roles : roles.filter((role) => role !== 'owner');
      const tokens = new Map<Role, string>();
      for (const role of givableRoles) tokens.set(role, await invited(inviter.token, role));
      const { status } = after === 'removed' ? await remove(inviter.id) : await change(inviter.id, after);
      expect(status).to.equal(after === 'removed' ? 204 : 200);
      expect(await openRoles()).to.deep.equal(remaining);
      for (const [role, token] of tokens)
        expect((await accept(token)).status, `${before} to ${after}: ${role}`).to.equal(
          remaining.includes(role) ? 200 : 410,
        );
      expect(await openRoles()).to.deep.equal([]);
    });
  });

  it('do not affect invitations of other inviters', async () => {
    const [leaving, staying] = [await buildMember(club.id, 'admin'), await buildMember(club.id, 'admin')];
    await invited(leaving.token, 'editor');
    const token = await invited(staying.token, 'admin');
    await remove(leaving.id);
    expect(await openRoles()).to.deep.equal(['admin']);
    expect((await accept(token)).status).to.equal(200);
  });

  it('end when the inviter leaves the club', async () => {
    const admin = await buildMember(club.id, 'admin');
    const token = await invited(admin.token, 'admin');
    const answer = await call('DELETE', `/v1/clubs/${club.id}/members/${admin.id}`, { token: admin.token });
    expect(answer.status).to.equal(204);
    expectError(await accept(token), 'token_gone');
  });

  it('create no account after they have ended, and cause the answer for an unknown token', async () => {
    const admin = await buildMember(club.id, 'admin');
    const token = await invited(admin.token, 'editor');
    await change(admin.id, 'support');
    const answer = await accept(token);
    expectError(answer, 'token_gone');
    expect(visible(answer)).to.equal(visible(await accept('A'.repeat(43))));
  });

  it('are refused even if an older release demoted the inviter and kept the invitation', async () => {
    const admin = await buildMember(club.id, 'admin');
    const token = await invited(admin.token, 'admin');
    const source = await testDatabase();
    await eachCase(['editor', undefined], async (role) => {
      const of = [club.id, admin.id];
      await (role === undefined
        ? source.query(`DELETE FROM memberships WHERE club_id = $1 AND administrator_id = $2`, of)
        : source.query(`UPDATE memberships SET role = $3 WHERE club_id = $1 AND administrator_id = $2`, [...of, role]));
      const answer = await accept(token);
      expect(visible(answer)).to.equal(visible(await accept('A'.repeat(43))));
    });
  });

  it('end if no inviter is recorded and the club removes any member who could have invited', async () => {
    const forget = async () => (await testDatabase()).query(`UPDATE invitations SET invited_by = NULL`);
    const [admin, editor] = [await buildMember(club.id, 'admin'), await buildMember(club.id, 'editor')];
    await invited(club.owner.token, 'owner');
    await invited(club.owner.token, 'editor');
    const token = await invited(club.owner.token, 'owner');
    await forget();
    await remove(editor.id);
    expect(await openRoles()).to.deep.equal(['editor', 'owner', 'owner']);
    await remove(admin.id);
    expect(await openRoles()).to.deep.equal(['owner', 'owner']);
    expect((await accept(token)).status).to.equal(200);
  });

  it('are accepted before or after a simultaneous demotion, but never during it', async () => {
    for (let round = 0; round < 5; round++) {
      const admin = await buildMember(club.id, 'admin');
      const token = await invited(admin.token, 'admin');
      const answers = await allAtOnce(club.id, () => [change(admin.id, 'support'), accept(token)]);
      const [demoted, accepted] = answers.map(({ status }) => status);
      expect(demoted).to.equal(200);
      expect(accepted).to.be.oneOf([200, 410]);
      expect(await openRoles()).to.deep.equal([]);
    }
  });
});
