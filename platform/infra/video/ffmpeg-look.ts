/** Checks whether the ffmpeg of this machine can make renditions, with the remedy if not (DEC-162). */
import { stat } from 'node:fs/promises';
import { askProgram, firstWords, lookUp } from '../programs/programs.ts';
import type { FfmpegBounds, runFfmpeg } from './ffmpeg.ts';

export interface FfmpegFinding {
  /** An absolute path; absent if there is no such program. */
  readonly file?: string;
  /** Such as `7.1.5-0+deb13u1`. */
  readonly version?: string;
  /** Follows the program's name in a message. Absent if the program works. */
  readonly flaw?: string;
  /** Reasons why this ffmpeg cannot make renditions at all, with the remedy. */
  readonly mistakes: readonly string[];
  /** A sentence for each skipped program. */
  readonly notes: readonly string[];
  /** This text changes when the file changes. */
  readonly identity?: string;
}

type Part = 'encoder' | 'decoder' | 'filter' | 'muxer' | 'demuxer';
interface Need {
  readonly part: Part;
  readonly name: string;
}

/** The renditions of a video need these (MED-24, MED-31). Only the test picture needs `rawvideo`. */
const needs: readonly Need[] = [
  { part: 'encoder', name: 'libx264' },
  { part: 'encoder', name: 'aac' },
  { part: 'encoder', name: 'png' },
  { part: 'filter', name: 'scale' },
  { part: 'filter', name: 'setsar' },
  { part: 'filter', name: 'setparams' },
  { part: 'filter', name: 'sidedata' },
  { part: 'filter', name: 'format' },
  { part: 'filter', name: 'lut3d' },
  { part: 'filter', name: 'premultiply' },
  { part: 'muxer', name: 'mp4' },
  { part: 'muxer', name: 'image2pipe' },
  { part: 'demuxer', name: 'mov' },
  { part: 'demuxer', name: 'matroska' },
  { part: 'demuxer', name: 'rawvideo' },
];

/** A busy machine takes long to encode the test picture. */
const trialBounds: FfmpegBounds = { timeMs: 60_000, memoryMb: 2_048, fileBytes: 1_048_576 };
/** Encodes four grey pictures as a test video. */
const trial = [
  '-protocol_whitelist file,pipe -threads 2 -f rawvideo -pix_fmt yuv420p -s 64x64 -i file:/dev/zero -frames:v 4',
  '-vf scale=32:32,setsar=1 -c:v libx264 -threads 2 -preset veryfast -f mp4 -movflags frag_keyframe+empty_moov',
  '-y file:/dev/null',
].flatMap((words) => words.split(' '));

const consequence = 'videos stay as they were uploaded';
const remedy = 'install ffmpeg with libx264 and AAC (Debian: apt-get install ffmpeg), or set FFMPEG_BINARY to one';

/**
 * Reads version and parts, and encodes a test picture within the limits of a video, in about a second. The first program on the PATH that
 * works is used.
 * @param executable a path, or a name on the PATH
 * @param given.before reused if its program worked and the file is unchanged
 */
export async function lookAtFfmpeg(
  executable: string,
  { run, env, before }: { run: typeof runFfmpeg; env: NodeJS.ProcessEnv; before: FfmpegFinding | undefined },
): Promise<FfmpegFinding> {
  const { files, unusable } = await lookUp(executable, process.env['PATH'] ?? '');
  const known = before?.mistakes.length === 0 ? before : undefined;
  if (known?.file !== undefined && files.includes(known.file) && (await identityOf(known.file)) === known.identity)
    return known;
  const wrongOnes: FfmpegFinding[] = [];
  for (const file of files) {
    const identity = await identityOf(file);
    const found = await lookAtFile(file, { run, env, identity });
    const notes = wrongOnes.flatMap(({ mistakes }) => mistakes).concat(found.notes);
    if (found.mistakes.length === 0) return { ...found, notes };
    wrongOnes.push(found);
  }
  const [first] = wrongOnes;
  if (first === undefined) return { mistakes: [missing(executable, unusable)], notes: [] };
  return { ...first, mistakes: wrongOnes.flatMap(({ mistakes }) => mistakes) };
}

async function lookAtFile(
  file: string,
  { run, env, identity }: { run: typeof runFfmpeg; env: NodeJS.ProcessEnv; identity: string },
): Promise<FfmpegFinding> {
  const found = { file, identity };
  const ask = (args: readonly string[]) => askProgram(file, args, { env });
  try {
    const versionText = await ask(['-version']);
    const [, version] = /^ffmpeg version (\S+)/m.exec(versionText) ?? [];
    if (version === undefined) return wrong(found, `says ${firstWords(versionText)} to -version, so it is no ffmpeg`);
    const there = { ...found, version };
    const lacking = await lackingParts(ask);
    if (lacking.length > 0) return wrong(there, `lacks ${listed(lacking)}`);
    const { signal } = new AbortController();
    if ((await run(file, trial, { bounds: trialBounds, signal })) !== 'done') {
      const bounds = `${trialBounds.memoryMb} MB of memory, ${trialBounds.timeMs / 1_000} s`;
      return wrong(there, `encodes no test picture within its bounds (${bounds})`);
    }
    return { ...there, mistakes: [], notes: [] };
  } catch (error) {
    return wrong(found, (error as Error).message);
  }
}

type Found = Pick<FfmpegFinding, 'version' | 'identity'> & { file: string };

const wrong = (found: Found, flaw: string): FfmpegFinding => ({
  ...found,
  flaw,
  mistakes: [`${named(found)} ${flaw}: ${consequence}; ${remedy}.`],
  notes: [],
});

const named = ({ file, version }: Found): string => (version === undefined ? file : `${file} (ffmpeg ${version})`);

function missing(executable: string, unusable: readonly string[]): string {
  const place = executable.includes('/') ? `at ${executable}` : `named ${executable} on the PATH`;
  const skippedPrograms = unusable.length === 0 ? '' : ` (${unusable.join(', ')})`;
  return `There is no ffmpeg ${place}${skippedPrograms}: ${consequence}; ${remedy}.`;
}

/** @returns a text that changes when the file, or the file behind a link, changes */
async function identityOf(file: string): Promise<string> {
  const found = await stat(file).catch(() => undefined);
  return [found?.dev, found?.ino, found?.size, found?.mtimeMs].join(' ');
}

/** @throws the errors of `askProgram` */
async function lackingParts(ask: (args: readonly string[]) => Promise<string>): Promise<Need[]> {
  const lacking: Need[] = [];
  for (const part of new Set(needs.map((need) => need.part))) {
    const names = namesIn(await ask(['-hide_banner', `-${part}s`]));
    lacking.push(...needs.filter((need) => need.part === part && !names.has(need.name)));
  }
  return lacking;
}

/** @param list such as ` V....D libx264 libx264 H.264 …`: flags, then the names, between commas */
function namesIn(list: string): Set<string> {
  return new Set(list.split('\n').flatMap((line) => line.trim().split(/\s+/)[1]?.split(',') ?? []));
}

/** @returns a text such as `the encoders libx264 and aac, the filter scale` */
function listed(parts: readonly Need[]): string {
  return [...Map.groupBy(parts, ({ part }) => part)]
    .map(([part, same]) => {
      const names = same.map(({ name }) => name).join(', ');
      return `the ${part}${same.length > 1 ? 's' : ''} ${names.replace(/, ([^,]+)$/, ' and $1')}`;
    })
    .join(', ');
}
