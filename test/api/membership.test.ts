/** Tests how members leave a club, and that a removal has the same effects (ERS-40 to ERS-43). */
import { expect } from 'chai';
import { MentorshipSession } from '../../entities/mentorships/mentorship-session.ts';
import { openSession } from '../../domain/identity/sessions/sessions.ts';
import { roles } from '../../entities/clubs/values.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { Transaction } from '../../platform/infra/postgres/database.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildApiKey } from '../toolkit/builders/api-keys.ts';
import { buildAdministrator, buildClub, buildMember, buildStudent, type TestClub } from '../toolkit/builders/clubs.ts';
import { buildIdentityProvider } from '../toolkit/builders/identity-providers.ts';
import { buildMedia } from '../toolkit/builders/media.ts';
import { buildMentorship, buildSession } from '../toolkit/builders/mentorships.ts';
import { call, expectError } from '../toolkit/drive/api.ts';
import { allAtOnce, inThisOrder } from '../toolkit/drive/races.ts';
import { rowCounts, testDatabase, testDeps } from '../toolkit/stack/database.ts';

const hour = 3_600_000;
const leave = (token: string, clubId: Id) => call('DELETE', `/v1/clubs/${clubId}/membership`, { token });
const remove = (token: string, clubId: Id, id: Id) => call('DELETE', `/v1/clubs/${clubId}/members/${id}`, { token });
const rows = async <Row>(text: string, ...values: unknown[]): Promise<Row[]> =>
  (await testDatabase()).query<Row[]>(text, values);
const membersOf = async (clubId: Id) =>
  (await rows<{ id: Id }>('SELECT administrator_id AS id FROM memberships WHERE club_id = $1', clubId)).map(
    ({ id }) => id,
  );

/** Both requests end a membership, and must have the same effects except on mentorships. */
const ways = {
  'DELETE /v1/clubs/{clubId}/membership': (_: TestClub, clubId: Id, member: { id: Id; token: string }) =>
    leave(member.token, clubId),
  'DELETE /v1/clubs/{clubId}/members/{administratorId}': ({ owner }: TestClub, clubId: Id, member: { id: Id }) =>
    remove(owner.token, clubId, member.id),
} as const;

describe('the end of a membership', () => {
  for (const [way, end] of Object.entries(ways))
    describe(way, () => {
      let club: TestClub;
      let other: TestClub;
      let member: Awaited<ReturnType<typeof buildMember>>;
      beforeEach(async () => {
        [club, other] = [await buildClub(), await buildClub()];
        member = await buildMember(club.id, 'editor');
        await rows(
          `INSERT INTO memberships (club_id, administrator_id, role, joined_at) VALUES ($1, $2, 'editor', now())`,
          other.id,
          member.id,
        );
      });
      const ends = async () => expect((await end(club, club.id, member)).status).to.equal(204);

      it('ends the membership in this club only', async () => {
        await ends();
        expect(await membersOf(club.id)).to.deep.equal([club.owner.id]);
        expect(await membersOf(other.id)).to.have.members([other.owner.id, member.id]);
        expectError(await call('GET', `/v1/clubs/${club.id}`, { token: member.token }), 'forbidden');
        expect((await call('GET', `/v1/clubs/${other.id}`, { token: member.token })).status).to.equal(200);
      });

      it('ends the identities, sessions and waiting sign-ins of the club’s provider', async () => {
        const source = await testDatabase();
        const [own, foreign] = [await buildIdentityProvider(club.id), await buildIdentityProvider(other.id)];
        const inClub: Record<string, string> = {};
        for (const { id, club: at } of [own, foreign]) {
          await rows(
            `INSERT INTO administrator_identities (id, administrator_id, provider_id, club_provider_id, subject, created_at, last_used_at)
             VALUES ($1, $2, $3, $3, $4, now(), now())`,
            newId(),
            member.id,
            id,
            newId(),
          );
          const provider = { id, clubId: at?.id ?? null };
          const origin = { openedBy: 'provider', provider, device: null, network: null } as const;
          const opened = await source.transaction((tx) =>
            openSession(new Transaction(tx), 'admin', member.id, new Date(), origin),
          );
          inClub[id] = opened.token;
          await rows(
            `INSERT INTO sign_in_challenges (token_hash, administrator_id, opened_by, provider_id, club_id, created_at, expires_at)
             VALUES ($1, $2, 'provider', $3, $4, now(), now() + interval '5 minutes')`,
            Buffer.from(newId()),
            member.id,
            id,
            at?.id,
          );
        }
        await ends();
        expectError(await call('GET', '/v1/me', { token: inClub[own.id] ?? '' }), 'unauthenticated');
        expect((await call('GET', '/v1/me', { token: inClub[foreign.id] ?? '' })).status).to.equal(200);
        for (const table of ['administrator_identities', 'sign_in_challenges'])
          expect(
            await rows(`SELECT provider_id AS id FROM ${table} WHERE administrator_id = $1`, member.id),
            table,
          ).to.deep.equal([{ id: foreign.id }]);
      });

      it('ends the favorites and the listeners in this club only', async () => {
        for (const at of [club, other]) {
          const { id } = await buildMedia(at.id);
          await rows(`INSERT INTO media_favorites VALUES ($1, $2, now())`, member.id, id);
          await rows(
            `INSERT INTO webhook_listeners (id, club_id, administrator_id, stream_id, created_at, heartbeat_at) VALUES ($1, $2, $3, $4, now(), now())`,
            newId(),
            at.id,
            member.id,
            newId(),
          );
        }
        await ends();
        expect(
          await rows(
            `SELECT media.club_id AS id FROM media_favorites JOIN media ON media.id = media_id WHERE administrator_id = $1`,
            member.id,
          ),
        ).to.deep.equal([{ id: other.id }]);
        expect(
          await rows(`SELECT club_id AS id FROM webhook_listeners WHERE administrator_id = $1`, member.id),
        ).to.deep.equal([{ id: other.id }]);
      });

      it('cancels the mails of this club that are not sent yet', async () => {
        for (const clubId of [club.id, other.id, null])
          await rows(
            `INSERT INTO transactional_mails (id, club_id, template, administrator_id, address_key, status, next_attempt_at, created_at)
             VALUES ($1, $2, 'api_key_created', $3, 'key', 'pending', now(), now())`,
            newId(),
            clubId,
            member.id,
          );
        await ends();
        expect(
          await rows(
            `SELECT club_id AS club, status FROM transactional_mails WHERE administrator_id = $1 ORDER BY club_id = $2 DESC, club_id`,
            member.id,
            club.id,
          ),
        ).to.have.deep.members([
          { club: club.id, status: 'canceled' },
          { club: other.id, status: 'pending' },
          { club: null, status: 'pending' },
        ]);
      });

      it('keeps the API keys that the member created', async () => {
        const key = await buildApiKey(club.id, ['students:read'], { createdBy: member.id });
        await ends();
        expect((await call('GET', `/v1/clubs/${club.id}/students`, { token: key.token })).status).to.equal(200);
      });
    });
});

