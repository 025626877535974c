/** Tests that a club whose erasure has begun is answered like a club that does not exist (ERS-5). */
import { expect } from 'chai';
import { randomBytes } from 'node:crypto';
import { clubClosers } from '../../domain/contexts.ts';
import { closeClub } from '../../domain/erasures/closing.ts';
import { codeAlphabet, completeCode } from '../../domain/learning/certificates/code.policy.ts';
import { newKey } from '../../domain/identity/api-keys/key-format.ts';
import { issueToken, tokenText, type TokenOwner } from '../../domain/mail/codes/one-time-tokens.ts';
import type { TokenPurpose } from '../../entities/mail/values.ts';
import { openDownload } from '../../domain/repositories/archive.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { billingEvents } from '../toolkit/builders/billing-events.ts';
import { outcomeOfEvent, planRow } from '../toolkit/assert/billing.ts';
import { buildFurnishedClub, type FurnishedClub } from '../toolkit/builders/furnished-club.ts';
import { buildIdentityJoin } from '../toolkit/builders/identity-providers.ts';
import { buildSalesConnection } from '../toolkit/builders/sales.ts';
import { buildSessionLink } from '../toolkit/builders/session-links.ts';
import { password } from '../toolkit/builders/clubs.ts';
import { call, type Answer, type Call } from '../toolkit/drive/api.ts';
import { postBillingEvent, serveBilling } from '../toolkit/drive/billing.ts';
import { everyOperation, nameOf, pathOf, sentTo } from '../toolkit/drive/every-operation.ts';
import { addPasskey, ofStudentsOf } from '../toolkit/drive/passkeys.ts';
import { testDatabase, testDeps } from '../toolkit/stack/database.ts';

const noClub = newId();
const noToken = randomBytes(32).toString('base64url');

/** Headers that differ between any two answers. */
const ofEachAnswer = new Set(['date', 'x-request-id', 'server-timing', 'traceparent', 'connection', 'keep-alive']);
const uuids = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/** The status, the headers and the bytes of an answer. Ids of requests for codes are random in every answer. */
const visible = ({ status, headers, text }: Answer) => ({
  status,
  headers: Object.fromEntries([...headers].filter(([name]) => !ofEachAnswer.has(name))),
  text: text.replaceAll(uuids, 'an id'),
});

const query = async <Row>(text: string, ...values: unknown[]): Promise<Row[]> =>
  (await testDatabase()).query<Row[]>(text, values);

async function close(clubId: Id): Promise<void> {
  const deps = { ...(await testDeps()), closers: clubClosers };
  for (let more = true; more;) ({ more } = await closeClub(deps, clubId, new Date()));
}

interface Door {
  /** Takes what a caller needs, while the club is open. */
  prepare: (club: FurnishedClub) => Promise<Record<string, string>>;
  /** Names of a club, a token or an address that never existed. */
  missing: Record<string, string>;
  send: (names: Record<string, string>) => Promise<Answer>;
}

const post = (path: string, body: object) => call('POST', path, { body });
const ofClub = async (club: FurnishedClub) => ({ club: club.id, email: club.student.email });
const noOne = { club: noClub, email: 'stella@example.com' };
const issue =
  (purpose: TokenPurpose, owner: (club: FurnishedClub) => TokenOwner) =>
  async (club: FurnishedClub): Promise<Record<string, string>> => {
    const { db, vault } = await testDeps();
    const id = await db.transaction((tx) => issueToken(tx, vault, { purpose, owner: owner(club) }, new Date()));
    return { token: tokenText(vault, purpose, id) };
  };
const ofStudent = ({ student }: FurnishedClub): TokenOwner => ({ studentId: student.id });
const textOf = async (text: string, ...values: unknown[]) =>
  (await query<{ text: string }>(text, ...values))[0]?.text ?? '';

