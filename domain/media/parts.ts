/** The answers of the context `media` to the questions that concern every context (domain/questions.ts). */
import { ClubStorage } from '../../entities/media/club-storage.ts';
import { ClubStorageChange } from '../../entities/media/club-storage-change.ts';
import { LeftoverObject } from '../../entities/media/leftover-object.ts';
import { Media } from '../../entities/media/media.ts';
import { MediaFavorite } from '../../entities/media/media-favorite.ts';
import { MediaFolder } from '../../entities/media/media-folder.ts';
import { MediaMove } from '../../entities/media/media-move.ts';
import { MediaRendition } from '../../entities/media/media-rendition.ts';
import { MediaTrack } from '../../entities/media/media-track.ts';
import { MediaTranscription } from '../../entities/media/media-transcription.ts';
import { MediaUpload } from '../../entities/media/media-upload.ts';
import { MediaUse } from '../../entities/media/media-use.ts';
import { folding, type ContextQuestions } from '../questions.ts';
import { closeMedia } from './erasure/closing.ts';
import { eraseDue, purgeStudentFromMedia } from './erasure/erasure.ts';
import { eraseLeftovers } from './erasure/leftovers.ts';
import { countFilesOfPerson } from './erasure/remains.ts';
import { followVideoHosting } from './erasure/expiry.ts';
import { eraseOwnAvatar } from './processing/own-avatars.ts';
import { processOldFiles } from './processing/old-files.ts';
import { deleteFavorites, deleteFavoritesInClub } from './library/favorites.ts';
import { rollUpStorage } from './storage/storage.ts';
import { exportMedia } from './student-export.ts';

export const mediaParts = {
  closeClub: closeMedia,
  eraseStudent: (tx, { studentId }, now) => purgeStudentFromMedia(tx, studentId, now),
  exportStudent: exportMedia,
  remainsOfPerson: countFilesOfPerson,
  changeEmail: null,
  clubRows: [
    { of: ClubStorage, by: 'club' },
    { of: ClubStorageChange, by: 'club' },
    { of: LeftoverObject, by: 'scan' },
    { of: Media, by: 'club' },
    { of: MediaFavorite, by: { parent: Media, column: 'mediaId' } },
    { of: MediaFolder, by: 'club' },
    { of: MediaMove, by: { parent: Media, column: 'id' } },
    { of: MediaRendition, by: { parent: Media, column: 'mediaId' } },
    { of: MediaTrack, by: { parent: Media, column: 'mediaId' } },
    { of: MediaTranscription, by: { parent: Media, column: 'id' } },
    { of: MediaUpload, by: 'club' },
    { of: MediaUse, by: { parent: Media, column: 'mediaId' } },
  ],
  retention: [
    {
      async run({ db }, now) {
        const { changed, more } = await followVideoHosting(db, now);
        return { rows: { expiriesChanged: changed }, more };
      },
    },
    {
      async run({ db }) {
        const { changes, more } = await rollUpStorage(db);
        return { rows: { storageChanges: changes }, more };
      },
    },
    folding('media', ['title', 'file_name']),
    {
      async run({ db }, now) {
        return { rows: { mediaProcessedLate: await processOldFiles(db, now) }, more: false };
      },
    },
    {
      async run(deps, now) {
        const { erased, refused, more } = await eraseDue(deps, now);
        return { rows: { mediaErased: erased, mediaRefused: refused }, more };
      },
      waitsForOthers: true,
    },
    {
      async run(deps, now) {
        const { erased, refused, more } = await eraseLeftovers(deps, now);
        return { rows: { leftoversErased: erased, leftoversRefused: refused }, more };
      },
      waitsForOthers: true,
    },
  ],
  endMembership: (tx, member) => deleteFavoritesInClub(tx, member),
  async eraseAdministrator(tx, { administratorId }, now) {
    await deleteFavorites(tx, administratorId);
    await eraseOwnAvatar(tx, administratorId, now);
  },
} satisfies ContextQuestions;
