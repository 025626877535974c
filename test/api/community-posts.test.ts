/** Tests posts, comments, reactions, reports and moderation in spaces (COMM-10 to COMM-16). */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { retainModeration } from '../../domain/community/moderation.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildEnrollment, buildLearner, buildOpenCourse } from '../toolkit/builders/access.ts';
import { buildClub, buildMember, buildStudent, type TestClub, type TestStudent } from '../toolkit/builders/clubs.ts';
import {
  buildPostFile,
  buildSpace,
  buildSpaceDelivery,
  buildSpaceMembership,
  type SpaceOptions,
} from '../toolkit/builders/community.ts';
import { buildMedia } from '../toolkit/builders/media.ts';
import { call, clock, expectError, visible } from '../toolkit/drive/api.ts';
import { classroomOf } from '../toolkit/drive/classroom.ts';
import { callsOf } from '../toolkit/drive/club-calls.ts';
import { communityOf, moderatingOf, talkingOf } from '../toolkit/drive/community.ts';
import { inThisOrder, untilWaitingForLocks, withOpenTransaction } from '../toolkit/drive/races.ts';
import { withClockStopped } from '../toolkit/fakes/timers.ts';
import { columnsHolding, rowCounts, testDatabase, testDeps } from '../toolkit/stack/database.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';

const hour = 3_600_000;
type Talk = ReturnType<typeof talkingOf>;

let club: TestClub;
let space: { id: Id; clubId: Id };
let author: TestStudent;
let other: TestStudent;
let mine: Talk;
let theirs: Talk;
let admins: Talk;
let moderate: ReturnType<typeof moderatingOf>;

const memberOf = async (name: string): Promise<TestStudent> => {
  const student = await buildStudent(club.id, { name });
  await buildSpaceMembership(space, student.id);
  return student;
};
const begin = async () => {
  club = await buildClub();
  space = await buildSpace(club.id);
  [author, other] = [await memberOf('Ada'), await memberOf('Bo')];
  mine = talkingOf(club.id, author.token);
  theirs = talkingOf(club.id, other.token);
  admins = talkingOf(club.id, club.owner.token);
  moderate = moderatingOf(club);
};
const published = async (talk = mine, body: object = { body: 'Ahoy' }): Promise<{ id: Id; public_id: string }> =>
  (await talk.publish(space.id, body)).body.data;
const commented = async (publicId: string, talk = theirs, body: object = { body: 'Aye' }): Promise<Id> =>
  (await talk.comment(publicId, body)).body.data.id;
const bodiesOf = async (list: Promise<{ body: { data: { body?: string }[]; total: number } }>) => {
  const { data, total } = (await list).body;
  return [data.map(({ body }) => body ?? null), total];
};

