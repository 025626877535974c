import { expect } from 'chai';
import { newId, type Id } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildAdministrator, buildClub, buildMember, password, type TestClub } from '../toolkit/builders/clubs.ts';
import { mailedToken } from '../toolkit/builders/sessions.ts';
import { administratorAccounts } from '../toolkit/drive/accounts.ts';
import { call, clock, expectError, visible } from '../toolkit/drive/api.ts';
import { mailsTo, rowCounts, testDatabase } from '../toolkit/stack/database.ts';

const day = 86_400_000;
const someone = () => `${newId()}@example.com`;
const person = { name: 'Edsger Example', password: 'the invited phrase' };

const invite = (club: TestClub, email: string, role = 'editor', token = club.owner.token) =>
  call('POST', `/v1/clubs/${club.id}/members`, { token, body: { email, role } });
const accept = (body: object) => call('POST', '/v1/auth/admin/invitations/accept', { body });
const revoke = (token: string, clubId: Id, invitationId: Id) =>
  call('DELETE', `/v1/clubs/${clubId}/invitations/${invitationId}`, { token });
const mailed = (invitationId: Id) => mailedToken('administrator_invitation', invitationId);
const membersOf = async ({ id, owner }: TestClub): Promise<{ email: string; role: string; status: string }[]> =>
  (await call('GET', `/v1/clubs/${id}/members`, { token: owner.token })).body.data;
/** Records the mail of the invitation as sent at the time of its request. */
const deliver = async (invitationId: Id) =>
  (await testDatabase()).query(
    `UPDATE transactional_mails SET status = 'sent', sent_at = created_at WHERE invitation_id = $1`,
    [invitationId],
  );
const dueTimeOf = async (invitationId: Id) => {
  const sentence = `SELECT next_attempt_at AS at FROM transactional_mails WHERE invitation_id = $1`;
  const [row] = await (await testDatabase()).query<{ at: Date }[]>(sentence, [invitationId]);
  return row?.at;
};

