/** The scenario of subtitles that are generated from speech, while people upload other subtitles, remove subtitles, or remove the file. */
import { MediaTranscription } from '../../../../entities/media/media-transcription.ts';
import { mediaUses } from '../../../../domain/contexts.ts';
import { eraseDue, removeMedia } from '../../../../domain/media/erasure/erasure.ts';
import { eraseLeftovers } from '../../../../domain/media/erasure/leftovers.ts';
import { putTrack, removeTrack } from '../../../../domain/media/library/tracks.ts';
import { requestTranscription } from '../../../../domain/media/transcriptions/requests.ts';
import type { TranscriptionDeps } from '../../../../domain/media/transcriptions/step.ts';
import { transcriptionRules } from '../../../../domain/media/transcriptions/transcription.policy.ts';
import { newId, type Id } from '../../../../platform/core/ids.ts';
import { tableOf } from '../../../../platform/infra/postgres/sql.ts';
import type { Decisions } from '../decisions.ts';
import type { Simulation } from '../simulation.ts';
import { mustHold, type Command, type Stage } from '../stage.ts';
import { addClub, type Footing } from './ground.ts';
import { addStoredFile, isCutOff } from './media-moves.ts';
import { simulatedStore } from './store.ts';

const moods = ['speaks', 'is silent', 'is slow', 'breaks', 'is missing'] as const;
type Mood = (typeof moods)[number];
const languages = ['en', 'pt'] as const;
/** This duration is longer than a lease that is not renewed. */
const slowMs = 15_000;
const broken = 'The process has ended';
const day = 86_400_000;

export async function mediaTranscriptions(sim: Simulation, ground: Footing): Promise<Stage> {
  const clubId = await addClub(sim, ground);
  const store = simulatedStore(sim);
  const deps = { db: sim.db, storage: store.storage, mediaUses };
  const now = () => new Date(sim.time.now);
  const files = [await addFile(100), await addFile(101)];
  const faults: unknown[] = [];
  /** Uploads by file and language. */
  const uploads = new Map<string, { open: number; isUploaded: boolean }>();
  let mood: Mood = 'speaks';

  async function addFile(sizeBytes: number): Promise<Id> {
    const id = newId();
    await addStoredFile(sim, store, {
      id,
      clubId,
      content: Buffer.alloc(sizeBytes),
      mime: 'audio/mpeg',
      isProcessed: true,
    });
    return id;
  }

  const makeSubtitles: TranscriptionDeps['makeSubtitles'] = async (file, { signal, tell }) => {
    tell('the command works');
    const commandMood = await sim.outside('the command', () => mood);
    if (commandMood === 'is slow') await pause(signal);
    signal.throwIfAborted();
    if (commandMood === 'breaks') throw new Error(broken);
    if (commandMood === 'is missing') return { waitsFor: 'program' };
    if (commandMood === 'is silent') return { error: 'no_speech' };
    return { vtt: Buffer.from(`WEBVTT\n\n00:01.000 --> 00:02.000\nMade in ${file.language}.\n`) };
  };

  const setMood = (next: Mood): Command => ({
    label: `the command ${next}`,
    run() {
      mood = next;
    },
  });

  function ofFile(decisions: Decisions): Command {
    const [mediaId, language] = [decisions.pick(files), decisions.pick(languages)];
    const name = { clubId, mediaId, language };
    const key = `${mediaId} ${language}`;
    const upload = uploads.get(key) ?? { open: 0, isUploaded: false };
    uploads.set(key, upload);
    const which = decisions.choose(8);
    if (which < 4) {
      const asking = { db: sim.db, makesSubtitles: true };
      return {
        label: `subtitles of ${key}`,
        run: async () => void (await requestTranscription(asking, name, { language }, now())),
      };
    }
    if (which < 6)
      return {
        label: `upload subtitles of ${key}`,
        async run() {
          upload.open += 1;
          const content = 'WEBVTT\n\n00:01.000 --> 00:02.000\nUploaded.\n';
          await putTrack(deps, name, { content }, now());
          upload.open -= 1;
          upload.isUploaded = true;
        },
      };
    if (which === 6)
      return {
        label: `remove subtitles of ${key}`,
        async run() {
          upload.open += 1; // the state is unknown until the answer arrives
          await removeTrack({ db: sim.db }, name, now());
          upload.open -= 1;
          upload.isUploaded = false;
        },
      };
    return {
      label: `remove ${mediaId}`,
      run: () => removeMedia(deps, clubId, mediaId, now(), { force: true }),
    };
  }

  const upkeep = (at: () => Date = now): Command => ({
    label: 'upkeep',
    async run() {
      await eraseDue(deps, at());
      await eraseLeftovers(deps, at());
    },
  });

  return {
    types: ['mediaTranscription'],
    horizonMs: 3 * 3_600_000,
    leaseMs: transcriptionRules.leaseMs,
    depsFor: (db) => ({
      transcriptions: {
        db,
        storage: store.storage,
        makeSubtitles,
        onFault(error) {
          if (!isCutOff(error) && String(error) !== `Error: ${broken}`) faults.push(error);
        },
        onOutcome: () => {},
        failpoint: () => Promise.resolve(),
      },
    }),
    command(decisions) {
      const which = decisions.choose(12);
      if (which < 7) return ofFile(decisions);
      if (which < 10) return setMood(decisions.pick(moods));
      if (which === 10) return upkeep();
      return store.turn(decisions.pick(['answers', 'is slow', 'is away'] as const));
    },
    calm: () => [setMood('speaks'), store.turn('answers')],
    async atRest() {
      const [fault] = faults;
      mustHold(fault === undefined, 'nothing is at fault', () => String(fault));
      const tracks = await sim.postgres.ask<{ media_id: Id; language: string; made_by: string; object_key: string }>(
        'SELECT media_id, language, made_by, object_key FROM media_tracks',
      );
      for (const { object_key: key } of tracks)
        mustHold(store.objects.has(key), 'a track has its object', () => `nothing is at ${key}`);
      for (const { media_id: mediaId, language, made_by: maker } of tracks) {
        const upload = uploads.get(`${mediaId} ${language}`);
        if (upload?.open === 0 && upload.isUploaded)
          mustHold(maker === 'upload', 'an uploaded track stays', () => `${mediaId} ${language} was made by ${maker}`);
      }
    },
    async atEnd() {
      const openTranscriptions = await sim.postgres.ask<{ id: Id }>(
        `SELECT id FROM ${tableOf(MediaTranscription)} WHERE looks_at IS NOT NULL`,
      );
      mustHold(openTranscriptions.length === 0, 'all work ends', () => `the subtitles of ${openTranscriptions[0]?.id}`);
      await upkeep(() => new Date(sim.time.now + 2 * day)).run();
      const named = await sim.postgres.ask<{ key: string }>(
        `SELECT object_key AS key FROM media_tracks UNION SELECT object_key FROM media WHERE object_key IS NOT NULL`,
      );
      const keys = new Set(named.map(({ key }) => key));
      const stray = [...store.objects.keys()].filter((key) => !keys.has(key));
      mustHold(stray.length === 0, 'nothing else is stored', () => String(stray[0]));
    },
  };
}

/** Waits until an unrenewed lease has expired, or until the work is stopped. */
function pause(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, slowMs);
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
  });
}