describe('posts of spaces', () => {
  beforeEach(begin);

  it('creates a post, and shows it to its author, other students and administrators', async () => {
    const { status, body } = await mine.publish(space.id, { title: ' The  knot ', body: 'It *holds*.' });
    expect(status).to.equal(201);
    const { id, public_id: publicId, created_at: createdAt } = body.data;
    expect(publicId).to.match(/^[a-z0-9]{20,25}$/);
    const record = {
      id,
      public_id: publicId,
      space_id: space.id,
      title: 'The knot',
      body: 'It *holds*.',
      author: { kind: 'student', name: 'Ada' },
      files: [],
      pinned: false,
      locked: false,
      hidden: false,
      deleted: false,
      comment_count: 0,
      reactions: [],
      created_at: createdAt,
    };
    expect(body.data).to.deep.equal({ ...record, own: true });
    for (const talk of [theirs, admins]) {
      expect((await talk.read(publicId)).body.data).to.deep.equal({ ...record, own: false });
      expect((await talk.posts(space.id)).body).to.deep.equal({ data: [{ ...record, own: false }], total: 1 });
    }
    const byAdmin = (await admins.publish(space.id, { body: 'Welcome' })).body.data;
    expect(byAdmin).to.deep.include({ author: { kind: 'administrator', name: 'Ada Administrator' }, own: true });
  });

  it('lists pinned posts first and then the newest posts, in pages (COMM-10)', async () => {
    const posts = [];
    for (const body of ['one', 'two', 'three', 'four']) {
      posts.push(await published(mine, { body }));
      clock.advance(1_000);
    }
    await moderate.post(posts[1]?.public_id ?? '', 'pin');
    expect(await bodiesOf(theirs.posts(space.id))).to.deep.equal([['two', 'four', 'three', 'one'], 4]);
    expect(await bodiesOf(theirs.posts(space.id, '?page_size=3&page=2'))).to.deep.equal([['one'], 4]);
    await moderate.post(posts[1]?.public_id ?? '', 'unpin');
    expect(await bodiesOf(theirs.posts(space.id))).to.deep.equal([['four', 'three', 'two', 'one'], 4]);
  });

  it('returns 409 post_exists for a repeated request, even after the post was deleted', async () => {
    const id = randomUUID();
    const [one, two] = await inThisOrder(
      sql`SELECT 1 FROM students WHERE id = ${author.id} FOR NO KEY UPDATE`,
      () => mine.publish(space.id, { id, body: 'Ahoy' }),
      () => mine.publish(space.id, { id: id.toUpperCase(), body: 'Ahoy' }),
    );
    expect(one.status).to.equal(201);
    expectError(two, 'post_exists');
    await mine.delete(one.body.data.public_id);
    const before = await rowCounts();
    expectError(await mine.publish(space.id, { id, body: 'Ahoy' }), 'post_exists');
    expect(await rowCounts()).to.deep.equal(before);
    const comment = randomUUID();
    const { public_id: publicId } = await published();
    expect((await theirs.comment(publicId, { id: comment, body: 'Aye' })).status).to.equal(201);
    expectError(await theirs.comment(publicId, { id: comment, body: 'Aye' }), 'post_exists');
  });

  it('returns 409 post_exists if a post or a comment of any club already uses the id', async () => {
    const post = await published();
    await theirs.report(post.public_id);
    const comment = await commented(post.public_id);
    const elsewhere = await buildClub();
    const { id } = await buildSpace(elsewhere.id);
    const before = await rowCounts();
    expectError(
      await mine.comment(post.public_id, { id: post.id, body: 'I settle reports of my post' }),
      'post_exists',
    );
    expectError(await mine.publish(space.id, { id: comment, body: 'Ahoy' }), 'post_exists');
    const stranger = talkingOf(elsewhere.id, elsewhere.owner.token);
    expectError(await stranger.publish(id, { id: comment, body: 'Ahoy' }), 'post_exists');
    expectError(await stranger.publish(id, { id: post.id, body: 'Ahoy' }), 'post_exists');
    expect((await moderate.reports()).body.total).to.equal(1);
    expect(await rowCounts()).to.deep.equal(before);
  });

  it('returns 409 post_exists to one of two simultaneous requests that choose the same id', async () => {
    const [id, { public_id: publicId }] = [randomUUID(), await published()];
    const answers = await inThisOrder(
      sql`SELECT 1 FROM students WHERE id IN (${author.id}, ${other.id}) FOR NO KEY UPDATE`,
      () => mine.publish(space.id, { id, body: 'Ahoy' }),
      () => theirs.comment(publicId, { id, body: 'Aye' }),
    );
    expect(answers.map(({ status }) => status)).to.have.members([201, 409]);
  });

  it('stores raw HTML as text and remote images as links, and refuses a bad link (COMM-10)', async () => {
    const written = '`<b>` A List<String> ![x](https://evil.example/pixel.png) <img/src=x/onerror=alert(1)> <3';
    const stored = '`<b>` A List&lt;String> ! [x](https://evil.example/pixel.png) &lt;img/src=x/onerror=alert(1)> <3';
    const post = await mine.publish(space.id, { title: 'On <b>', body: written });
    expect(post.body.data).to.include({ title: 'On < b>', body: stored });
    expect((await mine.edit(post.body.data.public_id, { body: written })).body.data).to.include({ body: stored });
    expect((await mine.comment(post.body.data.public_id, { body: written })).body.data).to.include({ body: stored });
    const refused = await mine.publish(space.id, { body: '[x](//evil.example)' });
    expectError(refused, 'invalid_request');
    expect(refused.body.error.message).to.contain('body has a link that leads elsewhere');
  });

  it('returns 422 for an empty, blank, too long or unsafe body, and accepts 20,000 characters', async () => {
    expect((await mine.publish(space.id, { body: '🎓'.repeat(20_000) })).status).to.equal(201);
    const { public_id: publicId } = await published();
    const before = await rowCounts();
    const unsafe = '[x](javascript:alert(1))';
    await eachCase(['', ' \n', 'x'.repeat(20_001), 'a\u0000b', '\u200b', '\u3164\u00ad', unsafe], async (body) => {
      expectError(await mine.publish(space.id, { body }), 'invalid_request');
      expectError(await mine.edit(publicId, { body }), 'invalid_request');
    });
    for (const body of ['', 'x'.repeat(5_001), unsafe])
      expectError(await mine.comment(publicId, { body }), 'invalid_request');
    expectError(
      await mine.publish(space.id, { body: 'x', file_ids: Array.from({ length: 11 }, newId) }),
      'invalid_request',
    );
    expectError(await mine.react(publicId, 'seventh'), 'invalid_request');
    expect(await rowCounts()).to.deep.equal(before);
  });

  it('lets only the author edit or delete a post, and lets an author without access delete it', async () => {
    const { public_id: publicId } = await published();
    expectError(await theirs.edit(publicId, { body: 'Mine now' }), 'not_entitled');
    expectError(await admins.edit(publicId, { body: 'Mine now' }), 'not_entitled');
    expectError(await theirs.delete(publicId), 'not_entitled');
    clock.advance(1_000);
    const edited = (await mine.edit(publicId, { title: 'Late', body: 'Ahoy!' })).body.data;
    expect(edited).to.include({ title: 'Late', body: 'Ahoy!' }).and.to.have.property('edited_at');
    expect((await mine.edit(publicId, { title: '' })).body.data).to.not.have.property('title');
    await communityOf({ clubId: club.id }, author).leave(space.id);
    expectError(await mine.edit(publicId, { body: 'Gone' }), 'not_entitled');
    await (
      await testDatabase()
    ).query(`UPDATE community_spaces SET private = true, hidden = true WHERE id = $1`, [space.id]);
    expectError(await mine.read(publicId), 'not_found');
    expect((await mine.delete(publicId)).status).to.equal(204);
    expectError(await admins.read(publicId), 'not_found');
    expect(await bodiesOf(admins.posts(space.id))).to.deep.equal([[], 0]);
  });

  it('keeps a deleted post without its text if others commented on it, and removes other posts', async () => {
    const post = await published(mine, { title: 'Kept', body: 'secretword' });
    await mine.react(post.public_id);
    await commented(post.public_id);
    const removed = await published(mine, { body: 'gone' });
    await commented(removed.public_id, mine, { body: 'to myself' });
    for (let twice = 0; twice < 2; twice++) expect((await mine.delete(post.public_id)).status).to.equal(204);
    await mine.delete(removed.public_id);
    expectError(await mine.delete(removed.public_id), 'not_found');
    const { data, total } = (await theirs.posts(space.id)).body;
    expect(total).to.equal(1);
    expect(data[0]).to.include({ id: post.id, deleted: true, comment_count: 1 });
    expect(data[0]).to.not.have.any.keys('title', 'body', 'author');
    expect(await columnsHolding('secretword')).to.deep.equal([]);
    expect(await columnsHolding('to myself')).to.deep.equal([]);
    expectError(await theirs.comment(post.public_id), 'post_locked');
    expectError(await theirs.react(post.public_id), 'not_found');
    expect(await bodiesOf(theirs.comments(post.public_id))).to.deep.equal([['Aye'], 1]);
  });

  it('keeps a comment that another person writes while the post is being deleted', async () => {
    const [one, two] = [await published(), await published()];
    const lock = (id: Id) => sql`SELECT 1 FROM community_posts WHERE id = ${id} FOR UPDATE`;
    const [comment, deletion] = await inThisOrder(
      lock(one.id),
      () => theirs.comment(one.public_id),
      () => mine.delete(one.public_id),
    );
    expect([comment.status, deletion.status]).to.deep.equal([201, 204]);
    expect((await theirs.read(one.public_id)).body.data).to.include({ deleted: true, comment_count: 1 });
    const [first, late] = await inThisOrder(
      lock(two.id),
      () => mine.delete(two.public_id),
      () => theirs.comment(two.public_id),
    );
    expect(first.status).to.equal(204);
    expectError(late, 'not_found');
  });

  it('allows an action only if the table of COMM-3 allows it for space, access, membership and role', async () => {
    const ahead = (ms: number) => new Date(Date.now() + ms);
    const spaces: (SpaceOptions & { private: boolean; hidden: boolean })[] = [
      { private: false, hidden: false },
      { private: true, hidden: false },
      { private: true, hidden: true },
      { private: true, hidden: false, posting: 'admins' },
      { private: false, hidden: false, archived: true },
    ];
    const access = {
      none: undefined,
      valid: { startsAt: ahead(-hour) },
      over: { startsAt: ahead(-hour), endsAt: ahead(-1) },
    };
    for (const options of spaces)
      for (const [kind, enrollment] of Object.entries(access))
        for (const status of ['never', 'joined', 'left', 'banned'] as const) {
          const place = await buildSpace(club.id, options);
          if (enrollment)
            await buildEnrollment(club.id, {
              studentId: author.id,
              deliveryId: await buildSpaceDelivery(place),
              ...enrollment,
            });
          if (status !== 'never') await buildSpaceMembership(place, author.id, { status });
          const post = (await admins.publish(place.id)).body.data;
          const hasAccess = !options.private || kind === 'valid';
          const isSeen = !options.archived && (hasAccess || !options.hidden);
          const reads = !isSeen ? 'not_found' : hasAccess ? 200 : 'not_entitled';
          const writes = reads === 200 && status !== 'joined' ? 'not_entitled' : reads;
          const posts = writes === 200 && options.posting === 'admins' ? 'not_entitled' : writes;
          const outcomes = await Promise.all(
            (
              [
                [mine.posts(place.id), reads],
                [mine.read(post.public_id), reads],
                [mine.comments(post.public_id), reads],
                [mine.react(post.public_id), writes],
                [mine.comment(post.public_id), writes],
                [mine.publish(place.id), posts],
              ] as const
            ).map(async ([answer, expected]) => [await answer, expected] as const),
          );
          const what = JSON.stringify([options, kind, status]);
          expect(
            outcomes.map(([{ status: got, body }]) => body.error?.code ?? got - (got % 100)),
            what,
          ).to.deep.equal(outcomes.map(([, expected]) => expected));
          clock.advance(hour / 10); // Moves the clock, so that the next calls count in later time windows of the rate limits.
        }
    const reader = talkingOf(club.id, (await buildMember(club.id, 'support')).token);
    expect((await reader.posts(space.id)).status).to.equal(200);
    expectError(await reader.publish(space.id), 'role_not_permitted');
    const stranger = talkingOf(club.id, (await buildStudent((await buildClub()).id)).token);
    expectError(await stranger.posts(space.id), 'forbidden');
  });
});

