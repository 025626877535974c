/** Tests how an administrator erases the own account, and what happens to requests that are under way (ERS-43 to ERS-46). */
import { expect } from 'chai';
import { eraseLeftovers } from '../../domain/media/erasure/leftovers.ts';
import { mailKinds } from '../../domain/contexts.ts';
import { sendTransactionalMail } from '../../domain/mail/transactional/send.ts';
import { openSession } from '../../domain/identity/sessions/sessions.ts';
import { Administrator } from '../../entities/identity/administrator.ts';
import { Erasure } from '../../entities/erasures/erasure.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { addressKeyOf } from '../../platform/infra/keys/address-keys.ts';
import { Transaction } from '../../platform/infra/postgres/database.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildApiKey } from '../toolkit/builders/api-keys.ts';
import {
  buildAdministrator,
  buildClub,
  buildMember,
  password,
  type TestAdministrator,
  type TestClub,
} from '../toolkit/builders/clubs.ts';
import { buildIdentityProvider } from '../toolkit/builders/identity-providers.ts';
import { buildPhoneCode } from '../toolkit/builders/phone-codes.ts';
import { png } from '../toolkit/builders/pictures.ts';
import { mailedToken } from '../toolkit/builders/sessions.ts';
import { call, expectError } from '../toolkit/drive/api.ts';
import { allAtOnce, inThisOrder } from '../toolkit/drive/races.ts';
import { mediaDeps } from '../toolkit/drive/media.ts';
import { rowCounts, testDatabase, testDeps } from '../toolkit/stack/database.ts';
import { testBucket } from '../toolkit/stack/storage.ts';

const path = '/v1/me/erasure';
const erase = ({ token, email }: { token: string; email: string }) => call('POST', path, { token, body: { email } });
const signIn = ({ email }: { email: string }) => call('POST', '/v1/auth/admin/sign-in', { body: { email, password } });
const accept = (body: object) => call('POST', '/v1/auth/admin/invitations/accept', { body });
const rows = async <Row>(text: string, ...values: unknown[]): Promise<Row[]> =>
  (await testDatabase()).query<Row[]>(text, values);
const invite = async ({ id, owner }: TestClub, email: string): Promise<{ id: Id; token: string }> => {
  const { body } = await call('POST', `/v1/clubs/${id}/members`, {
    token: owner.token,
    body: { email, role: 'editor' },
  });
  const invitationId: Id = body.data.invitation_id;
  return { id: invitationId, token: await mailedToken('administrator_invitation', invitationId) };
};
const accountOf = async (id: Id) => (await testDeps()).db.manager.findOneByOrFail(Administrator, { id });
const lockOf = ({ id }: { id: Id }) => sql`SELECT 1 FROM administrators WHERE id = ${id} FOR UPDATE`;

