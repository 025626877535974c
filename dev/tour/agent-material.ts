/**
 * Creates an agent whose material is a PDF in the club's library and a lesson. Both are indexed, and a delivery gives a student access to
 * the agent.
 */
import { Problem } from '../problem.ts';
import { harbourHandbook } from './handbook.ts';
import { requireOk, until, type Asker, type Club, type Scene } from './scene.ts';

/** @returns the public id of the agent, which the addresses of the classroom contain */
export async function agentWithMaterial(scene: Scene, club: Club, { studentId }: Asker): Promise<string> {
  const administrator = scene.client(club.token);
  const params = { path: { clubId: club.clubId } };

  scene.begin(16, 'agent.material');
  const mediaId = await uploadHandbook(scene, club);
  const lessonId = await writeLesson(scene, club);

  scene.begin(17, 'agent.opened');
  const agent = requireOk(
    await administrator.POST('/v1/clubs/{clubId}/agents', {
      params,
      body: { name: 'Bosun', description: 'Answers from the harbour handbook.', instructions: 'Answer briefly.' },
    }),
  ).data;
  const ofAgent = { path: { ...params.path, agentId: agent.id } };
  requireOk(
    await administrator.PUT('/v1/clubs/{clubId}/agents/{agentId}/material', {
      params: ofAgent,
      body: { course_ids: [], lesson_ids: [lessonId], media_ids: [mediaId] },
    }),
  );
  requireOk(
    await administrator.PATCH('/v1/clubs/{clubId}/agents/{agentId}', {
      params: ofAgent,
      body: { status: 'published' },
    }),
  );
  const delivery = requireOk(
    await administrator.POST('/v1/clubs/{clubId}/deliveries', {
      params,
      body: { name: 'The bosun', opens: { kind: 'agent', agent_id: agent.id }, free: false },
    }),
  ).data;
  requireOk(
    await administrator.POST('/v1/clubs/{clubId}/enrollments', {
      params,
      body: { student_id: studentId, delivery_id: delivery.id },
    }),
  );
  await untilIndexed(scene, club, agent.id);
  return agent.public_id;
}

/** Reserves a file, uploads it and completes the upload. @returns the id of the file @throws Problem if the file does not become ready */
async function uploadHandbook(scene: Scene, { clubId, token }: Club): Promise<string> {
  const { say, tell, words } = scene;
  const file = await harbourHandbook();
  const { data: media, upload } = requireOk(
    await scene.client(token).POST('/v1/clubs/{clubId}/media', {
      params: { path: { clubId } },
      body: {
        file_name: 'harbour-handbook.pdf',
        mime: 'application/pdf',
        size_bytes: file.length,
        title: 'Harbour Handbook',
      },
    }),
  );
  const response = await fetch(upload.url, { method: 'PUT', headers: upload.headers, body: new Uint8Array(file) });
  say(`   PUT ${new URL(upload.url).pathname} → ${response.status} (${words('agent.signed_address')})`);
  const params = { path: { clubId, mediaId: media.id } };
  requireOk(await scene.client(token).POST('/v1/clubs/{clubId}/media/{mediaId}/complete', { params }));
  const quiet = scene.quietClient(token);
  const completed = await until('The processing of the handbook', async () => {
    const { data } = requireOk(await quiet.GET('/v1/clubs/{clubId}/media/{mediaId}', { params }));
    return data.status === 'processing' ? undefined : data;
  });
  if (completed.status !== 'ready') throw new Problem(`The handbook is ${completed.status}: ${completed.error}.`);
  const { title, mime = '', size_bytes: bytes = 0 } = completed;
  tell('agent.ready', { title, mime, bytes });
  return media.id;
}

/** Writes a published lesson of a published course. @returns its id */
async function writeLesson(scene: Scene, { clubId, token }: Club): Promise<string> {
  const administrator = scene.client(token);
  const course = requireOk(
    await administrator.POST('/v1/clubs/{clubId}/courses', {
      params: { path: { clubId } },
      body: { title: 'Life in the Harbour' },
    }),
  ).data;
  const part = requireOk(
    await administrator.POST('/v1/clubs/{clubId}/courses/{courseId}/modules', {
      params: { path: { clubId, courseId: course.id } },
      body: { title: 'Manners' },
    }),
  ).data;
  const lesson = requireOk(
    await administrator.POST('/v1/clubs/{clubId}/modules/{moduleId}/lessons', {
      params: { path: { clubId, moduleId: part.id } },
      body: {
        title: 'Quiet hours',
        content: '# Quiet hours\n\nAfter ten at night halyards are tied away from the mast, and engines stay off.',
        published: true,
      },
    }),
  ).data;
  requireOk(
    await administrator.PATCH('/v1/clubs/{clubId}/courses/{courseId}', {
      params: { path: { clubId, courseId: course.id } },
      body: { status: 'published' },
    }),
  );
  return lesson.id;
}

/** Waits until every source of the agent is indexed, and prints each change. @throws Problem if the indexing of a source fails */
async function untilIndexed(scene: Scene, { clubId, token }: Club, agentId: string): Promise<void> {
  const { tell } = scene;
  const quiet = scene.quietClient(token);
  const shownStatus = new Map<string, string>();
  await until('The indexing of the material', async () => {
    const { data: sources } = requireOk(
      await quiet.GET('/v1/clubs/{clubId}/agents/{agentId}/sources', { params: { path: { clubId, agentId } } }),
    );
    for (const { id, title, status, error_code: error, page_count: pages, passage_count: passages } of sources) {
      if (shownStatus.get(id) === status) continue;
      shownStatus.set(id, status);
      if (status !== 'ready') tell('agent.indexing', { title, status });
      else if (pages === undefined) tell('agent.indexed', { title, passages });
      else tell('agent.indexed_pages', { title, passages, pages });
      if (status === 'failed') throw new Problem(`“${title}” could not be indexed: ${error}.`);
    }
    return sources.length === 2 && sources.every(({ status }) => status === 'ready') ? true : undefined;
  });
}