describe('comments and reactions of posts', () => {
  beforeEach(begin);

  it('are listed with one level of replies, oldest first (COMM-11)', async () => {
    const { public_id: publicId } = await published();
    const first = await commented(publicId, theirs, { body: 'one' });
    clock.advance(1_000);
    const reply = await mine.comment(publicId, { body: 'two', reply_to: first });
    expect(reply.status).to.equal(201);
    expect(reply.body.data).to.deep.equal({
      id: reply.body.data.id,
      reply_to: first,
      body: 'two',
      author: { kind: 'student', name: 'Ada' },
      own: true,
      hidden: false,
      deleted: false,
      reactions: [],
      created_at: reply.body.data.created_at,
    });
    expect(await bodiesOf(admins.comments(publicId))).to.deep.equal([['one', 'two'], 2]);
    const elsewhere = await commented((await published()).public_id);
    const before = await rowCounts();
    expectError(await theirs.comment(publicId, { body: 'x', reply_to: reply.body.data.id }), 'invalid_request');
    for (const replyTo of [newId(), elsewhere])
      expectError(await theirs.comment(publicId, { body: 'x', reply_to: replyTo }), 'not_found');
    expect(await rowCounts()).to.deep.equal(before);
    expect((await mine.read(publicId)).body.data.comment_count).to.equal(2);
  });

  it('lose only their text if they are deleted and have a reply', async () => {
    const { public_id: publicId } = await published();
    const answered = await commented(publicId, theirs, { body: 'one' });
    await commented(publicId, mine, { body: 'two', reply_to: answered });
    const single = await commented(publicId, theirs, { body: 'three' });
    expectError(await mine.deleteComment(publicId, single), 'not_entitled');
    for (const id of [answered, single]) expect((await theirs.deleteComment(publicId, id)).status).to.equal(204);
    expectError(await theirs.deleteComment(publicId, single), 'not_found');
    expect(await bodiesOf(mine.comments(publicId))).to.deep.equal([[null, 'two'], 2]);
    expectError(await mine.comment(publicId, { body: 'x', reply_to: answered }), 'not_found');
    expectError(await theirs.editComment(publicId, answered, 'again'), 'not_found');
  });

  it('can be deleted by their author, even if the post is hidden', async () => {
    const { public_id: publicId } = await published();
    const comment = await commented(publicId);
    await moderate.post(publicId, 'hide');
    expectError(await theirs.read(publicId), 'not_found');
    expectError(await theirs.editComment(publicId, comment, 'x'), 'not_found');
    expect((await theirs.deleteComment(publicId, comment)).status).to.equal(204);
  });

  it('have six kinds of reactions, one of each kind per person (COMM-12)', async () => {
    const { public_id: publicId } = await published();
    const comment = await commented(publicId);
    for (const kind of ['laugh', 'like', 'love', 'celebrate', 'insightful', 'support'])
      for (let twice = 0; twice < 2; twice++) expect((await mine.react(publicId, kind)).status).to.equal(200);
    await theirs.react(publicId, 'like');
    const all = await admins.react(publicId, 'like');
    const kinds = ['like', 'love', 'celebrate', 'insightful', 'support', 'laugh'];
    expect(all.body.data.reactions).to.deep.equal(
      kinds.map((kind) => ({ kind, count: kind === 'like' ? 3 : 1, own: kind === 'like' })),
    );
    for (let twice = 0; twice < 2; twice++) expect((await mine.unreact(publicId, 'love')).status).to.equal(200);
    const { reactions } = (await mine.read(publicId)).body.data;
    expect(reactions.map(({ kind }: { kind: string }) => kind)).to.deep.equal(kinds.filter((kind) => kind !== 'love'));
    expect((await mine.reactToComment(publicId, comment)).body.data.reactions).to.deep.equal([
      { kind: 'like', count: 1, own: true },
    ]);
    expect((await mine.unreactToComment(publicId, comment)).body.data.reactions).to.deep.equal([]);
  });

  it('show a space as `unread` if others posted after the read mark, unless it is muted (COMM-1)', async () => {
    const spaces = communityOf({ clubId: club.id }, author);
    const unread = async () => (await spaces.read(space.id)).body.data.unread;
    const mark = () => spaces.markRead(space.id, clock.now());
    const unreadMarks: boolean[] = [];
    const after = async (act: () => Promise<unknown>) => {
      clock.advance(1_000);
      await act();
      unreadMarks.push(await unread());
    };
    await after(() => published(mine));
    let post = { id: '', public_id: '' };
    await after(async () => void (post = await published(theirs)));
    await after(() => moderate.post(post.public_id, 'hide'));
    await after(() => moderate.post(post.public_id, 'restore'));
    await after(() => spaces.change(space.id, { muted: true }));
    await after(() => spaces.change(space.id, { muted: false }));
    await after(mark);
    await after(() => commented(post.public_id));
    await after(() => published(admins));
    await after(() => spaces.leave(space.id));
    await after(() => spaces.join(space.id));
    expect(unreadMarks).to.deep.equal([false, true, false, true, false, true, false, false, true, false, false]);
  });
});