describe('POST /v1/clubs/{clubId}/members', () => {
  let club: TestClub;
  beforeEach(async () => {
    club = await buildClub();
  });

  describe('201', () => {
    it('sends an invitation that is valid for 7 days, and returns the complete record', async () => {
      const email = someone();
      const { status, body } = await invite(club, email.toUpperCase());
      expect(status).to.equal(201);
      const { invitation_id: id, invited_at: invitedAt, expires_at: expiresAt } = body.data;
      expect(body.data).to.deep.equal({
        invitation_id: id,
        email,
        role: 'editor',
        status: 'invited',
        invited_at: invitedAt,
        expires_at: expiresAt,
      });
      expect(Date.parse(expiresAt) - Date.parse(invitedAt)).to.equal(7 * day);
      expect(await mailsTo(id)).to.deep.equal(['administrator_invitation']);
      expect((await membersOf(club)).at(-1)).to.deep.equal(body.data);
    });

    it('shows how long the service withholds the mail if the address got 5 mails within an hour', async () => {
      const email = someone();
      const invitations = [];
      for (let times = 0; times < 5; times++) {
        const { body } = await invite(club, email);
        invitations.push(body.data);
        await deliver(body.data.invitation_id);
      }
      expect(invitations.filter((invitation) => 'mail_withheld_until' in invitation)).to.deep.equal([]);
      const { status, body } = await invite(club, email);
      expect(status).to.equal(201);
      const until = Date.parse(body.data.mail_withheld_until);
      expect(until - Date.parse(invitations.at(-1).invited_at)).to.equal(10 * 60_000);
      expect((await membersOf(club)).at(-1)).to.deep.equal(body.data);
      expect(await dueTimeOf(body.data.invitation_id)).to.deep.equal(new Date(until));
      clock.advance(10 * 60_000);
      expect((await membersOf(club)).at(-1)).to.not.have.property('mail_withheld_until');
    });

    it('mails the invitation even if another club often invited and revoked the address', async () => {
      const email = someone();
      const other = await buildClub();
      for (let times = 0; times < 8; times++) {
        const { body } = await invite(other, email);
        await revoke(other.owner.token, other.id, body.data.invitation_id);
      }
      for (let times = 0; times < 5; times++) await deliver((await invite(other, email)).body.data.invitation_id);
      const { body } = await invite(club, email);
      expect(body.data).to.not.have.property('mail_withheld_until');
      expect(await mailsTo(body.data.invitation_id)).to.deep.equal(['administrator_invitation']);
    });

    it('does not count a mail that was not sent because its invitation was revoked', async () => {
      const email = someone();
      for (let times = 0; times < 8; times++) {
        const { body } = await invite(club, email);
        await revoke(club.owner.token, club.id, body.data.invitation_id);
      }
      expect((await invite(club, email)).body.data).to.not.have.property('mail_withheld_until');
    });

    it('returns the same fields for e-mails with and without an account', async () => {
      const { email } = await buildAdministrator();
      const shape = ({ body }: { body: { data: object } }) => Object.keys(body.data);
      expect(shape(await invite(club, email))).to.deep.equal(shape(await invite(club, someone())));
    });

    it('replaces an open invitation to the e-mail, and refuses the old token', async () => {
      const email = someone();
      const first = await invite(club, email, 'support');
      const token = await mailed(first.body.data.invitation_id);
      const second = await invite(club, email, 'admin');
      expectError(await accept({ token, ...person }), 'token_gone');
      const open = (await membersOf(club)).filter(({ status }) => status === 'invited');
      expect(open).to.deep.equal([second.body.data]);
      const session = await accept({ token: await mailed(second.body.data.invitation_id), ...person });
      expect(session.body.data.administrator.organizations[0].role).to.equal('admin');
    });

    it('keeps only one open invitation if four requests invite one e-mail simultaneously', async () => {
      const email = someone();
      const answers = await Promise.all([1, 2, 3, 4].map(() => invite(club, email)));
      expect(answers.map(({ status }) => status)).to.deep.equal([201, 201, 201, 201]);
      expect((await membersOf(club)).filter(({ status }) => status === 'invited')).to.have.length(1);
    });
  });

  describe('403', () => {
    it('returns role_not_permitted if an admin invites an owner or replaces the invitation of an owner', async () => {
      const admin = await buildMember(club.id, 'admin');
      const email = someone();
      expectError(await invite(club, email, 'owner', admin.token), 'role_not_permitted');
      const owners = await invite(club, email, 'owner');
      expectError(await invite(club, email, 'support', admin.token), 'role_not_permitted');
      expect((await membersOf(club)).at(-1)).to.deep.equal(owners.body.data);
    });
  });

  describe('409', () => {
    it('returns already_member if the e-mail belongs to a member, and writes nothing', async () => {
      const member = await buildMember(club.id, 'support');
      const before = await rowCounts();
      expectError(await invite(club, member.email.toUpperCase()), 'already_member');
      expectError(await invite(club, club.owner.email), 'already_member');
      expect(await rowCounts()).to.deep.equal(before);
    });
  });
});

describe('DELETE /v1/clubs/{clubId}/invitations/{invitationId}', () => {
  it('revokes the invitation, and then answers its token like an unknown token', async () => {
    const club = await buildClub();
    const { body } = await invite(club, someone());
    const token = await mailed(body.data.invitation_id);
    const answer = await revoke(club.owner.token, club.id, body.data.invitation_id);
    expect([answer.status, answer.text]).to.deep.equal([204, '']);
    const revoked = await accept({ token, ...person });
    expectError(revoked, 'token_gone');
    expect(visible(revoked)).to.equal(visible(await accept({ token: 'unknown', ...person })));
  });

  it('returns 403 to an admin who revokes the invitation of an owner', async () => {
    const club = await buildClub();
    const admin = await buildMember(club.id, 'admin');
    const owners = await invite(club, someone(), 'owner');
    const editors = await invite(club, someone(), 'editor');
    expectError(await revoke(admin.token, club.id, owners.body.data.invitation_id), 'role_not_permitted');
    expect((await revoke(admin.token, club.id, editors.body.data.invitation_id)).status).to.equal(204);
    expect((await revoke(club.owner.token, club.id, owners.body.data.invitation_id)).status).to.equal(204);
  });

  it('returns 404 if the invitation is unknown, accepted or of another club', async () => {
    const [club, other] = [await buildClub(), await buildClub()];
    const foreign = await invite(other, someone());
    const accepted = await invite(club, someone());
    await accept({ token: await mailed(accepted.body.data.invitation_id), ...person });
    await eachCase([newId(), foreign.body.data.invitation_id, accepted.body.data.invitation_id], async (id) =>
      expectError(await revoke(club.owner.token, club.id, id), 'not_found'),
    );
  });
});

