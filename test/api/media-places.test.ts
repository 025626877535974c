/**
 * Tests lessons, covers, agents and e-mails that use library files. The stored list of uses must match the contents that name the files
 * (MED-14).
 */
import { expect } from 'chai';
import fc from 'fast-check';
import sharp from 'sharp';
import { updateAutomation } from '../../domain/automations/versions/drafts.ts';
import { DomainError } from '../../platform/core/errors.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildLearner, buildOpenCourse, type OpenCourse } from '../toolkit/builders/access.ts';
import { buildAgent } from '../toolkit/builders/agents.ts';
import { buildClub, buildStudent, type TestClub } from '../toolkit/builders/clubs.ts';
import { buildMedia } from '../toolkit/builders/media.ts';
import { png } from '../toolkit/builders/pictures.ts';
import { expectError } from '../toolkit/drive/api.ts';
import { classroomOf } from '../toolkit/drive/classroom.ts';
import { callsOf } from '../toolkit/drive/club-calls.ts';
import { uploadFile } from '../toolkit/drive/media.ts';
import { testDatabase, testDeps } from '../toolkit/stack/database.ts';

const named = (...ids: Id[]) => ids.map((id) => `![A knot](media:${id})`).join('\n\n');
const email = (...ids: Id[]) => ({ subject: 'Knots', blocks: ids.map((id) => ({ kind: 'image', media_id: id })) });
const definition = (...ids: Id[]) => ({
  trigger: { kind: 'manual' },
  reentry: 'once',
  exit_on_access_lost: false,
  steps: [{ id: 'write', kind: 'send_email', email: email(...ids) }],
});

function unlessRefused(error: unknown): void {
  if (!(error instanceof DomainError)) throw error;
}