describe('files of posts', () => {
  beforeEach(begin);

  it('are attached in the given order, if the student owns them and no other post has them (COMM-15)', async () => {
    const [one, two, three] = [
      await buildPostFile(club.id, author.id),
      await buildPostFile(club.id, author.id),
      await buildPostFile(club.id, author.id),
    ];
    const post = await published(mine, { body: 'x', file_ids: [two, one.toUpperCase()] });
    const filesOf = async () => (await theirs.read(post.public_id)).body.data.files.map(({ id }: { id: Id }) => id);
    expect(await filesOf()).to.deep.equal([two, one]);
    const [foreign, library] = [await buildPostFile(club.id, other.id), (await buildMedia(club.id, { bytes: 'x' })).id];
    const before = await rowCounts();
    for (const ids of [[one], [three, three], [foreign], [library], [newId()]])
      expectError(await mine.publish(space.id, { body: 'x', file_ids: ids }), 'invalid_file');
    expect(await rowCounts()).to.deep.equal(before);
    expect((await mine.edit(post.public_id, { file_ids: [three, two] })).status).to.equal(200);
    expect(await filesOf()).to.deep.equal([three, two]);
    const erases = async (id: Id) => {
      const [row] = await (
        await testDatabase()
      ).query<{ erases: boolean; removed: boolean }[]>(
        `SELECT erases_at IS NOT NULL AS erases, removed_at IS NOT NULL AS removed FROM media WHERE id = $1`,
        [id],
      );
      return row;
    };
    expect(await erases(one)).to.deep.equal({ erases: true, removed: false });
    expect(await erases(two)).to.deep.equal({ erases: false, removed: false });
    await mine.delete(post.public_id);
    expect(await erases(two)).to.deep.equal({ erases: true, removed: true });
  });

  it('can be library files if an administrator writes the post, and then count as in use', async () => {
    const file = await buildMedia(club.id, { bytes: 'x' });
    const post = await published(admins, { title: 'Rules', body: 'x', file_ids: [file.id] });
    expect((await theirs.read(post.public_id)).body.data.files).to.have.length(1);
    expect((await callsOf(club)('GET', `/media/${file.id}/usage`)).body.data).to.deep.equal([
      { kind: 'post', id: post.id, title: 'Rules' },
    ]);
    expectError(await callsOf(club)('DELETE', `/media/${file.id}`), 'in_use');
    await admins.delete(post.public_id);
    expect((await callsOf(club)('DELETE', `/media/${file.id}`)).status).to.equal(204);
  });

  it('can be images or PDFs, and a reservation above twenty files causes 409 too_many_files', async () => {
    const announced = { file_name: 'knot.png', mime: 'image/png', size_bytes: 100 };
    expect((await mine.reserve(announced)).status).to.equal(201);
    for (const bad of [{ mime: 'text/plain' }, { size_bytes: 20_971_521 }, { file_name: '../x' }])
      expectError(await mine.reserve({ ...announced, ...bad }), 'invalid_request');
    for (let number = 2; number <= 20; number++) await buildPostFile(club.id, author.id);
    const before = await rowCounts();
    expectError(await mine.reserve(announced), 'too_many_files');
    expect(await rowCounts()).to.deep.equal(before);
  });
});

