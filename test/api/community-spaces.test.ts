/** Tests how administrators manage spaces, and how students join and leave them (COMM-1 to COMM-9). */
import { expect } from 'chai';
import { grantAccess, revokeAccess } from '../../domain/access/enrollments/enrollments.ts';
import { followAccessByTime } from '../../domain/joining/joining.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { wakesBy } from '../toolkit/assert/wakes.ts';
import { buildEnrollment } from '../toolkit/builders/access.ts';
import { buildPlan } from '../toolkit/builders/billing.ts';
import { buildClub, buildStudent, password, type TestClub, type TestStudent } from '../toolkit/builders/clubs.ts';
import {
  buildSpace,
  buildSpaceDelivery,
  buildSpaceMembership,
  type SpaceOptions,
} from '../toolkit/builders/community.ts';
import { buildMedia } from '../toolkit/builders/media.ts';
import { call, clock, expectError, visible } from '../toolkit/drive/api.ts';
import { callsOf } from '../toolkit/drive/club-calls.ts';
import { communityOf, countedMembers, fill, keepingSpacesOf } from '../toolkit/drive/community.ts';
import { importFile, runImport } from '../toolkit/drive/imports.ts';
import { withoutFeature } from '../toolkit/drive/plans.ts';
import { untilWaitingForLocks, withOpenTransaction } from '../toolkit/drive/races.ts';
import { rowCounts, testDatabase, testDeps } from '../toolkit/stack/database.ts';

const hour = 3_600_000;

let club: TestClub;
let student: TestStudent;
let keeping: ReturnType<typeof keepingSpacesOf>;
let own: ReturnType<typeof communityOf>;

const begin = async () => {
  club = await buildClub();
  student = await buildStudent(club.id);
  keeping = keepingSpacesOf(club);
  own = communityOf({ clubId: club.id }, student);
};
const created = async (body: object = {}): Promise<Id> =>
  (await keeping.create({ name: 'The Quay', ...body })).body.data.id;
const memberCount = async (space: Id): Promise<number> => (await keeping.read(space)).body.data.member_count;
const joinedOf = async (who: TestStudent, space: Id): Promise<boolean> =>
  (await communityOf({ clubId: club.id }, who).read(space)).body.data.joined;
const membershipOf = async (space: Id, studentId: Id) => {
  const rows = await (
    await testDatabase()
  ).query<Record<string, unknown>[]>(`SELECT * FROM community_memberships WHERE space_id = $1 AND student_id = $2`, [
    space,
    studentId,
  ]);
  return rows[0];
};

