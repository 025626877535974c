/** Handles requests of administrators to make subtitles from the speech in a video or sound (MED-34). */
import { MediaTranscription } from '../../../entities/media/media-transcription.ts';
import type { RecordOf } from '../../../contract/contract.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { wake } from '../../../platform/engine/wakes.ts';
import type { MediaDeps } from '../media.ts';
import { presentTranscription } from '../media.ts';
import { canonicalLanguage, findWithRoom, lockPlayed } from '../library/tracks.ts';

/**
 * Starts a run that makes the track. Repeating the request changes nothing while it is pending, and starts it again after a failure.
 * @param deps.makesSubtitles whether the deployment has a program that makes subtitles
 * @throws DomainError not_configured, not_found, invalid_file, invalid_request (the language is invalid), track_exists (an uploaded track
 * exists), too_many_tracks, transcription_pending (a transcription in another language is pending)
 */
export async function requestTranscription(
  { db, makesSubtitles }: Pick<MediaDeps, 'db'> & { makesSubtitles: boolean },
  { clubId, mediaId }: { clubId: Id; mediaId: Id },
  { language: tag }: RecordOf<'MediaTranscriptionRequest'>,
  now: Date,
): Promise<RecordOf<'MediaTranscription'>> {
  if (!makesSubtitles) throw new DomainError('not_configured', 'This environment has no program that makes subtitles.');
  const language = canonicalLanguage(tag);
  return db.transaction(async (tx) => {
    await lockPlayed(tx, clubId, mediaId);
    const track = await findWithRoom(tx, mediaId, language);
    if (track?.madeBy === 'upload')
      throw new DomainError('track_exists', `The file has uploaded subtitles in ${language}. Remove them first.`);
    const before = await tx.manager.findOneBy(MediaTranscription, { id: mediaId });
    const isPending = before !== null && before.looksAt !== null;
    if (isPending && before.language !== language)
      throw new DomainError('transcription_pending', `Subtitles in ${before.language} are being made. Wait for them.`);
    if (!isPending) {
      const row = { language, looksAt: now, attempts: 0, errorCode: null };
      if (before) await tx.manager.update(MediaTranscription, { id: mediaId }, row);
      else await tx.manager.insert(MediaTranscription, { ...row, id: mediaId, clubId, createdAt: now });
      await wake(tx, 'mediaTranscription', [{ id: mediaId, clubId }], now);
    }
    return presentTranscription({ language, error: null });
  });
}