describe('POST /v1/auth/admin/invitations/accept', () => {
  let club: TestClub;
  beforeEach(async () => {
    club = await buildClub();
  });
  const invited = async (email = someone(), role = 'editor') => {
    const { body } = await invite(club, email, role);
    return { email, token: await mailed(body.data.invitation_id) };
  };

  describe('200', () => {
    it('creates a confirmed account with a membership and a session for a new person', async () => {
      const { email, token } = await invited();
      const { status, body } = await accept({ token, ...person });
      expect(status).to.equal(200);
      const { administrator } = body.data;
      expect(administrator).to.deep.equal({
        id: administrator.id,
        name: person.name,
        email,
        verified: true,
        phone_verified: false,
        has_password: true,
        organizations: [{ ...administrator.organizations[0], organization_id: club.id, role: 'editor' }],
      });
      const students = await call('GET', `/v1/clubs/${club.id}/students`, { token: body.data.token });
      expect(students.status).to.equal(200);
      expect((await administratorAccounts().signIn(email, person.password)).status).to.equal(200);
      expect((await membersOf(club)).filter((member) => member.email === email)).to.have.length(1);
    });

    it('keeps name and password of a confirmed account', async () => {
      const known = await buildAdministrator();
      const { token } = await invited(known.email, 'support');
      const { body } = await accept({ token, name: 'Another Name', password: 'another phrase' });
      expect(body.data.administrator).to.include({ id: known.id, name: 'Ada Administrator' });
      expect(body.data.administrator.organizations[0]).to.include({ organization_id: club.id, role: 'support' });
      expect((await administratorAccounts().signIn(known.email, password)).status).to.equal(200);
      expectError(await administratorAccounts().signIn(known.email, 'another phrase'), 'invalid_credentials');
    });

    it('needs neither name nor password for a confirmed account', async () => {
      const known = await buildAdministrator();
      const { token } = await invited(known.email);
      expect((await accept({ token })).status).to.equal(200);
    });

    it('takes over an unconfirmed account, and refuses its earlier password and mail', async () => {
      const email = someone();
      await administratorAccounts().signUp(email, 'the phrase of a stranger');
      await administratorAccounts().signUp(email, 'a second phrase');
      const strangers = await mailedToken('administrator_verify_email', await administratorAccounts().idOf(email));
      const { token } = await invited(email);
      const { body } = await accept({ token, ...person });
      expect(body.data.administrator).to.include({ name: person.name, verified: true });
      await eachCase(['the phrase of a stranger', 'a second phrase'], async (phrase) =>
        expectError(await administratorAccounts().signIn(email, phrase), 'invalid_credentials'),
      );
      expectError(await administratorAccounts().verify(strangers), 'token_gone');
      expect((await administratorAccounts().signIn(email, person.password)).status).to.equal(200);
    });

    it('accepts the token within 7 days', async () => {
      const { token } = await invited();
      clock.advance(7 * day - 2_000);
      expect((await accept({ token, ...person })).status).to.equal(200);
    });
  });

  describe('410', () => {
    it('returns the same bytes for used, expired and unknown tokens and for tokens of another purpose', async () => {
      const used = await invited();
      await accept({ token: used.token, ...person });
      const email = someone();
      await administratorAccounts().signUp(email, password);
      const confirmation = await mailedToken('administrator_verify_email', await administratorAccounts().idOf(email));
      const answers = [
        await accept({ token: used.token, ...person }),
        await accept({ token: 'A'.repeat(43), ...person }),
        await accept({ token: confirmation, ...person }),
      ];
      const expiring = await invited();
      clock.advance(7 * day + 1_000);
      answers.push(await accept({ token: expiring.token, ...person }));
      await eachCase(answers, (answer) => expectError(answer, 'token_gone'));
      expect(new Set(answers.map(visible)).size).to.equal(1);
    });

    it('is returned to two of three simultaneous requests with one token, and one account is created', async () => {
      const { email, token } = await invited();
      const answers = await Promise.all([1, 2, 3].map(() => accept({ token, ...person })));
      expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).to.deep.equal([200, 410, 410]);
      expect((await membersOf(club)).filter((member) => member.email === email)).to.have.length(1);
    });
  });

  describe('422', () => {
    it('refuses a new person without name or password, and keeps the token valid', async () => {
      const { token } = await invited();
      const before = await rowCounts();
      const { name, password: phrase } = person;
      await eachCase([{ token }, { token, name }, { token, password: phrase }], async (body) =>
        expectError(await accept(body), 'invalid_request'),
      );
      expect(await rowCounts()).to.deep.equal(before);
      expect((await accept({ token, ...person })).status).to.equal(200);
    });
  });
});