describe('the mentorships of a member who leaves', () => {
  let club: TestClub;
  let other: TestClub;
  let member: Awaited<ReturnType<typeof buildMember>>;
  beforeEach(async () => {
    [club, other] = [await buildClub(), await buildClub()];
    member = await buildMember(club.id, 'editor');
  });
  const ends = async () => expect((await leave(member.token, club.id)).status).to.equal(204);

  it('are archived, their coming sessions are canceled, and the runs of these are woken', async () => {
    const student = await buildStudent(club.id);
    const mentorship = await buildMentorship(club.id, { mentorId: member.id });
    const draft = await buildMentorship(club.id, { mentorId: member.id, status: 'draft' });
    const elsewhere = await buildMentorship(other.id, { mentorId: member.id });
    const others = await buildMentorship(club.id);
    const at = (hours: number) => new Date(Date.now() + hours * hour);
    const past = await buildSession(mentorship.id, student.id, { startsAt: at(-3) });
    const coming = await buildSession(mentorship.id, student.id, { startsAt: at(3) });
    const ofOther = await buildSession(others.id, student.id, { startsAt: at(6) });
    await ends();
    const statuses = await rows<{ id: Id; status: string }>(
      `SELECT id, status FROM mentorships WHERE id = ANY ($1::uuid[])`,
      [mentorship.id, draft.id, elsewhere.id, others.id],
    );
    expect(Object.fromEntries(statuses.map(({ id, status }) => [id, status]))).to.deep.equal({
      [mentorship.id]: 'archived',
      [draft.id]: 'archived',
      [elsewhere.id]: 'published',
      [others.id]: 'published',
    });
    const { db } = await testDeps();
    const session = (id: Id) => db.manager.findOneByOrFail(MentorshipSession, { id });
    expect(await session(coming.id)).to.include({ status: 'canceled', canceledBy: 'club', sequence: 1 });
    expect((await session(coming.id)).looksAt).not.to.equal(null);
    expect(await session(past.id)).to.include({ status: 'booked', sequence: 0 });
    expect(await session(ofOther.id)).to.include({ status: 'booked', sequence: 0 });
    const wakes = await rows<{ id: string }>(
      `SELECT workflow_id AS id FROM wakes WHERE workflow_id LIKE '%' || $1 OR workflow_id LIKE '%' || $2`,
      coming.id,
      ofOther.id,
    );
    expect(wakes.map(({ id }) => id)).to.deep.equal([`mentorship-session/${coming.id}`]);
  });

  it('lose the session of a booking that is under way', async () => {
    const student = await buildStudent(club.id);
    const mentorship = await buildMentorship(club.id, { mentorId: member.id });
    const startsAt = new Date(Math.ceil(Date.now() / hour) * hour + 2 * hour).toISOString();
    const path = `/v1/clubs/${club.id}/classroom/mentorships/${mentorship.publicId}/bookings`;
    const [booked, ended] = await inThisOrder(
      sql`SELECT 1 FROM mentorships WHERE id = ${mentorship.id} FOR UPDATE`,
      () => call('POST', path, { token: student.token, body: { starts_at: startsAt } }),
      () => leave(member.token, club.id),
    );
    expect([booked.status, ended.status]).to.deep.equal([201, 204]);
    expect(await rows(`SELECT status FROM mentorship_sessions WHERE id = $1`, booked.body.data.id)).to.deep.equal([
      { status: 'canceled' },
    ]);
  });

  it('stay with their sessions if another member removes the mentor', async () => {
    const student = await buildStudent(club.id);
    const mentorship = await buildMentorship(club.id, { mentorId: member.id });
    const coming = await buildSession(mentorship.id, student.id, { startsAt: new Date(Date.now() + 3 * hour) });
    await call('DELETE', `/v1/clubs/${club.id}/members/${member.id}`, { token: club.owner.token });
    expect(await rows(`SELECT status FROM mentorships WHERE id = $1`, mentorship.id)).to.deep.equal([
      { status: 'published' },
    ]);
    expect(await rows(`SELECT status FROM mentorship_sessions WHERE id = $1`, coming.id)).to.deep.equal([
      { status: 'booked' },
    ]);
  });
});