describe('POST /v1/me/erasure', () => {
  let club: TestClub;
  let me: TestAdministrator;
  beforeEach(async () => {
    club = await buildClub();
    me = await buildMember(club.id, 'owner');
  });
  const expectErased = async (answer: Awaited<ReturnType<typeof erase>>) => {
    expect(answer.status, answer.text).to.equal(200);
    expect(Object.keys(answer.body.data)).to.have.members(['requested_at', 'certificate_url']);
    const certificate = await call('GET', new URL(answer.body.data.certificate_url).pathname);
    expect(certificate.body.data).to.include({ kind: 'administrator', status: 'running' });
    const { createdAt: _, removedAt, ...account } = await accountOf(me.id);
    expect(removedAt).to.be.instanceOf(Date);
    expect(account).to.deep.equal({
      id: me.id,
      name: 'Removed administrator',
      email: null,
      passwordHash: null,
      verifiedAt: null,
      language: null,
      phone: null,
      phoneVerifiedAt: null,
      hasSecondFactor: false,
      avatarKey: null,
    });
    expect(await rows(`SELECT FROM administrator_sessions WHERE administrator_id = $1`, me.id)).to.deep.equal([]);
    expect(await rows(`SELECT FROM memberships WHERE administrator_id = $1`, me.id)).to.deep.equal([]);
  };

  describe('200', () => {
    it('leaves only an id, ends the session, and records the erasure', async () => {
      await expectErased(await erase({ ...me, email: ` ${me.email.toUpperCase()} `.trim() }));
      expectError(await erase(me), 'unauthenticated');
      const { db } = await testDeps();
      const erasure = await db.manager.findOneByOrFail(Erasure, { subjectId: me.id });
      expect(erasure).to.include({ kind: 'administrator', clubId: null, requestedBy: me.id, status: 'objects' });
    });

    it('adds an entry with ids to the audit log of each club', async () => {
      const other = await buildClub();
      await rows(`INSERT INTO memberships VALUES ($1, $2, 'support', now())`, other.id, me.id);
      await erase(me);
      await eachCase([club, other], async ({ id, owner }) => {
        const { body } = await call('GET', `/v1/clubs/${id}/audit-log?actor_id=${me.id}`, { token: owner.token });
        expect(body.data).to.have.length(1);
        expect(body.data[0]).to.deep.include({
          operation: 'eraseOwnAccount',
          records: [{ kind: 'administrator', id: me.id }],
          fields: ['email'],
        });
      });
    });

    it('deletes the open invitations to the address in all clubs, and keeps those to other addresses', async () => {
      const [one, two] = [await buildClub(), await buildClub()];
      const invited = [await invite(one, me.email), await invite(two, me.email)];
      const other = await invite(one, `${newId()}@example.com`);
      await erase(me);
      for (const { token } of invited) expectError(await accept({ token }), 'token_gone');
      expect((await accept({ token: other.token, name: 'Another', password: 'the invited phrase' })).status).to.equal(
        200,
      );
      const { vault } = await testDeps();
      const key = addressKeyOf(vault, me.email);
      expect(await rows(`SELECT FROM transactional_mails WHERE address_key = $1`, key)).to.deep.equal([]);
    });

    it('lets the address sign up again, as a new account without clubs of the former one', async () => {
      await erase(me);
      expectError(await signIn(me), 'invalid_credentials');
      const organization = { name: 'Second Harbour' };
      const body = { name: 'Ada Again', email: me.email, password: 'another good phrase', organization };
      expect((await call('POST', '/v1/auth/admin/sign-up', { body })).status).to.equal(202);
      const [account] = await rows<{ id: Id }>(`SELECT id FROM administrators WHERE email = $1`, me.email);
      expect(account?.id).not.to.equal(me.id);
      const token = await mailedToken('administrator_verify_email', account?.id ?? '');
      const confirmed = await call('POST', '/v1/auth/admin/verify-email', { body: { token } });
      expect(confirmed.body.data.administrator.organizations.map(({ name }: { name: string }) => name)).to.deep.equal([
        'Second Harbour',
      ]);
    });

    it('mails no link to the address afterwards, and answers as for an unknown address', async () => {
      await erase(me);
      const answer = await call('POST', '/v1/auth/admin/password-reset', { body: { email: me.email } });
      expect(answer.status).to.equal(202);
      expect(await rows(`SELECT FROM transactional_mails WHERE administrator_id = $1`, me.id)).to.deep.equal([]);
    });

    it('ends tokens that were mailed before', async () => {
      await call('POST', '/v1/auth/admin/password-reset', { body: { email: me.email } });
      const token = await mailedToken('administrator_reset_password', me.id);
      await erase(me);
      const confirm = { token, password: 'the next good phrase' };
      expectError(await call('POST', '/v1/auth/admin/password-reset/confirm', { body: confirm }), 'token_gone');
    });

    it('erases the object of the picture with the next round of maintenance', async () => {
      const headers = { 'content-type': 'application/octet-stream' };
      const { status } = await call('PUT', '/v1/me/avatar', { token: me.token, raw: png(64, 64), headers });
      expect(status).to.equal(200);
      const bucket = await testBucket();
      const objects = async () => (await bucket.everyVersion()).filter((key) => key.includes(me.id));
      expect(await objects()).to.have.length(1);
      await erase(me);
      await eraseLeftovers(await mediaDeps(), new Date(Date.now() + 1_000));
      expect(await objects()).to.deep.equal([]);
    });

    it('deletes the key of the telephone number, and still counts the code against the limit of all numbers', async () => {
      const { administrator, id } = await buildPhoneCode();
      await erase(administrator);
      expect(
        await rows(`SELECT status, tries_left AS tries, number_key AS key FROM phone_codes WHERE id = $1`, id),
      ).to.deep.equal([{ status: 'canceled', tries: 0, key: Buffer.alloc(0) }]);
    });

    it('empties stored answers that name the person, to the caller and to others', async () => {
      const keyed = { token: club.owner.token, headers: { 'idempotency-key': newId() }, body: { role: 'admin' } };
      const change = () => call('PATCH', `/v1/clubs/${club.id}/members/${me.id}`, keyed);
      expect((await change()).body.data.email).to.equal(me.email);
      const own = { token: me.token, headers: { 'idempotency-key': newId() }, body: { name: 'Grace' } };
      expect((await call('PATCH', '/v1/me', own)).status).to.equal(200);
      await erase(me);
      expectError(await change(), 'result_removed');
      expect(await rows(`SELECT FROM idempotency_keys WHERE caller = $1`, `administrator:${me.id}`)).to.deep.equal([]);
    });
  });

  describe('401', () => {
    it('is returned to an API key', async () => {
      expectError(await erase({ token: (await buildApiKey(club.id, [])).token, email: me.email }), 'unauthenticated');
    });
  });

  describe('403', () => {
    it('returns fresh_factor_required to a session without a factor of the last 10 minutes', async () => {
      await rows(
        `UPDATE administrator_sessions SET created_at = now() - interval '11 minutes' WHERE administrator_id = $1`,
        me.id,
      );
      expectError(await erase(me), 'fresh_factor_required');
      await call('POST', '/v1/me/proof', { token: me.token, body: { password } });
      await expectErased(await erase(me));
    });

    it('returns provider_session_limited to a session of a club’s provider', async () => {
      const { id } = await buildIdentityProvider(club.id);
      const origin = { openedBy: 'provider', provider: { id, clubId: club.id }, device: null, network: null } as const;
      const { token } = await (
        await testDatabase()
      ).transaction((tx) => openSession(new Transaction(tx), 'admin', me.id, new Date(), origin));
      expectError(await erase({ token, email: me.email }), 'provider_session_limited');
    });
  });

  describe('409', () => {
    it('returns last_owner with all clubs that would be left without an owner, and changes nothing', async () => {
      const own = await call('POST', '/v1/organizations', {
        token: club.owner.token,
        body: { name: `Own ${newId()}` },
      });
      await rows(`DELETE FROM memberships WHERE administrator_id = $1`, me.id);
      const before = await rowCounts();
      const answer = await erase(club.owner);
      expectError(answer, 'last_owner');
      expect(answer.body.error.club_ids).to.deep.equal(
        [club.id, own.body.data.organization_id].toSorted((one, two) => (one < two ? -1 : 1)),
      );
      expect(await rowCounts()).to.deep.equal(before);
      expect((await accountOf(club.owner.id)).email).to.equal(club.owner.email);
    });

    it('is not returned for a club that is being erased', async () => {
      await rows(`DELETE FROM memberships WHERE club_id = $1 AND administrator_id <> $2`, club.id, me.id);
      expectError(await erase(me), 'last_owner');
      await rows(`UPDATE clubs SET erasing_at = now() WHERE id = $1`, club.id);
      await expectErased(await erase(me));
    });

    it('is returned to one of two owners who erase their accounts simultaneously', async () => {
      const answers = await allAtOnce(club.id, () => [erase(me), erase(club.owner)]);
      expect(answers.map(({ status }) => status)).to.have.members([200, 409]);
    });

    it('is returned to one of two owners if one leaves the club while the other one erases the account', async () => {
      const answers = await allAtOnce(club.id, () => [
        erase(me),
        call('DELETE', `/v1/clubs/${club.id}/membership`, { token: club.owner.token }),
      ]);
      const statuses = answers.map(({ status }) => status);
      expect([
        [200, 409],
        [409, 204],
      ]).to.deep.include(statuses);
    });
  });

  describe('422', () => {
    it('is returned for an address that is not the own one, and changes nothing', async () => {
      const before = await rowCounts();
      await eachCase([club.owner.email, `x${me.email}`, ''], async (email) =>
        expectError(await erase({ ...me, email }), 'invalid_request'),
      );
      expect(await rowCounts()).to.deep.equal(before);
      expect((await call('GET', '/v1/me', { token: me.token })).body.data.email).to.equal(me.email);
    });
  });

  describe('a request that is under way', () => {
    it('leaves the new membership if an invitation is accepted before the erasure', async () => {
      const other = await buildClub();
      const { id, token } = await invite(other, me.email);
      const [accepted, erased] = await inThisOrder(
        sql`SELECT 1 FROM invitations WHERE id = ${id} FOR UPDATE`,
        () => accept({ token }),
        () => erase(me),
      );
      expect(accepted.status).to.equal(200);
      await expectErased(erased);
      expectError(await call('GET', '/v1/me', { token: accepted.body.data.token }), 'unauthenticated');
    });

    it('gets token_gone if an invitation is accepted after the erasure has begun', async () => {
      const { id, token } = await invite(await buildClub(), me.email);
      const [erased, accepted] = await inThisOrder(
        sql`SELECT 1 FROM invitations WHERE id = ${id} FOR UPDATE`,
        () => erase(me),
        () => accept({ token }),
      );
      await expectErased(erased);
      expectError(accepted, 'token_gone');
    });

    it('opens no session if the account is erased during the sign-in', async () => {
      const [erased, signedIn] = await inThisOrder(
        lockOf(me),
        () => erase(me),
        () => signIn(me),
      );
      await expectErased(erased);
      expectError(signedIn, 'invalid_credentials');
    });

    it('loses the session that a sign-in opened before the erasure', async () => {
      const [signedIn, erased] = await inThisOrder(
        lockOf(me),
        () => signIn(me),
        () => erase(me),
      );
      await expectErased(erased);
      expectError(await call('GET', '/v1/me', { token: signedIn.body.data.token }), 'unauthenticated');
    });

    it('changes nothing of the erased account, and gets 401', async () => {
      const others = {
        profile: () => call('PATCH', '/v1/me', { token: me.token, body: { name: 'Grace', phone: '+351912345678' } }),
        organization: () => call('POST', '/v1/organizations', { token: me.token, body: { name: `Own ${newId()}` } }),
        factor: () => call('POST', '/v1/me/second-factors/totp', { token: me.token, body: { name: 'Phone' } }),
      };
      await eachCase(Object.entries(others), async ([, request]) => {
        me = await buildMember(club.id, 'support');
        const [erased, answer] = await inThisOrder(lockOf(me), () => erase(me), request);
        await expectErased(erased);
        expectError(answer, 'unauthenticated');
        expect(await rows(`SELECT FROM second_factors WHERE administrator_id = $1`, me.id)).to.deep.equal([]);
      });
    });

    it('makes the erasure fail if the person opens a club meanwhile', async () => {
      const [opened, erased] = await inThisOrder(
        lockOf(me),
        () => call('POST', '/v1/organizations', { token: me.token, body: { name: `Own ${newId()}` } }),
        () => erase(me),
      );
      expectError(erased, 'last_owner');
      expect(erased.body.error.club_ids).to.deep.equal([opened.body.data.organization_id]);
      expect((await call('GET', `/v1/clubs/${club.id}`, { token: me.token })).status).to.equal(200);
    });

    it('records nothing about a mail that is sent during the erasure', async () => {
      await call('POST', '/v1/auth/admin/password-reset', { body: { email: me.email } });
      const [mail] = await rows<{ id: Id }>(`SELECT id FROM transactional_mails WHERE administrator_id = $1`, me.id);
      const { db, vault } = await testDeps();
      const links = { classroomUrl: 'https://{slug}.example.com', dashboardUrl: 'https://d.example.com' };
      const step = await sendTransactionalMail(
        {
          db,
          vault,
          links: { ...links, publicUrl: 'https://api.example.com' },
          warmUp: [],
          kinds: mailKinds,
          onOutcome: () => undefined,
          sendMail: async () => expectErased(await erase(me)),
        },
        mail?.id ?? '',
        Date.now() + 1_000,
      );
      expect(step).to.deep.equal({ done: true, outcome: 'canceled' });
      expect(
        await rows(`SELECT status, sent_at, address_key AS key FROM transactional_mails WHERE id = $1`, mail?.id),
      ).to.deep.equal([{ status: 'canceled', sent_at: null, key: Buffer.alloc(0) }]);
    });
  });

  it('leaves another administrator without memberships unchanged', async () => {
    const other = await buildAdministrator();
    await erase(me);
    expect((await call('GET', '/v1/me', { token: other.token })).body.data.email).to.equal(other.email);
  });
});