describe('records that use files of the library', () => {
  let club: TestClub;
  let course: OpenCourse;
  let call: ReturnType<typeof callsOf>;
  beforeEach(async () => {
    club = await buildClub();
    course = await buildOpenCourse(club.id, { modules: 1, lessons: 1 });
    call = callsOf(club);
  });

  const moduleId = () => course.moduleIds[0] ?? '';
  const usage = async (id: Id) =>
    ((await call('GET', `/media/${id}/usage`)).body.data as { kind: string; id: Id; title: string }[]).map(
      ({ kind, title }) => `${kind} ${title}`,
    );
  /** Creates a file like an uploaded file, but without an upload, which other tests cover. */
  const image = () => buildMedia(club.id, { title: 'knot.png', mime: 'image/png', bytes: png(4, 4) });

  describe('lessons (MED-19)', () => {
    it('use the files that their content names, from their creation until their removal', async () => {
      const [one, two] = [(await buildMedia(club.id)).id, (await buildMedia(club.id)).id];
      const created = await call('POST', `/modules/${moduleId()}/lessons`, {
        title: 'Bends',
        content: `${named(one, one.toUpperCase())} notmedia:${two} media:${two}-x`,
      });
      expect(created.status).to.equal(201);
      const { id } = created.body.data;
      expect([await usage(one), await usage(two)]).to.deep.equal([['lesson Bends'], []]);
      expect((await call('PATCH', `/lessons/${id}`, { title: 'Hitches' })).status).to.equal(200);
      expect(await usage(one)).to.deep.equal(['lesson Hitches']);
      await call('PATCH', `/lessons/${id}`, { content: named(two) });
      expect([await usage(one), await usage(two)]).to.deep.equal([[], ['lesson Hitches']]);
      await call('DELETE', `/lessons/${id}`);
      expect(await usage(two)).to.deep.equal([]);
    });

    it('refuse unknown files, archived files and more than 100 files, and then stay unchanged', async () => {
      const { id } = await buildMedia(club.id);
      const lesson = course.lessons[0]?.id ?? '';
      await call('PATCH', `/lessons/${lesson}`, { content: named(id) });
      const foreign = (await buildMedia((await buildClub()).id)).id;
      const students = (await buildMedia(club.id, { studentId: (await buildStudent(club.id)).id })).id;
      await eachCase([newId(), foreign, students], async (stranger) => {
        expectError(await call('PATCH', `/lessons/${lesson}`, { content: named(stranger) }), 'not_found');
        expectError(
          await call('POST', `/modules/${moduleId()}/lessons`, { title: 'x', content: named(stranger) }),
          'not_found',
        );
      });
      const archived = (await buildMedia(club.id)).id;
      await call('PATCH', `/media/${archived}`, { archived: true });
      expectError(await call('PATCH', `/lessons/${lesson}`, { content: named(archived) }), 'media_archived');
      const many = named(...Array.from({ length: 101 }, newId));
      expectError(await call('PATCH', `/lessons/${lesson}`, { content: many }), 'invalid_request');
      expect((await call('GET', `/lessons/${lesson}`)).body.data.content).to.equal(named(id));
      expect(await usage(id)).to.have.length(1);
    });

    it('can still be changed after one of their files was deleted with force=true', async () => {
      const { id } = await buildMedia(club.id);
      const lesson = course.lessons[0]?.id ?? '';
      await call('PATCH', `/lessons/${lesson}`, { content: named(id) });
      expectError(await call('DELETE', `/media/${id}`), 'in_use');
      expect((await call('DELETE', `/media/${id}?force=true`)).status).to.equal(204);
      expect((await call('PATCH', `/lessons/${lesson}`, { content: `More. ${named(id)}` })).status).to.equal(200);
      expectError(
        await call('POST', `/modules/${moduleId()}/lessons`, { title: 'x', content: named(id) }),
        'not_found',
      );
    });

    it('show their files in order, with valid addresses, only to students who can see the lesson', async () => {
      const [one, two, removed] = [await image(), await image(), await image()];
      const [lesson] = course.lessons;
      await call('PATCH', `/lessons/${lesson?.id}`, { content: named(two.id, removed.id, one.id, two.id) });
      await call('DELETE', `/media/${removed.id}?force=true`);
      const learner = await buildLearner(course);
      const lessonAnswer = await classroomOf(course, learner).lesson(lesson?.publicId ?? '');
      const media = lessonAnswer.body.data.media as { id: Id; preview_url: string; download_url: string }[];
      expect(media.map(({ id }) => id)).to.deep.equal([two.id, one.id]);
      for (const file of media) {
        expect(file).not.to.have.any.keys('favorite', 'usage_count');
        const answer = await fetch(file.preview_url, { headers: { range: 'bytes=0-3' } });
        expect([answer.status, (await answer.arrayBuffer()).byteLength]).to.deep.equal([206, 4]);
      }
      const stranger = await buildStudent(club.id);
      expectError(await classroomOf(course, stranger).lesson(lesson?.publicId ?? ''), 'not_found');
    });
  });

  describe('covers of courses', () => {
    it('are shown to administrators and students, and can be replaced and removed', async () => {
      const [one, two] = [await image(), await image()];
      const set = (cover: string) => call('PATCH', `/courses/${course.id}`, { cover_media_id: cover });
      expect((await set(one.id)).body.data.cover).to.include({ id: one.id, type: 'image' });
      expect(await usage(one.id)).to.deep.equal([`course ${course.title}`]);
      expect((await set(two.id)).body.data.cover.id).to.equal(two.id);
      expect(await usage(one.id)).to.deep.equal([]);
      expect((await call('GET', '/courses')).body.data[0].cover.id).to.equal(two.id);
      const learner = classroomOf(course, await buildLearner(course));
      expect((await learner.courses()).body.data[0].cover.id).to.equal(two.id);
      expect((await learner.course(course.publicId)).body.data.cover.id).to.equal(two.id);
      expect((await set('none')).body.data).not.to.have.any.keys('cover');
      expect(await usage(two.id)).to.deep.equal([]);
      const created = await call('POST', '/courses', { title: 'Other', cover_media_id: one.id });
      expect([created.status, created.body.data.cover.id]).to.deep.equal([201, one.id]);
    });

    it('return 422 for a file that is not a ready image, and 404 for an unknown file', async () => {
      const document = (await buildMedia(club.id)).id;
      const foreign = (await buildMedia((await buildClub()).id)).id;
      const reference = await call('POST', '/media/references', {
        provider: 'external',
        external_id: 'https://knots.org/a.png',
        title: 'x',
        kind: 'image',
      });
      await eachCase([document, reference.body.data.id, 'nothing'], async (id) =>
        expectError(await call('PATCH', `/courses/${course.id}`, { cover_media_id: id }), 'invalid_request'),
      );
      await eachCase([foreign, newId()], async (id) => {
        expectError(await call('PATCH', `/courses/${course.id}`, { cover_media_id: id }), 'not_found');
        expectError(await call('POST', '/courses', { title: 'x', cover_media_id: id }), 'not_found');
      });
      expect(await usage(document)).to.deep.equal([]);
    });
  });

  describe('e-mails', () => {
    it('use the images of drafts, and accept an archived image only if they already use it', async () => {
      const { id } = await image();
      const campaign = (await call('POST', '/campaigns', { name: 'News', content: email(id, newId()) })).body.data.id;
      const automation = (await call('POST', '/workflows', { name: 'Hello', draft: definition(id) })).body.data.id;
      expect(await usage(id)).to.deep.equal(['automation Hello', 'campaign News']);
      await call('PATCH', `/media/${id}`, { archived: true });
      expect((await call('PATCH', `/campaigns/${campaign}`, { content: email(id) })).status).to.equal(200);
      expectError(await call('POST', '/campaigns', { name: 'Other', content: email(id) }), 'media_archived');
      expectError(await call('POST', '/workflows', { name: 'Other', draft: definition(id) }), 'media_archived');
      await call('PATCH', `/media/${id}`, { archived: false });
      const copy = (await call('POST', `/campaigns/${campaign}/duplicate`)).body.data.id;
      expect(await usage(id)).to.have.length(3);
      await call('DELETE', `/campaigns/${copy}`);
      await call('POST', `/workflows/${automation}/archive`);
      expect(await usage(id)).to.deep.equal(['campaign News']);
    });

    it('prevent the deletion of a file that a published or running version uses, even with force=true', async () => {
      const source = await testDatabase();
      const { id } = await image();
      const automation = (await call('POST', '/workflows', { name: 'Hello', draft: definition(id) })).body.data.id;
      const version = newId();
      await source.query(
        `INSERT INTO automation_versions (id, club_id, automation_id, number, trigger_kind, definition, compiled, published_at)
         VALUES ($1, $2, $3, 1, 'manual', $4, '{}', now())`,
        [version, club.id, automation, JSON.stringify(definition(id))],
      );
      await source.query(`INSERT INTO media_uses (media_id, kind, place_id) VALUES ($1, 'automation_version', $2)`, [
        id,
        version,
      ]);
      expect(await usage(id)).to.deep.equal(['automation Hello']); // the version is not published and has no runs
      await source.query(
        `UPDATE automations SET published_id = $2, version_count = 1, trigger_kind = 'manual', status = 'active' WHERE id = $1`,
        [automation, version],
      );
      expect(await usage(id)).to.deep.equal(['automation Hello', 'automation_version Hello, version 1']);
      const refused = await call('DELETE', `/media/${id}?force=true`);
      expectError(refused, 'in_use');
      expect(refused.body.error.message).to.match(/automation_version “Hello, version 1”/);
      expect(await usage(id)).to.have.length(2);
      await call('POST', `/workflows/${automation}/archive`);
      expect((await call('DELETE', `/media/${id}?force=true`)).status).to.equal(204);
    });
  });

  it('have exactly the uses that their contents show, after any sequence of changes', async () => {
    const place = fc.constantFrom('lesson', 'campaign', 'automation', 'agent');
    const step = fc.record({
      act: fc.constantFrom('write', 'write', 'write', 'write', 'remove', 'archive', 'restore', 'delete'),
      place,
      at: fc.nat(2),
      files: fc.uniqueArray(fc.nat(4), { maxLength: 3 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 8, maxLength: 16 }), async (steps) => {
        club = await buildClub();
        course = await buildOpenCourse(club.id, { modules: 1, lessons: 0 });
        call = callsOf(club);
        const files = await Promise.all(Array.from({ length: 5 }, async () => (await buildMedia(club.id)).id));
        const places = new Map<string, Id>();
        for (const { act, place: kind, at, files: chosen } of steps) {
          const ids = chosen.flatMap((index) => files[index] ?? []);
          const [file = files[0] ?? ''] = ids;
          if (act === 'archive' || act === 'restore')
            await call('PATCH', `/media/${file}`, { archived: act === 'archive' });
          else if (act === 'delete') await call('DELETE', `/media/${file}?force=true`);
          else await edit(places, kind, `${kind} ${at}`, act === 'remove' ? undefined : ids);
          expect(await stored()).to.deep.equal(await scanned());
        }
      }),
      { numRuns: 6 },
    );
  });

  /** Writes a record that names these files, or removes the record. A refused request changes nothing. */
  async function edit(places: Map<string, Id>, kind: string, name: string, ids: Id[] | undefined): Promise<void> {
    const id = places.get(name);
    const at: Record<string, [create: string, change: string, body: object]> = {
      lesson: [`/modules/${moduleId()}/lessons`, '/lessons', { title: name, content: named(...(ids ?? [])) }],
      campaign: ['/campaigns', '/campaigns', { name, content: email(...(ids ?? [])) }],
      automation: ['/workflows', '/workflows', { name, draft: definition(...(ids ?? [])) }],
      agent: ['', '/agents', { course_ids: [], lesson_ids: [], media_ids: ids ?? [] }],
    };
    const [create, change, body] = at[kind] ?? ['', '', {}];
    if (ids === undefined) {
      if (id === undefined || kind === 'agent') return;
      await (kind === 'automation' ? call('POST', `${change}/${id}/archive`) : call('DELETE', `${change}/${id}`));
      places.delete(name);
    } else if (kind === 'agent') {
      const agent = id ?? (await buildAgent(club.id)).id;
      places.set(name, agent);
      await call('PUT', `/agents/${agent}/material`, body);
    } else if (id === undefined) {
      const answer = await call('POST', create, body);
      if (answer.status === 201) places.set(name, answer.body.data.id);
    } else if (kind === 'automation') {
      const deps = await testDeps();
      await updateAutomation(deps, club.id, id, body as never, '*', new Date()).catch(unlessRefused);
    } else await call('PATCH', `${change}/${id}`, body);
  }

  async function stored(): Promise<string[]> {
    const rows = await (
      await testDatabase()
    ).query<{ use: string }[]>(
      `SELECT kind || ' ' || place_id || ' ' || media_id AS use FROM media_uses WHERE media_id IN (SELECT id FROM media WHERE club_id = $1)`,
      [club.id],
    );
    return rows.map(({ use }) => use).toSorted();
  }

  /** Returns the uses that a scan of all contents finds: every UUID that is the id of a library file. */
  async function scanned(): Promise<string[]> {
    const rows = await (
      await testDatabase()
    ).query<{ kind: string; id: Id; content: string }[]>(
      `SELECT 'lesson' AS kind, id, content FROM lessons WHERE club_id = $1 AND removed_at IS NULL
       UNION ALL SELECT 'campaign', id, content::text FROM campaigns WHERE club_id = $1 AND status <> 'canceled'
       UNION ALL SELECT 'automation', id, draft::text FROM automations WHERE club_id = $1 AND status <> 'archived'
       UNION ALL SELECT 'agent', agent_id, media_id::text FROM agent_materials WHERE media_id IN (SELECT id FROM media WHERE club_id = $1)`,
      [club.id],
    );
    const living = await (
      await testDatabase()
    ).query<{ id: Id }[]>(`SELECT id FROM media WHERE club_id = $1 AND removed_at IS NULL`, [club.id]);
    return rows
      .flatMap(({ kind, id, content }) =>
        living.filter((file) => content.includes(file.id)).map((file) => `${kind} ${id} ${file.id}`),
      )
      .toSorted();
  }
});

