/** Reads the format, duration and size of audio and video, without decoding their streams. */
import {
  ADTS,
  CustomSource,
  FLAC,
  Input,
  MATROSKA,
  MP3,
  MP4,
  OGG,
  QTFF,
  WAVE,
  WEBM,
  type InputFormat,
  type InputVideoTrack,
} from 'mediabunny';
import type { Read } from './archive-type.ts';
import type { PlayedType } from '../media.policy.ts';

export interface PlayedFile {
  mime: PlayedType;
  durationMs: number;
  /** The width of a video in pixels, as a player shows the video. */
  width?: number;
  height?: number;
  /** For videos: whether the container says that the video is HDR or has more colours than BT.709. */
  hasWideColors?: boolean;
}

/**
 * The types of each container format: the type of a file with video, and the type of a file without video. The type is undefined if such a
 * file is refused. The list has no playlists.
 */
const types: readonly { format: InputFormat; video: PlayedType | undefined; audio: PlayedType | undefined }[] = [
  { format: MP4, video: 'video/mp4', audio: 'audio/mp4' },
  { format: QTFF, video: 'video/quicktime', audio: 'audio/mp4' },
  { format: WEBM, video: 'video/webm', audio: 'audio/webm' },
  { format: MATROSKA, video: 'video/x-matroska', audio: undefined },
  { format: OGG, video: undefined, audio: 'audio/ogg' },
  { format: MP3, video: undefined, audio: 'audio/mpeg' },
  { format: ADTS, video: undefined, audio: 'audio/aac' },
  { format: FLAC, video: undefined, audio: 'audio/flac' },
  { format: WAVE, video: undefined, audio: 'audio/wav' },
];

const cacheBytes = 8 * 1_024 * 1_024;
const longestMs = 10 * 86_400_000;

/**
 * @returns undefined for a file without streams or with damaged metadata, and for other kinds of files
 * @throws any error of `read`
 */
export async function playedFileOf(read: Read, sizeBytes: number): Promise<PlayedFile | undefined> {
  let failure: unknown;
  const source = new CustomSource({
    getSize: () => sizeBytes,
    async read(start, end) {
      try {
        return await read(start, end - start);
      } catch (error) {
        failure = error;
        throw error;
      }
    },
    maxCacheSize: cacheBytes,
    prefetchProfile: 'network',
    handleUnhandledError() {},
  });
  try {
    return await measure(new Input({ formats: types.map(({ format }) => format), source }));
  } catch (error) {
    if (failure !== undefined) throw failure;
    if (!(error instanceof Error)) throw error;
    return undefined;
  }
}

async function measure(input: Input): Promise<PlayedFile | undefined> {
  if (!(await input.canRead())) return undefined;
  const format = await input.getFormat();
  const [picture, sound] = [await input.getPrimaryVideoTrack(), await input.getPrimaryAudioTrack()];
  const typesOfFormat = types.find((entry) => entry.format === format);
  const mime = picture ? typesOfFormat?.video : sound ? typesOfFormat?.audio : undefined;
  if (mime === undefined) return undefined;
  const seconds = (await input.getDurationFromMetadata()) ?? (await input.computeDuration());
  const durationMs = Math.round(seconds * 1_000);
  if (!(durationMs >= 0 && durationMs <= longestMs)) return undefined;
  return { mime, durationMs, ...(picture && (await pictureOf(picture))) };
}

async function pictureOf(
  picture: InputVideoTrack,
): Promise<Required<Pick<PlayedFile, 'width' | 'height' | 'hasWideColors'>>> {
  const [width, height] = [await picture.getDisplayWidth(), await picture.getDisplayHeight()];
  return { width, height, hasWideColors: await picture.hasHighDynamicRange() };
}