describe('community spaces of administrators', () => {
  beforeEach(begin);

  it('are created with defaults or with every field, and can be read, changed and listed (COMM-4)', async () => {
    const plain = await keeping.create({ name: '  The   Quay ' });
    expect(plain.status).to.equal(201);
    const { id, created_at: createdAt } = plain.body.data;
    const defaults = { posting: 'members', private: false, hidden: false, auto_join: false, digest_by_default: false };
    const record = { id, public_id: 'the-quay', name: 'The Quay', ...defaults, member_count: 0, archived: false };
    expect(plain.body.data).to.deep.equal({ ...record, created_at: createdAt, updated_at: createdAt });

    const image = await buildMedia(club.id, { mime: 'image/png', bytes: 'x' });
    const everything = {
      name: 'Crew',
      public_id: 'crew',
      description: 'For the crew.',
      posting: 'admins',
      private: true,
      hidden: true,
      auto_join: true,
      digest_by_default: true,
    };
    const full = await keeping.create({ ...everything, cover_media_id: image.id });
    expect(full.body.data).to.include(everything).and.to.have.nested.property('cover.id', image.id);
    const list = (await keeping.list()).body;
    expect([list.data.map((space: { name: string }) => space.name), list.total]).to.deep.equal([
      ['The Quay', 'Crew'],
      2,
    ]);

    const changed = await keeping.update(full.body.data.id, {
      description: '',
      cover_media_id: 'none',
      private: false,
    });
    expect(changed.body.data).to.not.have.any.keys('description', 'cover');
    expect(changed.body.data).to.include({ private: false, name: 'Crew', hidden: true });
    expect((await keeping.read(full.body.data.id)).body).to.deep.equal(changed.body);
  });

  it('have a cover file that can be deleted only with `force`, and then have no cover (MED-14)', async () => {
    const image = await buildMedia(club.id, { mime: 'image/png', bytes: 'x' });
    const space = await created({ cover_media_id: image.id });
    const send = callsOf(club);
    expect((await send('GET', `/media/${image.id}/usage`)).body.data).to.deep.equal([
      { kind: 'space', id: space, title: 'The Quay' },
    ]);
    expectError(await send('DELETE', `/media/${image.id}`), 'in_use');
    expect((await send('DELETE', `/media/${image.id}?force=true`)).status).to.equal(204);
    expect((await keeping.read(space)).body.data).to.not.have.property('cover');
  });

  it('cannot be created or unarchived in a plan without communities (402), but can be changed (COMM-4)', async () => {
    const [open, archived] = [await created(), await created()];
    await keeping.archive(archived);
    await own.join(open);
    await buildPlan(club.id, 'starter');
    await withoutFeature('community', async () => {
      const before = await rowCounts();
      expectError(await keeping.create(), 'feature_not_in_plan');
      expectError(await keeping.unarchive(archived), 'feature_not_in_plan');
      expect(await rowCounts()).to.deep.equal(before);
      expect((await keeping.update(open, { name: 'Pier' })).status).to.equal(200);
      expect((await own.read(open)).body.data).to.include({ name: 'Pier', joined: true, can_post: true });
    });
    expect((await keeping.unarchive(archived)).status).to.equal(200);
  });

  it('are refused if the public id is in use, the club has too many spaces, or the input is bad', async () => {
    await created({ public_id: 'quay' });
    const other = await created({ public_id: 'pier' });
    const foreign = await buildMedia((await buildClub()).id, { mime: 'image/png', bytes: 'x' });
    const document = await buildMedia(club.id, { bytes: 'x' });
    const before = await rowCounts();
    expectError(await keeping.create({ name: 'Two', public_id: 'quay' }), 'public_id_taken');
    expectError(await keeping.update(other, { public_id: 'quay' }), 'public_id_taken');
    expectError(await keeping.create({ name: 'Two', cover_media_id: foreign.id }), 'not_found');
    expectError(await keeping.create({ name: 'Two', cover_media_id: document.id }), 'invalid_request');
    for (const bad of [{ name: ' ' }, { name: 'x'.repeat(121) }, { posting: 'owners', name: 'x' }])
      expectError(await keeping.create(bad), 'invalid_request');
    await (
      await testDatabase()
    ).query(
      `INSERT INTO community_spaces (id, club_id, public_id, name, position, created_at, updated_at)
       SELECT gen_random_uuid(), $1, 'x' || number, 'x', number, now(), now() FROM generate_series(1, 198) AS number`,
      [club.id],
    );
    expectError(await keeping.create({ name: 'The 201st' }), 'space_limit_reached');
    expect(await rowCounts()).to.deep.equal({ ...before, community_spaces: Number(before['community_spaces']) + 198 });
  });

  it('follow the requested order, and come last after they are unarchived (COMM-5)', async () => {
    const [one, two, three] = [await created(), await created(), await created()];
    const order = async () => (await keeping.list()).body.data.map(({ id }: { id: Id }) => id);
    const listedIds = async () => (await own.list()).body.data.map(({ id }: { id: Id }) => id);
    expect((await keeping.order([three, one, two])).status).to.equal(204);
    expect(await order()).to.deep.equal([three, one, two]);
    expect((await keeping.archive(three)).body.data.archived).to.equal(true);
    expect(await listedIds()).to.deep.equal([one, two]);
    expect(await order()).to.deep.equal([one, two, three]);
    for (const wrong of [[one], [one, two, three], [one, one], [one, newId()]])
      expectError(await keeping.order(wrong), 'invalid_request');
    expect((await keeping.archive(three)).status).to.equal(200);
    await keeping.unarchive(three);
    expect(await listedIds()).to.deep.equal([one, two, three]);
    expect((await keeping.list('?archived=true')).body.total).to.equal(0);
  });

  it('have members whom an administrator can list, remove, ban and unban, even twice (COMM-7)', async () => {
    const space = await created();
    await own.join(space);
    const other = await buildStudent(club.id, { name: 'Otto' });
    clock.advance(1_000);
    await communityOf({ clubId: club.id }, other).join(space);
    const names = async (query = '') => {
      const { data, total } = (await keeping.members(space, query)).body;
      return [data.map((member: { student: { name: string } }) => member.student.name), total];
    };
    expect(await names()).to.deep.equal([['Otto', 'Stella Student'], 2]);
    expect(await names('?page_size=1&page=2')).to.deep.equal([['Stella Student'], 2]);

    for (let twice = 0; twice < 2; twice++) expect((await keeping.remove(space, other.id)).status).to.equal(204);
    expect(await names()).to.deep.equal([['Stella Student'], 1]);
    for (let twice = 0; twice < 2; twice++) expect((await keeping.ban(space, student.id)).status).to.equal(204);
    expect(await names()).to.deep.equal([[], 0]);
    expect(await names('?status=banned')).to.deep.equal([['Stella Student'], 1]);
    expectError(await own.join(space), 'not_entitled');
    for (let twice = 0; twice < 2; twice++) expect((await keeping.unban(space, student.id)).status).to.equal(204);
    expect(await joinedOf(student, space)).to.equal(false);
    expect((await own.join(space)).body.data.joined).to.equal(true);
    expect(await memberCount(space)).to.equal(1);

    const stranger = await buildStudent((await buildClub()).id);
    for (const act of [keeping.remove, keeping.ban, keeping.unban])
      expectError(await act(space, stranger.id), 'not_found');
    expectError(await keeping.remove(space, (await buildStudent(club.id)).id), 'not_found');
  });
});