const doors: Readonly<Record<string, Door>> = {
  'a sign-in with the right password': {
    prepare: ofClub,
    missing: noOne,
    send: ({ club, email }) => post('/v1/auth/sign-in', { club_id: club, email, password }),
  },
  'a sign-up': {
    prepare: ofClub,
    missing: noOne,
    send: ({ club }) =>
      post(`/v1/clubs/${club}/classroom/sign-up`, {
        name: 'Ada',
        email: `${newId()}@example.com`,
        password: 'mast and boom 7',
      }),
  },
  'a request for another confirmation': {
    prepare: ofClub,
    missing: noOne,
    send: ({ club, email }) => post('/v1/auth/verify-email/resend', { club_id: club, email }),
  },
  'a right code': {
    async prepare(club) {
      const { db, vault } = await testDeps();
      const purpose = 'student_code';
      const id = await db.transaction((tx) => issueToken(tx, vault, { purpose, owner: ofStudent(club) }, new Date()));
      return { ...(await ofClub(club)), id, code: tokenText(vault, purpose, id) };
    },
    missing: { ...noOne, id: newId(), code: '000000' },
    send: ({ club, email, id, code }) => post('/v1/auth/code/exchange', { club_id: club, email, code_id: id, code }),
  },
  'a confirmation of an address': {
    prepare: issue('student_verify_email', ofStudent),
    missing: { token: noToken },
    send: ({ token }) => post('/v1/auth/verify-email', { token }),
  },
  'a request for a password reset': {
    prepare: ofClub,
    missing: noOne,
    send: ({ club, email }) => post('/v1/auth/password-reset', { club_id: club, email }),
  },
  'a password reset': {
    prepare: issue('student_reset_password', ofStudent),
    missing: { token: noToken },
    send: ({ token }) => post('/v1/auth/password-reset/confirm', { token, password: 'mast and boom 7' }),
  },
  'a request for a code': {
    prepare: ofClub,
    missing: noOne,
    send: ({ club, email }) => post('/v1/auth/code', { club_id: club, email }),
  },
  'a session link': {
    prepare: async (club) => ({ club: club.id, token: (await buildSessionLink(club.id, club.student.id)).token }),
    missing: { club: noClub, token: noToken },
    send: ({ club, token }) => post('/v1/auth/session-links/exchange', { club_id: club, token }),
  },
  'an invitation of an administrator': {
    async prepare(club) {
      await query(`UPDATE invitations SET invited_by = NULL WHERE id = $1`, club.records.invitation);
      return issue('administrator_invitation', ({ records }) => ({ invitationId: records.invitation }))(club);
    },
    missing: { token: noToken },
    send: ({ token }) =>
      post('/v1/auth/admin/invitations/accept', { token, name: 'Grace', password: 'mast and boom 7' }),
  },
  'a join of an identity': {
    prepare: async ({ provider }) => ({ token: await buildIdentityJoin(provider) }),
    missing: { token: noToken },
    send: ({ token }) => post('/v1/auth/admin/identities/codes', { join_token: token }),
  },
  'a look-up by slug': {
    prepare: async ({ id }) => ({ slug: await textOf(`SELECT slug AS text FROM clubs WHERE id = $1`, id) }),
    missing: { slug: 'no-such-club' },
    send: ({ slug }) => call('GET', `/v1/clubs/by-slug/${slug}`),
  },
  'the code of a certificate': {
    async prepare({ records }) {
      const drawn = Array.from(randomBytes(11), (byte) => codeAlphabet[byte % codeAlphabet.length]).join('');
      const code = completeCode(drawn);
      await query(`UPDATE certificates SET code = $2 WHERE id = $1`, records.certificate, code);
      return { code };
    },
    missing: { code: completeCode('ABCDEFGHJKM') },
    send: ({ code }) => call('GET', `/certificates/${code}`),
  },
  'an unsubscribe link': {
    prepare: async ({ id, records }) => ({ club: id, token: records.wayOut }),
    missing: { club: noClub, token: noToken },
    send: ({ club, token }) => post(`/v1/clubs/${club}/classroom/mail/unsubscribe/${token}`, {}),
  },
  'the page of an unsubscribe link': {
    prepare: async ({ id, records }) => ({ club: id, token: records.wayOut }),
    missing: { club: noClub, token: noToken },
    send: ({ club, token }) => call('GET', `/v1/clubs/${club}/classroom/mail/unsubscribe/${token}`),
  },
  'a public image': {
    async prepare({ records: { logo: id } }) {
      await query(`UPDATE media SET object_key = 'public/' || id, size_bytes = 1 WHERE id = $1`, id);
      return { id };
    },
    missing: { id: newId() },
    send: ({ id }) => call('GET', `/public/media/${id}/preview`),
  },
  'a notice of a sale': {
    prepare: async ({ id }) => ({ token: (await buildSalesConnection(id)).token }),
    missing: { token: noToken },
    send: ({ token }) => post(`/webhooks/generic/${token}`, { event: 'sale' }),
  },
};

