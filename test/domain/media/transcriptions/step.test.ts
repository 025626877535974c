/** Tests the step that makes subtitles of speech (MED-34). */
import { expect } from 'chai';
import { MediaTrack } from '../../../../entities/media/media-track.ts';
import { MediaTranscription } from '../../../../entities/media/media-transcription.ts';
import { mediaUses } from '../../../../domain/contexts.ts';
import { removeMedia } from '../../../../domain/media/erasure/erasure.ts';
import { putTrack } from '../../../../domain/media/library/tracks.ts';
import { requestTranscription } from '../../../../domain/media/transcriptions/requests.ts';
import type { TranscriptionDeps } from '../../../../domain/media/transcriptions/step.ts';
import { transcriptionRules } from '../../../../domain/media/transcriptions/transcription.policy.ts';
import type { Id } from '../../../../platform/core/ids.ts';
import { buildClub } from '../../../toolkit/builders/clubs.ts';
import { buildMedia } from '../../../toolkit/builders/media.ts';
import { madeVtt, transcribeOnce } from '../../../toolkit/drive/transcribing.ts';
import { testDeps } from '../../../toolkit/stack/database.ts';
import { testObjectStore } from '../../../toolkit/stack/storage.ts';

describe('subtitles from speech', function () {
  this.timeout(30_000);
  interface Film {
    clubId: Id;
    mediaId: Id;
  }
  async function film(): Promise<Film> {
    const { id: clubId } = await buildClub();
    return { clubId, mediaId: (await buildMedia(clubId, { video: true, bytes: 'a film' })).id };
  }
  const ask = async (of: Film, language = 'pt') =>
    requestTranscription({ ...(await testDeps()), makesSubtitles: true }, of, { language }, new Date());
  const upload = async (of: Film, language = 'pt') =>
    putTrack(
      { ...(await testDeps()), storage: await testObjectStore() },
      { ...of, language },
      { content: 'WEBVTT\n\n00:00.000 --> 00:01.000\nUploaded.\n' },
      new Date(),
    );
  const rowOf = async ({ mediaId }: Film) =>
    (await testDeps()).db.manager.findOneBy(MediaTranscription, { id: mediaId });
  const tracksOf = async ({ mediaId }: Film) => (await testDeps()).db.manager.findBy(MediaTrack, { mediaId });
  const codeOf = (error: unknown) => (error as { code?: string }).code;

  it('become a track that is marked as made by the command', async () => {
    const of = await film();
    expect(await ask(of, 'pt-br')).to.deep.equal({ language: 'pt-BR', status: 'pending' });
    expect(await transcribeOnce(of.mediaId)).to.deep.equal({ done: true, outcome: 'gone' });
    const [track] = await tracksOf(of);
    expect(track).to.include({ language: 'pt-BR', madeBy: 'command', kind: 'subtitles', label: 'português (Brasil)' });
    const stored = await (await testObjectStore()).read(track?.objectKey ?? '', 0, 1_000);
    expect(stored?.toString()).to.equal(madeVtt.toString());
    expect(await rowOf(of)).to.equal(null);
  });

  it('replace earlier subtitles of a command', async () => {
    const of = await film();
    for (const words of ['One', 'Two']) {
      await ask(of);
      const vtt = Buffer.from(`WEBVTT\n\n00:01.000 --> 00:02.000\n${words}\n`);
      await transcribeOnce(of.mediaId, { makeSubtitles: async () => ({ vtt }) });
    }
    const [track, ...others] = await tracksOf(of);
    expect(others).to.deep.equal([]);
    expect((await (await testObjectStore()).read(track?.objectKey ?? '', 0, 1_000))?.toString()).to.include('Two');
  });

  it('are replaced by an upload, and are refused after an upload', async () => {
    const of = await film();
    await ask(of);
    await transcribeOnce(of.mediaId);
    await upload(of);
    expect((await tracksOf(of))[0]).to.include({ madeBy: 'upload' });
    expect(codeOf(await ask(of).catch((error: unknown) => error))).to.equal('track_exists');
  });

  it('never overwrite an upload that arrives during the step', async () => {
    for (const place of ['speech_claimed', 'speech_made', 'speech_stored'] as const) {
      const of = await film();
      await ask(of);
      const failpoint: TranscriptionDeps['failpoint'] = async (name) => {
        if (name === place) await upload(of);
      };
      expect(await transcribeOnce(of.mediaId, { failpoint }), place).to.deep.equal({ done: true, outcome: 'gone' });
      expect(
        (await tracksOf(of)).map(({ madeBy }) => madeBy),
        place,
      ).to.deep.equal(['upload']);
    }
  });

  it('cannot overwrite an upload even with a direct SQL statement', async () => {
    const of = await film();
    await upload(of);
    const { db } = await testDeps();
    const error = await db.source
      .query(`UPDATE media_tracks SET made_by = 'command', object_key = 'x' WHERE media_id = $1`, [of.mediaId])
      .catch((reason: unknown) => reason);
    expect(error).to.have.nested.property('driverError.constraint', 'media_tracks_upload_stays');
  });

  it('are not recorded if the file is removed during the step', async () => {
    const of = await film();
    await ask(of);
    const failpoint: TranscriptionDeps['failpoint'] = async (name) => {
      if (name === 'speech_made')
        await removeMedia(
          { ...(await testDeps()), storage: await testObjectStore(), mediaUses },
          of.clubId,
          of.mediaId,
          new Date(),
        );
    };
    expect(await transcribeOnce(of.mediaId, { failpoint })).to.deep.equal({ done: true, outcome: 'gone' });
    expect([await rowOf(of), await tracksOf(of)]).to.deep.equal([null, []]);
  });

  it('start again if the file gets other content during the step', async () => {
    const of = await film();
    await ask(of);
    const { db } = await testDeps();
    const change = (columns: string): TranscriptionDeps['failpoint'] =>
      async function onStored(name) {
        if (name === 'speech_stored') await db.source.query(`UPDATE media SET ${columns} WHERE id = $1`, [of.mediaId]);
      };
    const step = await transcribeOnce(of.mediaId, { failpoint: change(`sha256 = decode(repeat('ab', 32), 'hex')`) });
    expect(step).to.include({ done: false, attempt: 1 });
    expect([await tracksOf(of), (await rowOf(of))?.leaseUntil]).to.deep.equal([[], null]);
    const moved = change(`object_key = 'media/elsewhere'`);
    expect(await transcribeOnce(of.mediaId, { failpoint: moved })).to.deep.equal({ done: true, outcome: 'gone' });
    expect(await tracksOf(of)).to.have.length(1);
  });

  it('are recorded as failed, with the reason, if they cannot be made', async () => {
    const of = await film();
    await ask(of);
    const makeSubtitles: TranscriptionDeps['makeSubtitles'] = async () => ({ error: 'no_speech' });
    const failed = { done: true, outcome: 'failed', error: 'no_speech' };
    expect(await transcribeOnce(of.mediaId, { makeSubtitles })).to.deep.equal(failed);
    expect(await transcribeOnce(of.mediaId)).to.deep.equal(failed);
    expect(await rowOf(of)).to.include({ errorCode: 'no_speech', looksAt: null, leaseUntil: null });
    await ask(of);
    expect(await transcribeOnce(of.mediaId)).to.include({ outcome: 'gone' });
    expect(await tracksOf(of)).to.have.length(1);
  });

  it('wait for the program, and the wait does not count as a try', async () => {
    const of = await film();
    await ask(of);
    const now = Date.now();
    const outcomes: string[] = [];
    const waiting: Partial<TranscriptionDeps> = {
      makeSubtitles: async () => ({ waitsFor: 'program' }),
      onOutcome: (outcome) => outcomes.push(outcome),
    };
    const step = await transcribeOnce(of.mediaId, waiting, { now });
    expect(outcomes).to.deep.equal(['unavailable']);
    expect(step).to.deep.equal({ done: false, at: now + transcriptionRules.programWaitMs, attempt: 1 });
    expect(await rowOf(of)).to.include({ attempts: 0, leaseUntil: null });
  });

  it('are abandoned after three unexpected failures', async () => {
    const of = await film();
    await ask(of);
    const broken: Partial<TranscriptionDeps> = { makeSubtitles: () => Promise.reject(new Error('our fault')) };
    let step = await transcribeOnce(of.mediaId, broken);
    let steps = 1;
    for (; !step.done; steps += 1) step = await transcribeOnce(of.mediaId, broken, { now: step.at });
    expect([steps, step]).to.deep.equal([4, { done: true, outcome: 'failed', error: 'command_failed' }]);
  });

  it('can be tried as often as before if the worker stops', async () => {
    const of = await film();
    await ask(of);
    const stop = new AbortController();
    const makeSubtitles: TranscriptionDeps['makeSubtitles'] = async (_, { signal }) => {
      stop.abort(new Error('The worker stops'));
      signal.throwIfAborted();
      return { error: 'no_speech' };
    };
    expect(await transcribeOnce(of.mediaId, { makeSubtitles }, { stop: stop.signal })).to.include({ done: false });
    expect(await rowOf(of)).to.include({ attempts: 0, leaseUntil: null, errorCode: null });
  });

  it('do not change if they are requested again', async () => {
    const of = await film();
    await ask(of);
    const before = await rowOf(of);
    await ask(of);
    expect(await rowOf(of)).to.deep.equal(before);
    expect(codeOf(await ask(of, 'en').catch((error: unknown) => error))).to.equal('transcription_pending');
  });
});