describe('community spaces of students', () => {
  beforeEach(begin);

  it('can be joined, muted, marked as read and left (COMM-1, COMM-2, COMM-6)', async () => {
    const space = await created({ digest_by_default: true });
    const outside = {
      id: space,
      name: 'The Quay',
      posting: 'members',
      private: false,
      has_access: true,
      can_post: false,
      joined: false,
      member_count: 0,
      unread: false,
      muted: false,
      digest: false,
    };
    expect((await own.read(space)).body.data).to.deep.equal(outside);
    expectError(await own.change(space, { muted: true }), 'not_found');
    expectError(await own.markRead(space, new Date()), 'not_found');
    const member = { ...outside, can_post: true, joined: true, member_count: 1, digest: true };
    for (let twice = 0; twice < 2; twice++) {
      const { status, body } = await own.join(space);
      expect(status).to.equal(200);
      expect(body.data).to.deep.equal(member);
    }
    expect((await own.change(space, { muted: true, digest: false })).body.data).to.deep.equal({
      ...member,
      muted: true,
      digest: false,
    });
    const markOf = async () => new Date((await membershipOf(space, student.id))?.['read_at'] as Date);
    const joinedAt = await markOf();
    const marks = async (until: Date) => {
      expect((await own.markRead(space, until)).status).to.equal(200);
      return (await markOf()).getTime() - joinedAt.getTime();
    };
    clock.advance(hour);
    expect(await marks(new Date(joinedAt.getTime() + 5_000))).to.equal(5_000);
    expect(await marks(new Date(joinedAt.getTime() + 1_000))).to.equal(5_000);
    expect(await marks(new Date(joinedAt.getTime() + 1_000 * hour))).to.be.within(hour, hour + 60_000);
    for (let twice = 0; twice < 2; twice++) expect((await own.leave(space)).body.data).to.deep.equal(outside);
    expect((await own.join(space)).body.data).to.deep.equal(member);
  });

  it('show `can_post` as false if only administrators may post', async () => {
    const space = await created({ posting: 'admins' });
    expect((await own.join(space)).body.data).to.include({ joined: true, can_post: false, posting: 'admins' });
  });

  it('return 403 not_entitled for a private space without access, and 404 for a hidden or archived space', async () => {
    const locked = await created({ private: true });
    expectError(await own.join(locked), 'not_entitled');
    const hidden = await created({ private: true, hidden: true });
    const archived = await created();
    await keeping.archive(archived);
    const foreign = await buildSpace((await buildClub()).id);
    const unknown = visible(await own.read(newId()));
    for (const space of [hidden, archived, foreign.id]) {
      expect(visible(await own.read(space))).to.equal(unknown);
      for (const act of [own.join, own.leave, (id: Id) => own.change(id, { muted: true })])
        expectError(await act(space), 'not_found');
    }
  });

  it('can be left, even twice, after access has ended or the space was archived (COMM-2)', async () => {
    const space = await buildSpace(club.id, { private: true, hidden: true });
    const deliveryId = await buildSpaceDelivery(space);
    const { id: enrollment } = (
      await callsOf(club)('POST', '/enrollments', { student_id: student.id, delivery_id: deliveryId })
    ).body.data;
    expect((await own.join(space.id)).body.data).to.include({ joined: true, has_access: true, member_count: 1 });
    await callsOf(club)('POST', `/enrollments/${enrollment}/revoke`);
    expectError(await own.read(space.id), 'not_found');
    for (let twice = 0; twice < 2; twice++)
      expect((await own.leave(space.id)).body.data).to.include({ joined: false, has_access: false, member_count: 0 });
    const archived = await created();
    await own.join(archived);
    await keeping.archive(archived);
    expect((await own.leave(archived)).body.data).to.include({ joined: false, can_post: false });
  });

  it('are shown or hidden, as the table states for each access and membership (COMM-3)', async () => {
    const spaces: (SpaceOptions & { private: boolean; hidden: boolean; archived: boolean })[] = [
      { private: false, hidden: false, archived: false },
      { private: false, hidden: true, archived: false },
      { private: true, hidden: false, archived: false },
      { private: true, hidden: true, archived: false },
      { private: true, hidden: false, archived: true, posting: 'admins' },
    ];
    const ahead = (ms: number) => new Date(Date.now() + ms);
    const access = {
      none: undefined,
      valid: { startsAt: ahead(-hour) },
      later: { startsAt: ahead(hour) },
      over: { startsAt: ahead(-2 * hour), endsAt: ahead(-hour) },
      revoked: { startsAt: ahead(-hour), revoked: 'revocation' as const },
    };
    const memberships = ['never', 'joined', 'left', 'banned'] as const;
    const expected: object[] = [];
    const unseen: Id[] = [];
    for (const options of spaces)
      for (const [kind, enrollment] of Object.entries(access))
        for (const status of memberships) {
          const space = await buildSpace(club.id, options);
          const deliveryId = await buildSpaceDelivery(space);
          if (enrollment) await buildEnrollment(club.id, { studentId: student.id, deliveryId, ...enrollment });
          if (status !== 'never') await buildSpaceMembership(space, student.id, { status });
          const hasAccess = !options.private || kind === 'valid';
          const joined = status === 'joined' && hasAccess;
          if (options.archived || (options.hidden && !hasAccess)) unseen.push(space.id);
          else
            expected.push({
              id: space.id,
              has_access: hasAccess,
              joined,
              can_post: joined,
              unread: false,
              muted: false,
            });
        }
    const accessFields = ({ id, has_access, joined, can_post, unread, muted }: Record<string, unknown>) => ({
      id,
      has_access,
      joined,
      can_post,
      unread,
      muted,
    });
    const { data, total } = (await own.list('?page_size=100')).body;
    expect(data.map(accessFields)).to.deep.equal(expected);
    expect(total).to.equal(expected.length);
    await eachCase(data as { id: Id }[], async (space) =>
      expect((await own.read(space.id)).body.data).to.deep.equal(space),
    );
    await eachCase(unseen, async (id) => expectError(await own.read(id), 'not_found'));
    expect((await keeping.list()).body.total).to.equal(expected.length + unseen.length);
  });
});