describe('a club whose erasure has begun', () => {
  let closed: FurnishedClub;
  let open: FurnishedClub;
  let visited: FurnishedClub;
  const names = new Map<string, Record<string, string>>();
  const visitedNames = new Map<string, Record<string, string>>();
  before(async () => {
    [closed, open, visited] = [await buildFurnishedClub(), await buildFurnishedClub(), await buildFurnishedClub()];
    for (const [title, { prepare }] of Object.entries(doors)) {
      names.set(title, await prepare(closed));
      visitedNames.set(title, await prepare(visited));
    }
    await close(closed.id);
  });

  const inClub = everyOperation.filter(({ pathParameters }) => pathParameters.includes('clubId'));
  const send = (
    operation: (typeof inClub)[number],
    clubId: Id,
    token: string,
    request: Pick<Call, 'body' | 'raw' | 'headers'>,
  ) => call(operation.method.toUpperCase(), pathOf(operation, { clubId }), { token, ...request });

  describe('answers its owner like a missing club, byte for byte', () => {
    for (const operation of inClub.filter(({ auth }) => auth.includes('admin')))
      it(nameOf(operation), async () => {
        const request = sentTo(operation);
        const [answer, missing] = [
          await send(operation, closed.id, closed.owner.token, request),
          await send(operation, noClub, closed.owner.token, request),
        ];
        expect(missing.status).to.equal(403);
        expect(visible(answer)).to.deep.equal(visible(missing));
      });
  });

  describe('refuses its API keys like unknown keys', () => {
    for (const operation of inClub.filter(({ scope }) => scope !== undefined))
      it(nameOf(operation), async () => {
        const request = sentTo(operation);
        const [answer, unknown] = [
          await send(operation, closed.id, closed.program.token, request),
          await send(operation, closed.id, newKey(newId()), request),
        ];
        expect(unknown.status).to.equal(401);
        expect(visible(answer)).to.deep.equal(visible(unknown));
      });
  });

  describe('refuses the sessions of its students like ended sessions', () => {
    for (const operation of everyOperation.filter(({ auth }) => auth.includes('student')))
      it(nameOf(operation), async () => {
        const request = sentTo(operation);
        const path = pathOf(operation, { clubId: closed.id });
        const [answer, ended] = await Promise.all(
          [closed.student.token, `cls_${noToken}`].map((token) =>
            call(operation.method.toUpperCase(), path, { token, ...request }),
          ),
        );
        expect(ended?.status).to.equal(401);
        expect(answer && visible(answer)).to.deep.equal(ended && visible(ended));
      });
  });

  describe('answers like a missing one to', () => {
    for (const [title, { send: knock, missing }] of Object.entries(doors))
      it(title, async () => {
        const [answer, unknown] = [await knock(names.get(title) ?? {}), await knock(missing)];
        expect(visible(answer)).to.deep.equal(visible(unknown));
      });

    it('a sign-in with a passkey', async () => {
      const paths = await ofStudentsOf(open.id);
      const authenticator = await addPasskey(paths, open.student.token);
      const options = await post('/v1/auth/passkeys/options', { club_id: closed.id });
      expect(visible(options).status).to.equal(200);
      const passkey = authenticator.get(options.body.data);
      const [answer, unknown] = [
        await post('/v1/auth/passkeys/sign-in', { club_id: closed.id, passkey }),
        await post('/v1/auth/passkeys/sign-in', { club_id: noClub, passkey }),
      ];
      expect(visible(answer)).to.deep.equal(visible(unknown));
    });

    it('a download of a repository', async () => {
      const { db } = await testDeps();
      const download = ({ records: { repository }, student }: FurnishedClub) =>
        openDownload(db, { repositoryId: repository, studentId: student.id, expiresAt: new Date() }, new Date()).catch(
          (error: { code: string; message: string }) => `${error.code}: ${error.message}`,
        );
      const missing = { ...closed, records: { ...closed.records, repository: newId() } };
      expect(await download(closed)).to.equal(await download(missing));
      expect(await download(open)).not.to.equal(await download(missing));
    });
  });

  it('answers otherwise at the same doors while it is open', async () => {
    const alike: string[] = [];
    for (const [title, { send: knock, missing }] of Object.entries(doors)) {
      const [answer, unknown] = [await knock(visitedNames.get(title) ?? {}), await knock(missing)];
      if (JSON.stringify(visible(answer)) === JSON.stringify(visible(unknown))) alike.push(title);
    }
    // These three doors never show whether an account exists.
    expect(alike).to.deep.equal([
      'a request for another confirmation',
      'a request for a password reset',
      'a request for a code',
    ]);
  });

  it('is not in the list of clubs of its owner', async () => {
    const { body } = await call('GET', '/v1/me', { token: closed.owner.token });
    expect(body.data.organizations).to.deep.equal([]);
  });

  it('causes no mail at the doors that accept every address', async () => {
    const before = await query(`SELECT id FROM transactional_mails WHERE club_id = $1`, closed.id);
    await post('/v1/auth/code', { club_id: closed.id, email: closed.student.email });
    await post('/v1/auth/password-reset', { club_id: closed.id, email: closed.student.email });
    expect(await query(`SELECT id FROM transactional_mails WHERE club_id = $1`, closed.id)).to.deep.equal(before);
  });

  it('stores a billing notice that names it like one of an unknown club', async () => {
    const api = await serveBilling({ STRIPE_PRICE_PLANS: 'price_old=starter' });
    try {
      const before = await planRow(closed.id);
      const event = billingEvents.subscription('created', {
        customer: `cus_${newId()}`,
        subscription: `sub_${newId()}`,
        clubId: closed.id,
        plan: 'starter',
        at: Math.floor(Date.now() / 1_000),
      });
      expect((await postBillingEvent(api, event)).status).to.equal(202);
      expect([await outcomeOfEvent(event), await planRow(closed.id)]).to.deep.equal(['unknown_club', before]);
    } finally {
      await api.close();
    }
  });

  it('leaves other clubs alone', async () => {
    expect((await call('GET', `/v1/clubs/${open.id}`, { token: open.owner.token })).status).to.equal(200);
    expect((await call('GET', '/v1/auth/session', { token: open.student.token })).status).to.equal(200);
  });
});