const photo = (width: number, height: number) =>
  sharp({ create: { width, height, channels: 3, background: 'teal' } })
    .png()
    .toBuffer();

describe('POST /v1/clubs/{clubId}/media/{mediaId}/replace (MED-18)', () => {
  let club: TestClub;
  let call: ReturnType<typeof callsOf>;
  beforeEach(async () => {
    club = await buildClub();
    call = callsOf(club);
  });

  const upload = (fileName: string, words: string) =>
    buildMedia(club.id, { title: fileName, mime: 'text/markdown', bytes: words });
  const wordsOf = async (id: Id) => {
    const { download_url: url } = (await call('GET', `/media/${id}`)).body.data;
    const answer = await fetch(url);
    return [await answer.text(), /filename="([^"]*)"/.exec(answer.headers.get('content-disposition') ?? '')?.[1]];
  };

  it('exchanges the contents of two files, but not their ids, titles and uses', async () => {
    const [old, better] = [await upload('old.md', '# Old'), await upload('new.md', '# New and longer')];
    const agent = await buildAgent(club.id);
    await call('PUT', `/agents/${agent.id}/material`, { course_ids: [], lesson_ids: [], media_ids: [old.id] });
    const used = (await call('GET', '/media/storage')).body;
    const first = await call('POST', `/media/${old.id}/replace`, { with: better.id });
    expect(first.body.data).to.include({
      id: old.id,
      title: 'old.md',
      file_name: 'new.md',
      size_bytes: 16,
      archived: false,
      usage_count: 1,
    });
    expect(await wordsOf(old.id)).to.deep.equal(['# New and longer', 'new.md']);
    expect(await wordsOf(better.id)).to.deep.equal(['# Old', 'old.md']);
    expect((await call('GET', `/media/${better.id}`)).body.data).to.include({
      archived: true,
      title: 'new.md',
      file_name: 'old.md',
    });
    expect((await call('GET', '/media/storage')).body).to.deep.equal(used);
    const source = await testDatabase();
    const [index] = await source.query<{ version: number }[]>(
      `SELECT wanted_version AS version FROM agent_sources WHERE media_id = $1`,
      [old.id],
    );
    expect(index?.version).to.equal(2);
    await call('POST', `/media/${old.id}/replace`, { with: better.id });
    expect(await wordsOf(old.id)).to.deep.equal(['# Old', 'old.md']);
    expect(await wordsOf(better.id)).to.deep.equal(['# New and longer', 'new.md']);
    expect((await call('DELETE', `/media/${better.id}`)).status).to.equal(204);
    expect(await wordsOf(old.id)).to.deep.equal(['# Old', 'old.md']);
  });

  it('also exchanges the previews, and a second replacement exchanges the previews again (MED-22)', async () => {
    const uploadPicture = async (width: number) =>
      (await uploadFile({ club }, { fileName: 'k.png', mime: 'image/png', bytes: await photo(width, 900) })).id;
    const [wide, narrow] = [await uploadPicture(640), await uploadPicture(320)];
    const widthOf = async (address: string) =>
      (await sharp(Buffer.from(await (await fetch(address)).arrayBuffer())).metadata()).width;
    const widths = async (id: Id) => {
      const { preview_url: preview, thumbnail_url: thumbnail } = (await call('GET', `/media/${id}`)).body.data;
      return [await widthOf(preview), await widthOf(thumbnail)];
    };
    await call('POST', `/media/${wide}/replace`, { with: narrow });
    expect([await widths(wide), await widths(narrow)]).to.deep.equal([
      [320, 114],
      [640, 228],
    ]);
    await call('POST', `/media/${wide}/replace`, { with: narrow });
    expect([await widths(wide), await widths(narrow)]).to.deep.equal([
      [640, 228],
      [320, 114],
    ]);
  });

  it('returns 404 or 409 media_mismatch if the files cannot be exchanged, and changes nothing', async () => {
    const text = await upload('a.md', '# A');
    const picture = await buildMedia(club.id, { title: 'a.png', mime: 'image/png', bytes: png(2, 2) });
    const reference = (
      await call('POST', '/media/references', { provider: 'external', external_id: 'https://knots.org/', title: 'x' })
    ).body.data.id;
    const unfinished = (await buildMedia(club.id, { status: 'uploading' })).id;
    const foreign = (await buildMedia((await buildClub()).id, { bytes: 'x' })).id;
    await eachCase([picture.id, reference, unfinished], async (other) => {
      expectError(await call('POST', `/media/${text.id}/replace`, { with: other }), 'media_mismatch');
      expectError(await call('POST', `/media/${other}/replace`, { with: text.id }), 'media_mismatch');
    });
    await eachCase([foreign, newId()], async (other) =>
      expectError(await call('POST', `/media/${text.id}/replace`, { with: other }), 'not_found'),
    );
    expectError(await call('POST', `/media/${text.id}/replace`, { with: text.id.toUpperCase() }), 'media_mismatch');
    expect(await wordsOf(text.id)).to.deep.equal(['# A', 'a.md']);
  });
});