describe('memberships that follow access', () => {
  beforeEach(begin);

  it('begin in open spaces in the transaction that creates a student (COMM-9)', async () => {
    const space = await buildSpace(club.id, { autoJoin: true, digestByDefault: true });
    await buildSpace(club.id);
    const email = `${newId()}@example.com`;
    await call('POST', `/v1/clubs/${club.id}/classroom/sign-up`, { body: { name: 'Ada', email, password } });
    expect(await countedMembers(space.id)).to.equal(1);
    await callsOf(club)('POST', '/students', { name: 'Bo', email: `${newId()}@example.com` });
    expect(await countedMembers(space.id)).to.equal(2);
    const { id } = await importFile(club, `email,name\n${newId()}@example.com,Cy\n${newId()}@example.com,Di\n`);
    await runImport(id);
    expect(await countedMembers(space.id)).to.equal(4);
    expect(await memberCount(space.id)).to.equal(4);
    const rows = await (
      await testDatabase()
    ).query(`SELECT DISTINCT space_id, digest FROM community_memberships WHERE club_id = $1`, [club.id]);
    expect(rows).to.deep.equal([{ space_id: space.id, digest: true }]);
  });

  it('begin with a grant if the space is private, and are not counted after a revocation (COMM-8)', async () => {
    const space = await buildSpace(club.id, { private: true, autoJoin: true });
    const deliveryId = await buildSpaceDelivery(space);
    const send = callsOf(club);
    const granted = await send('POST', '/enrollments', { student_id: student.id, delivery_id: deliveryId });
    expect(await joinedOf(student, space.id)).to.equal(true);
    expect(await memberCount(space.id)).to.equal(1);
    await send('POST', `/enrollments/${granted.body.data.id}/revoke`);
    expect((await own.read(space.id)).body.data).to.include({ joined: false, has_access: false, member_count: 0 });
    await send('POST', `/enrollments/${granted.body.data.id}/restore`);
    expect((await own.read(space.id)).body.data).to.include({ joined: true, member_count: 1 });
    await own.leave(space.id);
    await send('POST', `/enrollments/${granted.body.data.id}/revoke`);
    await send('POST', `/enrollments/${granted.body.data.id}/restore`);
    expect((await own.read(space.id)).body.data).to.include({ joined: false, member_count: 0 });
  });

  it('begin for all imported students, but not if the transaction of a grant is rolled back', async () => {
    const space = await buildSpace(club.id, { private: true, autoJoin: true });
    const deliveryId = await buildSpaceDelivery(space);
    const file = `email,name\n${newId()}@example.com,Cy\n${newId()}@example.com,Di\n`;
    const { id } = await importFile(club, file, `?delivery_ids=${deliveryId}`);
    await runImport(id);
    expect(await memberCount(space.id)).to.equal(2);
    const { db } = await testDeps();
    const grant = { clubId: club.id, studentId: student.id, deliveryId, source: 'grant' as const };
    const failed = db.transaction(async (tx) => {
      await grantAccess(tx, grant, new Date());
      throw new Error('rolled back');
    });
    await failed.catch(() => undefined);
    expect(await membershipOf(space.id, student.id)).to.equal(undefined);
  });

  it('begin and end with the access, but the member count can be an hour late (COMM-8)', async () => {
    const space = await buildSpace(club.id, { private: true, autoJoin: true });
    const deliveryId = await buildSpaceDelivery(space);
    const { db } = await testDeps();
    const [from, to] = [new Date(Date.now() + hour), new Date(Date.now() + 2 * hour)];
    const grant = {
      clubId: club.id,
      studentId: student.id,
      deliveryId,
      source: 'grant' as const,
      startsAt: from,
      endsAt: to,
    };
    await db.transaction((tx) => grantAccess(tx, grant, new Date()));
    const states: unknown[] = [];
    const look = async (at: Date) => {
      clock.reset();
      clock.advance(at.getTime() - Date.now() + 1_000);
      const before = (await own.read(space.id)).body.data;
      while ((await followAccessByTime(db, clock.now())).more);
      states.push([before.joined, before.member_count, (await own.read(space.id)).body.data.member_count]);
    };
    for (const at of [new Date(), from, to]) await look(at);
    expect(states).to.deep.equal([
      [false, 0, 0],
      [true, 0, 1],
      [false, 1, 0],
    ]);
    expect((await followAccessByTime(db, new Date(to.getTime() + hour))).followed).to.equal(0);
  });

  it('begin for all students, except students who left or are banned, if `auto_join` is on (COMM-9)', async () => {
    const [leaver, banned] = [await buildStudent(club.id), await buildStudent(club.id)];
    const space = await created();
    await communityOf({ clubId: club.id }, leaver).join(space);
    await communityOf({ clubId: club.id }, leaver).leave(space);
    await keeping.ban(space, banned.id);
    await buildStudent((await buildClub()).id);
    const source = await testDatabase();
    await source.query(
      `INSERT INTO students (id, club_id, name, email, opened_by, created_at)
       SELECT gen_random_uuid(), $1, 'One of many', 'm' || number || '@example.com', 'club', now() + number * interval '1 ms' FROM generate_series(1, 1100) AS number`,
      [club.id],
    );
    expect(await wakesBy(club.id, () => keeping.update(space, { auto_join: true }))).to.deep.equal([
      `space-fill/${space}`,
    ]);
    expect(await memberCount(space)).to.equal(0);
    expect(await fill(space)).to.deep.equal({ done: true, outcome: 'filled' });
    expect(await memberCount(space)).to.equal(1_101);
    expect(await wakesBy(club.id, () => keeping.update(space, { auto_join: true, name: 'Pier' }))).to.deep.equal([]);
  });

  it('begin even for a sign-up that commits after `auto_join` was switched on (ADR 31)', async () => {
    const space = await created();
    await withOpenTransaction(
      (tx) =>
        tx.manager.query(
          `INSERT INTO students (id, club_id, name, email, opened_by, created_at) VALUES ($1, $2, 'Late', 'late@example.com', 'sign_up', now())`,
          [newId(), club.id],
        ),
      async () => {
        await keeping.update(space, { auto_join: true });
        expect(await fill(space)).to.include({ done: false, waits: true });
      },
    );
    for (let tries = 0; !(await fill(space)).done && tries < 500; tries++);
    expect(await memberCount(space)).to.equal(2);
  });

  it('are not delayed by transactions that write other tables (ADR 31)', async () => {
    const space = await created();
    const other = await buildClub();
    await withOpenTransaction(
      (tx) => tx.manager.query(`UPDATE clubs SET name = name WHERE id = $1`, [other.id]),
      async () => {
        await keeping.update(space, { auto_join: true });
        expect(await fill(space)).to.deep.equal({ done: true, outcome: 'filled' });
      },
    );
    expect(await memberCount(space)).to.equal(1);
  });

  it('are all counted in an open space, but in a private space only those with access', async () => {
    const space = await buildSpace(club.id);
    const deliveryId = await buildSpaceDelivery(space);
    await buildEnrollment(club.id, { studentId: student.id, deliveryId });
    const other = await buildStudent(club.id);
    for (const who of [student, other]) await communityOf({ clubId: club.id }, who).join(space.id);
    const filled = async () => {
      for (let tries = 0; !(await fill(space.id)).done && tries < 500; tries++);
      return memberCount(space.id);
    };
    await keeping.update(space.id, { private: true });
    expect(await filled()).to.equal(1);
    await keeping.update(space.id, { private: false });
    expect(await filled()).to.equal(2);
  });

  it('end if the student is removed during a revocation, and are no longer counted', async () => {
    const space = await buildSpace(club.id, { private: true, autoJoin: true });
    const deliveryId = await buildSpaceDelivery(space);
    const granted = await callsOf(club)('POST', '/enrollments', { student_id: student.id, delivery_id: deliveryId });
    let removing: Promise<unknown> | undefined;
    await withOpenTransaction(
      (tx) => revokeAccess(tx, club.id, granted.body.data.id, 'revocation', new Date()),
      async () => {
        removing = callsOf(club)('DELETE', `/students/${student.id}`);
        await untilWaitingForLocks(1);
      },
    );
    await removing;
    expect(await membershipOf(space.id, student.id)).to.equal(undefined);
    expect(await memberCount(space.id)).to.equal(0);
  });
});