describe('DELETE /v1/clubs/{clubId}/membership', () => {
  it('lets a member of every role leave, and records who left in the audit log', async () => {
    const club = await buildClub();
    await eachCase(roles, async (role) => {
      const member = await buildMember(club.id, role);
      const answer = await leave(member.token, club.id);
      expect([answer.status, answer.text]).to.deep.equal([204, '']);
      const query = `actor_id=${member.id}`;
      const { body } = await call('GET', `/v1/clubs/${club.id}/audit-log?${query}`, { token: club.owner.token });
      expect(body.data).to.have.length(1);
      expect(body.data[0]).to.deep.include({ operation: 'leaveClub', records: [], fields: [] });
    });
    expect(await membersOf(club.id)).to.deep.equal([club.owner.id]);
  });

  it('ends the open invitations that only the role of the member may give', async () => {
    const club = await buildClub();
    const owner = await buildMember(club.id, 'owner');
    const body = { email: `${newId()}@example.com`, role: 'owner' };
    await call('POST', `/v1/clubs/${club.id}/members`, { token: owner.token, body });
    await leave(owner.token, club.id);
    expect(await rows(`SELECT FROM invitations WHERE club_id = $1`, club.id)).to.deep.equal([]);
  });

  it('returns last_owner with the club to the last owner, and changes nothing', async () => {
    const club = await buildClub();
    await buildMember(club.id, 'admin');
    const before = await rowCounts();
    const answer = await leave(club.owner.token, club.id);
    expectError(answer, 'last_owner');
    expect(answer.body.error.club_ids).to.deep.equal([club.id]);
    expect(await rowCounts()).to.deep.equal(before);
  });

  it('returns forbidden to a person who is no member, and refuses API keys', async () => {
    const club = await buildClub();
    expectError(await leave((await buildAdministrator()).token, club.id), 'forbidden');
    expectError(await leave((await buildApiKey(club.id, [])).token, club.id), 'unauthenticated');
  });

  it('returns fresh_factor_required if the account has a second factor that was not shown lately', async () => {
    const club = await buildClub();
    const member = await buildMember(club.id, 'support');
    await rows(`UPDATE administrators SET has_second_factor = true WHERE id = $1`, member.id);
    expectError(await leave(member.token, club.id), 'fresh_factor_required');
  });

  it('keeps exactly one owner if all owners leave simultaneously, for 1 to 6 owners', async () => {
    await eachCase([1, 2, 3, 4, 5, 6], async (count) => {
      const club = await buildClub();
      const owners = [club.owner];
      while (owners.length < count) owners.push(await buildMember(club.id, 'owner'));
      const order = owners.toSorted(() => Math.random() - 0.5);
      const answers = await allAtOnce(club.id, () => order.map(({ token }) => leave(token, club.id)));
      expect(answers.filter(({ status }) => status === 204)).to.have.length(count - 1);
      expect(answers.filter(({ body }) => body?.error.code === 'last_owner')).to.have.length(1);
      expect(await membersOf(club.id)).to.have.length(1);
    });
  });
});
