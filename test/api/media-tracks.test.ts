import { expect } from 'chai';
import { newId, type Id } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { indexedSourcesOf, passagesOf, sourceRow } from '../toolkit/assert/sources.ts';
import { buildAgent } from '../toolkit/builders/agents.ts';
import { buildClub, type TestClub } from '../toolkit/builders/clubs.ts';
import { buildMedia } from '../toolkit/builders/media.ts';
import { expectError } from '../toolkit/drive/api.ts';
import { callsOf } from '../toolkit/drive/club-calls.ts';
import { stepSource } from '../toolkit/drive/indexing.ts';
import { testDatabase } from '../toolkit/stack/database.ts';

describe('subtitles of videos and sounds', () => {
  let club: TestClub;
  let call: ReturnType<typeof callsOf>;
  let video: { id: Id };

  beforeEach(async () => {
    club = await buildClub();
    call = callsOf(club);
    video = await buildMedia(club.id, { video: true, bytes: 'moving', mime: 'video/mp4', title: 'Knots' });
  });
  const setTrack = (language: string, body: object, id = video.id) =>
    call('PUT', `/media/${id}/tracks/${language}`, body);
  const remove = (language: string, id = video.id) => call('DELETE', `/media/${id}/tracks/${language}`);
  const tracks = async () => (await call('GET', `/media/${video.id}`)).body.data.tracks;
  const spoken = (text: string) => ({ content: `WEBVTT\n\n00:01.000 --> 00:04.500\n${text}\n` });
  const fetched = async (url: string) => {
    const answer = await fetch(url);
    return { type: answer.headers.get('content-type'), text: await answer.text(), status: answer.status };
  };
  const keyOf = async (language: string) => {
    const source = await testDatabase();
    const [row] = await source.query<{ key: string }[]>(
      `SELECT object_key AS key FROM media_tracks WHERE media_id = $1 AND language = $2`,
      [video.id, language],
    );
    return row?.key;
  };
  const leftKeys = async () => {
    const source = await testDatabase();
    const rows = await source.query<{ key: string }[]>(
      `SELECT object_key AS key FROM leftover_objects WHERE club_id = $1 ORDER BY 1`,
      [club.id],
    );
    return rows.map(({ key }) => key);
  };

  it('are stored as WebVTT, listed in order in the record of the file, and read by a signed address', async () => {
    const srt = {
      content: '1\n00:00:01,000 --> 00:00:04,500\nDê um nó & puxe.\n',
      label: 'Legendas',
      kind: 'captions',
    };
    const answer = await setTrack('PT-br', srt);
    expect(answer.status).to.equal(200);
    expect(answer.body.data).to.include({ language: 'pt-BR', label: 'Legendas', kind: 'captions' });
    expect(await fetched(answer.body.data.url)).to.deep.equal({
      type: 'text/vtt; charset=utf-8',
      text: 'WEBVTT\n\n00:00:01.000 --> 00:00:04.500\nDê um nó &amp; puxe.\n',
      status: 200,
    });
    expect((await setTrack('ar', spoken('اربط الحبل'))).body.data).to.include({ label: 'العربية', kind: 'subtitles' });
    const found: { language: string }[] = await tracks();
    expect(found.map(({ language }) => language)).to.deep.equal(['pt-BR', 'ar']);
    expect(await leftKeys()).to.deep.equal([]);
  });

  it('replace and erase the previous subtitles of their language', async () => {
    await setTrack('en', spoken('One.'));
    const before = await keyOf('en');
    const answer = await setTrack('en', spoken('Two.'));
    expect((await fetched(answer.body.data.url)).text).to.contain('Two.');
    expect(await tracks()).to.have.length(1);
    expect(await leftKeys()).to.deep.equal([before]);
  });

  it('are removed alone or together with their video', async () => {
    await setTrack('en', spoken('One.'));
    await setTrack('de', spoken('Eins.'));
    const keys = [(await keyOf('en')) ?? '', (await keyOf('de')) ?? ''];
    expect((await remove('EN')).status).to.equal(204);
    expect(await leftKeys()).to.deep.equal([keys[0]]);
    expectError(await remove('en'), 'not_found');
    expect((await call('DELETE', `/media/${video.id}`)).status).to.equal(204);
    expect(await leftKeys()).to.deep.equal(keys.toSorted());
  });

  it('are refused with 422 and the line of the fault, and then nothing is stored', async () => {
    const cases: [string, string, string][] = [
      ['en', 'Hello', 'content, line 1: a time is expected here, such as `00:01.000 --> 00:02.500`.'],
      [
        'en',
        'WEBVTT\n\n00:05.000 --> 00:06.000\na\n\n00:01.000 --> 00:02.000\nb',
        'content, line 6: the cue starts before the cue above it.',
      ],
      ['en-a', spoken('a').content, 'language must be a language tag, such as `en` or `pt-BR`.'],
    ];
    await eachCase(cases, async ([language, content, message]) => {
      const answer = await setTrack(language, { content });
      expectError(answer, 'invalid_request');
      expect(answer.body.error.message).to.equal(message);
    });
    expect(await tracks()).to.equal(undefined);
    expect(await leftKeys()).to.deep.equal([]);
  });

  it('are refused with 422 if a cue ends after the end of the video', async () => {
    await (await testDatabase()).query(`UPDATE media SET duration_ms = 3000 WHERE id = $1`, [video.id]);
    const answer = await setTrack('en', spoken('Late.'));
    expectError(answer, 'invalid_request');
    expect(answer.body.error.message).to.equal('content, line 3: the cue ends after the video or sound.');
  });

  it('are refused for documents, references, unready files and files of other clubs', async () => {
    const document = await buildMedia(club.id, { bytes: 'a' });
    const arriving = await buildMedia(club.id, { video: true, bytes: 'a', mime: 'video/mp4', status: 'processing' });
    const foreign = await buildMedia((await buildClub()).id, { video: true, bytes: 'a', mime: 'video/mp4' });
    expectError(await setTrack('en', spoken('a'), document.id), 'invalid_file');
    expectError(await setTrack('en', spoken('a'), arriving.id), 'invalid_file');
    expectError(await setTrack('en', spoken('a'), foreign.id), 'not_found');
    expectError(await setTrack('en', spoken('a'), newId()), 'not_found');
    expectError(await remove('en', foreign.id), 'not_found');
    expect(await leftKeys()).to.deep.equal([]);
  });

  it('are refused with 409 for a twenty-first language', async () => {
    const languages = [
      'af',
      'ar',
      'bg',
      'bn',
      'ca',
      'cs',
      'da',
      'de',
      'el',
      'en',
      'es',
      'et',
      'fa',
      'fi',
      'fr',
      'he',
      'hi',
      'hr',
      'hu',
      'id',
    ];
    for (const language of languages) expect((await setTrack(language, spoken('a'))).status).to.equal(200);
    expectError(await setTrack('it', spoken('a')), 'too_many_tracks');
    expect(await leftKeys()).to.deep.equal([]);
    expect((await setTrack('id', spoken('b'))).status).to.equal(200);
  });

  it('are a source of agents, preferably in the club’s language', async () => {
    const agent = await buildAgent(club.id);
    await call('PUT', `/agents/${agent.id}/material`, { course_ids: [], lesson_ids: [], media_ids: [video.id] });
    const [source] = await indexedSourcesOf(club.id);
    if (!source) throw new Error('The video has no source');
    await stepSource(source);
    expect(await sourceRow(source)).to.include({ status: 'failed', errorCode: 'unsupported_type' });
    await setTrack('ja', spoken('結び方。'));
    await stepSource(source);
    expect((await passagesOf(source)).map(({ text }) => text)).to.deep.equal(['結び方。']);
    await setTrack('en', {
      content: 'WEBVTT\n\n00:01.000 --> 00:04.500\nTie a\n\n00:05.000 --> 00:06.000\nbowline. Pull.',
    });
    await stepSource(source);
    const [passage, ...others] = await passagesOf(source);
    expect(others).to.deep.equal([]);
    expect(passage).to.include({ text: 'Tie a bowline. Pull.', page: null });
    expect([passage?.fromSeconds, passage?.toSeconds]).to.deep.equal([[1], [6]]);
    await remove('en');
    await remove('ja');
    await stepSource(source);
    expect(await sourceRow(source)).to.include({ status: 'failed', errorCode: 'unsupported_type' });
  });
});
