/**
 * Scenarios: the processing of uploaded files, and two videos that the club's plan keeps only for a time. The first video is removed when
 * this time ends. The second video stays, because the club gets a better plan.
 */
import type { WorkflowHandle } from '@temporalio/client';
import { MediaTranscription } from '../../../entities/media/media-transcription.ts';
import { MediaMove } from '../../../entities/media/media-move.ts';
import { Media } from '../../../entities/media/media.ts';
import { buildPlan } from '../../toolkit/builders/billing.ts';
import { buildClub } from '../../toolkit/builders/clubs.ts';
import { buildMedia } from '../../toolkit/builders/media.ts';
import { testDeps } from '../../toolkit/stack/database.ts';
import { uploadBytes } from '../../toolkit/drive/erasure.ts';
import { sayingArrived, type TestFile } from '../../toolkit/drive/media.ts';
import { until } from '../../toolkit/drive/until.ts';
import type { Recorder, Scenarios } from '../recorder.ts';

const day = 86_400_000;

/** Creates a video recording that expires in 30 days. */
async function expiring({ skipped }: Recorder): Promise<{ id: string; handle: WorkflowHandle }> {
  const { id: clubId } = await buildClub();
  await buildPlan(clubId, 'starter');
  const { id } = await buildMedia(clubId, { video: true, bytes: 'a film' });
  const now = (await skipped.now()).getTime();
  const { db } = await testDeps();
  const [expiresAt, expiryLooksAt] = [new Date(now + 30 * day), new Date(now + 23 * day)];
  await db.manager.update(Media, { id }, { expiresAt, expiryLooksAt });
  return { id, handle: await skipped.start('mediaExpiry', 'upkeep', id) };
}

const notes: TestFile = { fileName: 'notes.md', mime: 'text/markdown', bytes: Buffer.from('# Knots\n') };

async function processed({ by, injected }: Recorder, file: TestFile, faults = 0): Promise<WorkflowHandle> {
  const club = await buildClub();
  const { media } = await uploadBytes({ club }, file);
  await sayingArrived({ club }, media.id);
  injected.fileFaults = faults;
  return by.startOrSignal('mediaProcessing', { id: media.id, clubId: club.id });
}

/** Publishes a file. If `busy` is given, the file is still being processed, and the run publishes it after the processing. */
async function moving({ skipped }: Recorder, busy?: 'processed'): Promise<WorkflowHandle> {
  const { id: clubId } = await buildClub();
  const { id } = await buildMedia(clubId, { bytes: 'How to tie it.' });
  const { db } = await testDeps();
  const now = await skipped.now();
  await db.manager.insert(MediaMove, { id, clubId, visibility: 'public', looksAt: now, createdAt: now });
  if (busy === undefined) return skipped.start('mediaMove', 'moves', id);
  await db.manager.update(Media, { id }, { looksAt: now });
  const handle = await skipped.start('mediaMove', 'moves', id);
  await until('its first look', { timeoutMs: 10_000 }, async () => {
    const { looksAt, leaseUntil } = await db.manager.findOneByOrFail(MediaMove, { id });
    return leaseUntil === null && looksAt > now;
  });
  await db.manager.update(Media, { id }, { looksAt: null });
  return handle;
}

/** Creates a file with sound, and requests its subtitles. */
async function requestMove(looksAt = new Date()): Promise<{ id: string; clubId: string }> {
  const { id: clubId } = await buildClub();
  const { id } = await buildMedia(clubId, { video: true, bytes: 'a film' });
  const { db } = await testDeps();
  await db.manager.insert(MediaTranscription, { id, clubId, language: 'pt', looksAt, createdAt: looksAt });
  return { id, clubId };
}

export const mediaScenarios: Scenarios = {
  mediaProcessing: {
    ready: (recorder) => processed(recorder, notes),
    failed: (recorder) => processed(recorder, { ...notes, mime: 'application/pdf' }),
    'fault-then-ready': (recorder) => processed(recorder, notes, 1),
  },

  mediaMove: {
    published: async (recorder) => moving(recorder),
    'processed-then-published': async (recorder) => moving(recorder, 'processed'),
  },

  mediaTranscription: {
    async made(recorder) {
      const { id, clubId } = await requestMove();
      return recorder.by.startOrSignal('mediaTranscription', { id, clubId });
    },
    async 'later-then-made'({ skipped }) {
      const { id } = await requestMove(new Date((await skipped.now()).getTime() + 3_600_000));
      return skipped.start('mediaTranscription', 'subtitles', id);
    },
  },

  mediaExpiry: {
    'warned-then-removed': async (recorder) => (await expiring(recorder)).handle,
    async 'kept-by-the-next-plan'(recorder) {
      const { id, handle } = await expiring(recorder);
      const { db } = await testDeps();
      await db.manager.update(Media, { id }, { expiresAt: null, expiryLooksAt: null });
      await handle.signal('lookAgain');
      return handle;
    },
  },
};