describe('moderation of posts and comments', () => {
  beforeEach(begin);

  it('can hide, pin, lock and delete posts, and is stored action by action (COMM-13)', async () => {
    const { public_id: publicId } = await published();
    const comment = await commented(publicId);
    for (const action of ['hide', 'pin', 'lock'])
      expect((await moderate.post(publicId, action, 'Why not')).status).to.equal(201);
    for (const talk of [mine, admins])
      expect((await talk.read(publicId)).body.data).to.include({ hidden: true, pinned: true, locked: true });
    expect(visible(await theirs.read(publicId))).to.equal(visible(await theirs.read('none')));
    expect(await bodiesOf(theirs.posts(space.id))).to.deep.equal([[], 0]);
    expect(await bodiesOf(mine.posts(space.id))).to.deep.equal([['Ahoy'], 1]);
    expect(await bodiesOf(admins.posts(space.id))).to.deep.equal([['Ahoy'], 1]);
    for (const action of ['restore', 'unpin']) await moderate.post(publicId, action);
    expectError(await theirs.comment(publicId), 'post_locked');
    expect((await admins.comment(publicId)).status).to.equal(201);
    await moderate.post(publicId, 'unlock');
    expect((await theirs.comment(publicId)).status).to.equal(201);

    await moderate.comment(publicId, comment, 'hide');
    expect((await mine.comments(publicId)).body.total).to.equal(2);
    expect((await theirs.comments(publicId)).body.total).to.equal(3);
    expect((await mine.read(publicId)).body.data.comment_count).to.equal(2);
    await moderate.comment(publicId, comment, 'restore');
    await moderate.comment(publicId, comment, 'delete');
    expectError(await moderate.comment(publicId, comment, 'hide'), 'not_found');
    expectError(await moderate.comment(publicId, newId(), 'pin'), 'invalid_request');
    await moderate.post(publicId, 'delete');
    const { data, total } = (await moderate.acts()).body;
    expect(data.map(({ action }: { action: string }) => action).toReversed()).to.deep.equal(
      'hide pin lock restore unpin unlock hide restore delete delete'.split(' '),
    );
    expect(total).to.equal(10);
    expect(data.at(-1)).to.deep.include({
      reason: 'Why not',
      administrator: { id: club.owner.id, name: 'Ada Administrator' },
    });
  });

  it('accepts one report per student of a post, and closes it when a moderator acts (COMM-14)', async () => {
    const [one, two] = [await published(), await published(mine, { title: 'Two', body: 'Buy' })];
    const comment = await commented(one.public_id);
    expect((await theirs.report(one.public_id, { reason: 'Spam' })).status).to.equal(201);
    expectError(await theirs.report(one.public_id), 'already_reported');
    clock.advance(1_000);
    await theirs.report(two.public_id);
    clock.advance(1_000);
    await mine.reportComment(one.public_id, comment, { reason: 'Rude' });
    const { data, total } = (await moderate.reports()).body;
    expect(total).to.equal(3);
    expect(data[0]).to.deep.equal({
      id: data[0].id,
      post_public_id: one.public_id,
      space_id: space.id,
      body: 'Ahoy',
      hidden: false,
      student: { id: other.id, name: 'Bo' },
      reason: 'Spam',
      created_at: data[0].created_at,
    });
    expect(data[2]).to.include({ comment_id: comment, body: 'Aye', reason: 'Rude' });
    await moderate.post(one.public_id, 'hide');
    expect((await moderate.reports()).body.total).to.equal(2);
    for (let twice = 0; twice < 2; twice++) expect((await moderate.dismiss(data[1].id)).status).to.equal(204);
    await theirs.deleteComment(one.public_id, comment);
    expect((await moderate.reports()).body).to.deep.equal({ data: [], total: 0 });
    expectError(await theirs.report(two.public_id), 'already_reported');
    expectError(await moderate.dismiss(newId()), 'not_found');
    const elsewhere = await buildSpace(club.id, { private: true });
    const locked = (await admins.publish(elsewhere.id)).body.data;
    expectError(await theirs.report(locked.public_id), 'not_entitled');
  });

  it('returns 404 to a report if the post or comment is deleted or hidden at the same time', async () => {
    const [deleted, emptied, hidden, commentedPost] = [
      await published(),
      await published(),
      await published(),
      await published(),
    ];
    await commented(emptied.public_id);
    const comment = await commented(commentedPost.public_id);
    const races: [{ id: Id }, () => Promise<unknown>, () => ReturnType<typeof theirs.report>][] = [
      [deleted, () => mine.delete(deleted.public_id), () => theirs.report(deleted.public_id)],
      [emptied, () => mine.delete(emptied.public_id), () => theirs.report(emptied.public_id)],
      [hidden, () => moderate.post(hidden.public_id, 'hide'), () => theirs.report(hidden.public_id)],
      [
        commentedPost,
        () => theirs.deleteComment(commentedPost.public_id, comment),
        () => mine.reportComment(commentedPost.public_id, comment),
      ],
    ];
    for (const [{ id }, act, report] of races) {
      const lock = sql`SELECT 1 FROM community_posts WHERE id = ${id} FOR NO KEY UPDATE`;
      const [, late] = await inThisOrder(lock, act, report);
      expectError(late, 'not_found');
    }
    expect((await moderate.reports()).body).to.deep.equal({ data: [], total: 0 });
  });

  it('is recorded for a year', async () => {
    const { public_id: publicId } = await published();
    await theirs.report(publicId);
    await moderate.post(publicId, 'pin');
    const { db } = await testDeps();
    const year = 365 * 24 * hour;
    const counts = async () => [(await moderate.reports()).body.total, (await moderate.acts()).body.total];
    await retainModeration(db, new Date(Date.now() + year - 24 * hour));
    expect(await counts()).to.deep.equal([1, 1]);
    await retainModeration(db, new Date(Date.now() + year + hour));
    expect(await counts()).to.deep.equal([0, 0]);
  });
});

