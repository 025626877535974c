/** Tests how administrators request and see subtitles from speech (MED-34). */
import { expect } from 'chai';
import { MediaTranscription } from '../../entities/media/media-transcription.ts';
import type { TranscriptionDeps } from '../../domain/media/transcriptions/step.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildClub, buildMember, buildStudent, type TestClub } from '../toolkit/builders/clubs.ts';
import { openFurtherSession } from '../toolkit/builders/sessions.ts';
import { buildMedia } from '../toolkit/builders/media.ts';
import { callAt, expectError } from '../toolkit/drive/api.ts';
import { callsOf } from '../toolkit/drive/club-calls.ts';
import { madeVtt, transcribeOnce } from '../toolkit/drive/transcribing.ts';
import { serveApp } from '../toolkit/stack/app.ts';
import { testDatabase, testDeps } from '../toolkit/stack/database.ts';

const uploaded = { content: 'WEBVTT\n\n00:00.000 --> 00:01.000\nUploaded.\n' };

describe('subtitles from speech for administrators', function () {
  this.timeout(30_000);
  let club: TestClub;
  let call: ReturnType<typeof callsOf>;
  let video: { id: Id };

  beforeEach(async () => {
    club = await buildClub();
    call = callsOf(club);
    video = await buildMedia(club.id, { video: true, bytes: 'a film', mime: 'video/mp4' });
  });
  const ask = (language = 'pt', id = video.id, by = call) => by('POST', `/media/${id}/tracks`, { language });
  const upload = (language = 'pt') => call('PUT', `/media/${video.id}/tracks/${language}`, uploaded);
  const record = async () => (await call('GET', `/media/${video.id}`)).body.data;
  const rows = async () => (await testDeps()).db.manager.findBy(MediaTranscription, { clubId: club.id });
  const wakes = async () => {
    const source = await testDatabase();
    const found = await source.query<unknown[]>(
      `SELECT 1 FROM wakes WHERE club_id = $1 AND workflow_type = 'mediaTranscription'`,
      [club.id],
    );
    return found.length;
  };
  const texts = async (tracks: { url: string }[]) =>
    Promise.all(tracks.map(async ({ url }) => (await fetch(url)).text()));

  it('are shown as pending in the record and in lists, and later as a track of the file', async () => {
    const answer = await ask('PT-br');
    expect(answer.status).to.equal(202);
    const pending = { language: 'pt-BR', status: 'pending' };
    expect(answer.body.data).to.deep.equal(pending);
    expect((await record()).transcription).to.deep.equal(pending);
    const [listed] = (await call('GET', '/media')).body.data;
    expect(listed.transcription).to.deep.equal(pending);
    expect(await wakes()).to.equal(1);
    await transcribeOnce(video.id);
    const { tracks, ...fields } = await record();
    expect(fields).not.to.have.property('transcription');
    expect(tracks).to.have.length(1);
    expect(tracks[0]).to.include({ language: 'pt-BR', made_by: 'command', label: 'português (Brasil)' });
    expect(await texts(tracks)).to.deep.equal([madeVtt.toString()]);
  });

  it('are requested once: a second request changes nothing and wakes no run while subtitles are pending', async () => {
    await ask();
    const [before] = await rows();
    const again = await ask('PT');
    expect([again.status, again.body.data]).to.deep.equal([202, { language: 'pt', status: 'pending' }]);
    expect(await rows()).to.deep.equal([before]);
    expect(await wakes()).to.equal(1);
  });

  it('show the reason of a failure, and start again on the next request', async () => {
    await ask();
    const makeSubtitles: TranscriptionDeps['makeSubtitles'] = async () => ({ error: 'no_speech' });
    await transcribeOnce(video.id, { makeSubtitles });
    const failed = { language: 'pt', status: 'failed', error_code: 'no_speech' };
    expect((await record()).transcription).to.deep.equal(failed);
    expect((await ask('en')).body.data).to.deep.equal({ language: 'en', status: 'pending' });
    await transcribeOnce(video.id);
    expect((await record()).tracks.map(({ language }: { language: string }) => language)).to.deep.equal(['en']);
  });

  it('cause 409 transcription_pending for a second language while subtitles are pending', async () => {
    await ask('pt');
    const refused = await ask('en');
    expectError(refused, 'transcription_pending');
    expect(refused.body.error.message).to.equal('Subtitles in pt are being made. Wait for them.');
    expect((await rows()).map(({ language }) => language)).to.deep.equal(['pt']);
  });

  it('cause 409 track_exists if subtitles of the language were uploaded', async () => {
    await upload();
    const refused = await ask();
    expectError(refused, 'track_exists');
    expect(refused.body.error.message).to.equal('The file has uploaded subtitles in pt. Remove them first.');
    expect(await rows()).to.deep.equal([]);
    await call('DELETE', `/media/${video.id}/tracks/pt`);
    expect((await ask()).status).to.equal(202);
  });

  it('cause 409 too_many_tracks for a twenty-first language of one file', async () => {
    const languages = Array.from({ length: 20 }, (_, at) => `q${String.fromCharCode(97 + at)}x`);
    for (const language of languages) expect((await upload(language)).status, language).to.equal(200);
    expectError(await ask('pt'), 'too_many_tracks');
    expect(await rows()).to.deep.equal([]);
  });

  it('cause 422 or 404 for images, documents, references, unready files and files of other clubs', async () => {
    const image = await buildMedia(club.id, { bytes: 'a', mime: 'image/png' });
    const document = await buildMedia(club.id, { bytes: 'a' });
    const reference = await buildMedia(club.id, { video: true });
    const arriving = await buildMedia(club.id, { video: true, bytes: 'a', mime: 'video/mp4', status: 'processing' });
    const foreign = await buildMedia((await buildClub()).id, { video: true, bytes: 'a', mime: 'video/mp4' });
    await eachCase([image, document, reference, arriving], async ({ id }) =>
      expectError(await ask('pt', id), 'invalid_file'),
    );
    await eachCase([foreign.id, newId()], async (id) => expectError(await ask('pt', id), 'not_found'));
    expect([await rows(), await wakes()]).to.deep.equal([[], 0]);
    expect(await (await testDeps()).db.manager.findOneBy(MediaTranscription, { id: foreign.id })).to.equal(null);
  });

  it('cause 422 for an invalid language tag', async () => {
    await eachCase(['', 'x', 'english', 'pt_BR', 'en-a', 'pt-BR; rm'], async (language) =>
      expectError(await ask(language), 'invalid_request'),
    );
    expect(await rows()).to.deep.equal([]);
  });

  it('can be requested by editors, but not by support, students and callers without a session', async () => {
    const support = callsOf(club, (await buildMember(club.id, 'support')).token);
    const editor = callsOf(club, (await buildMember(club.id, 'editor')).token);
    const student = callsOf(club, await openFurtherSession('student', (await buildStudent(club.id)).id));
    expectError(await ask('pt', video.id, support), 'role_not_permitted');
    expectError(await ask('pt', video.id, student), 'unauthenticated');
    expectError(await ask('pt', video.id, callsOf(club, '')), 'unauthenticated');
    expect(await rows()).to.deep.equal([]);
    expect((await ask('pt', video.id, editor)).status).to.equal(202);
  });

  it('cause 501 not_configured if no subtitle program is configured, but older ones stay readable', async () => {
    await ask();
    const app = await serveApp({ env: { SUBTITLES_COMMAND: '' } });
    try {
      const at = (method: string, path: string, body?: unknown) =>
        callAt(app.base, method, `/v1/clubs/${club.id}${path}`, { token: club.owner.token, body });
      const refused = await at('POST', `/media/${video.id}/tracks`, { language: 'pt' });
      expectError(refused, 'not_configured');
      expect(refused.body.error.message).to.equal('This environment has no program that makes subtitles.');
      expect((await at('GET', `/media/${video.id}`)).body.data.transcription.status).to.equal('pending');
      expect((await at('PUT', `/media/${video.id}/tracks/pt`, uploaded)).status).to.equal(200);
    } finally {
      await app.close();
    }
  });

  it('are not stored if subtitles are uploaded while the speech is being recognized', async () => {
    await ask();
    const failpoint: TranscriptionDeps['failpoint'] = async (name) => {
      if (name === 'speech_made') expect((await upload()).body.data.made_by).to.equal('upload');
    };
    await transcribeOnce(video.id, { failpoint });
    const { tracks, ...about } = await record();
    expect(about).not.to.have.property('transcription');
    expect(tracks.map(({ made_by: maker }: { made_by: string }) => maker)).to.deep.equal(['upload']);
    expect((await texts(tracks))[0]).to.contain('Uploaded.');
  });

  it('are not stored if the file is removed while the speech is being recognized', async () => {
    await ask();
    const failpoint: TranscriptionDeps['failpoint'] = async (name) => {
      if (name === 'speech_made') expect((await call('DELETE', `/media/${video.id}`)).status).to.equal(204);
    };
    expect(await transcribeOnce(video.id, { failpoint })).to.deep.equal({ done: true, outcome: 'gone' });
    expectError(await call('GET', `/media/${video.id}`), 'not_found');
    expect(await rows()).to.deep.equal([]);
    const source = await testDatabase();
    expect(await source.query(`SELECT 1 FROM media_tracks WHERE media_id = $1`, [video.id])).to.deep.equal([]);
  });
});