describe('limits of the community', () => {
  beforeEach(begin);

  it('cause 429 for a student’s 21st post in an hour, but not for other people (LIM-9)', () =>
    withClockStopped(async () => {
      for (let number = 1; number <= 20; number++)
        expect((await mine.publish(space.id)).status, `${number}`).to.equal(201);
      const before = await rowCounts();
      expectError(await mine.publish(space.id), 'rate_limited');
      expect(await rowCounts()).to.deep.equal(before);
      expect((await theirs.publish(space.id)).status).to.equal(201);
      for (let number = 1; number <= 21; number++) expect((await admins.publish(space.id)).status).to.equal(201);
    }));

  it('cause 429 for a student’s 11th comment in a minute, on lessons and posts together (LIM-8)', () =>
    withClockStopped(async () => {
      const course = await buildOpenCourse(club.id, { lessons: 1 });
      const learner = await buildLearner(course, author);
      const lesson = classroomOf(course, learner);
      const { public_id: publicId } = await published();
      for (let number = 1; number <= 5; number++) {
        expect((await mine.comment(publicId)).status).to.equal(201);
        expect((await lesson.comment(course.lessons[0]?.publicId ?? '', 'Aye')).status).to.equal(201);
      }
      expectError(await mine.comment(publicId), 'rate_limited');
      expectError(await lesson.comment(course.lessons[0]?.publicId ?? '', 'Aye'), 'rate_limited');
      expect((await mine.react(publicId)).status).to.equal(200);
      expect((await mine.edit(publicId, { body: 'Ahoy!' })).status).to.equal(200);
      expect((await theirs.comment(publicId)).status).to.equal(201);
    }));

  it('count posts of administrators among the 60 writes a minute of the club (LIM-1)', () =>
    withClockStopped(async () => {
      const published60 = await Promise.all(Array.from({ length: 60 }, () => admins.publish(space.id)));
      expect(new Set(published60.map(({ status }) => status))).to.deep.equal(new Set([201]));
      expectError(await admins.publish(space.id), 'rate_limited');
    }));
});

describe('the removal of a student from the community', () => {
  beforeEach(begin);

  it('erases the student’s texts, memberships, reactions and reports, but not texts of others (COMM-16)', async () => {
    const post = await published(mine, { title: 'quenbytitle', body: 'quenbybody' });
    await commented(post.public_id, theirs, { body: 'Well said' });
    const file = await buildPostFile(club.id, author.id);
    await published(mine, { body: 'quenbygone', file_ids: [file] });
    clock.advance(1_000);
    const their = await published(theirs);
    const comment = await commented(their.public_id, mine, { body: 'quenbycomment' });
    clock.advance(1_000);
    await commented(their.public_id, theirs, { body: 'A reply', reply_to: comment });
    await mine.react(their.public_id);
    await mine.report(their.public_id, { reason: 'quenbyreport' });
    await theirs.reportComment(their.public_id, comment, { reason: 'About quenby' });
    await moderate.comment(their.public_id, comment, 'hide', 'quenby again');
    await moderate.comment(their.public_id, comment, 'restore');
    expect((await columnsHolding('quenby')).length).to.be.above(4);
    expect((await callsOf(club)('DELETE', `/students/${author.id}`)).status).to.equal(204);
    expect(await columnsHolding('quenby')).to.deep.equal([]);
    expect(await bodiesOf(theirs.posts(space.id))).to.deep.equal([['Ahoy', null], 2]);
    expect(await bodiesOf(theirs.comments(their.public_id))).to.deep.equal([[null, 'A reply'], 2]);
    expect((await theirs.read(their.public_id)).body.data.reactions).to.deep.equal([]);
    expect((await moderate.reports()).body.total).to.equal(0);
    expect((await communityOf({ clubId: club.id }, other).read(space.id)).body.data.member_count).to.equal(0 + 1);
    const answer = await call('GET', `/v1/clubs/${club.id}/classroom/posts/${post.public_id}`, { token: other.token });
    expect(answer.body.data).to.include({ deleted: true, own: false });
  });

  it('erases the student’s replies, and the comments without replies of others', async () => {
    const post = await published(theirs);
    const comment = await commented(post.public_id, mine);
    clock.advance(1_000);
    await commented(post.public_id, mine, { body: 'I add', reply_to: comment });
    await callsOf(club)('DELETE', `/students/${author.id}`);
    expect(await bodiesOf(theirs.comments(post.public_id))).to.deep.equal([[], 0]);
  });

  it('keeps comments that others write at the same time, and erases only the text of the post', async () => {
    const [post, their] = [await published(), await published(theirs)];
    const answered = await commented(their.public_id, mine);
    let removal: Promise<{ status: number }> | undefined;
    await withOpenTransaction(
      async (tx) => {
        await tx.run(sql`SELECT FROM community_posts WHERE id = ${post.id} FOR SHARE`);
        await tx.run(sql`SELECT FROM community_comments WHERE id = ${answered} FOR SHARE`);
        await tx.run(sql`INSERT INTO community_comments (id, club_id, post_id, reply_to, student_id, body, created_at)
          VALUES (${newId()}, ${club.id}, ${post.id}, NULL, ${other.id}, 'Aye', ${clock.now()}),
                 (${newId()}, ${club.id}, ${their.id}, ${answered}, ${other.id}, 'Nay', ${new Date(clock.now().getTime() + 1)})`);
      },
      async () => {
        removal = callsOf(club)('DELETE', `/students/${author.id}`);
        await untilWaitingForLocks(1);
      },
    );
    expect((await removal)?.status).to.equal(204);
    expect(await bodiesOf(theirs.comments(post.public_id))).to.deep.equal([['Aye'], 1]);
    expect(await bodiesOf(theirs.comments(their.public_id))).to.deep.equal([[null, 'Nay'], 2]);
  });
});
