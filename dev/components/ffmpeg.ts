/** ffmpeg from a package on npm that contains the program. */
import { chmod, rename } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { askProgram } from '../../platform/infra/programs/programs.ts';
import { ffmpegAt } from '../../platform/infra/video/ffmpeg.ts';
import type { Source } from './catalogue.ts';
import { withNpmPackage } from './npm-package.ts';

const executable = 'ffmpeg';

/**
 * A source that extracts the program from a package of @ffmpeg-installer, one package for each platform. Other packages download the
 * program during their installation.
 * @param names the argument of `npm pack`, package@version, for each platform and architecture
 */
export function npmFfmpeg(names: Readonly<Record<string, string>>): Source {
  const platform = `${os.platform()}-${os.arch()}`;
  const name = names[platform];
  return {
    title: `npm, ${name ?? '@ffmpeg-installer'}`,
    async fetch(directory, report) {
      if (name === undefined) throw new Error(`there is none for ${platform}`);
      report('  copying a package that contains ffmpeg with npm: 25 MB');
      const program = path.join(directory, executable);
      await withNpmPackage(name, { directory, report }, (unpacked) => rename(path.join(unpacked, executable), program));
      await chmod(program, 0o755);
    },
  };
}

/**
 * The versions of ffmpeg builds have no order, so this checks their features. @returns why the worker would create poor renditions with
 * this ffmpeg, or undefined
 */
export async function renditionFlaw(program: string): Promise<string | undefined> {
  const ffmpeg = ffmpegAt(program);
  await ffmpeg.look();
  return ffmpeg.finding?.flaw;
}

/** The videos of tests need these too, besides the worker's codecs. */
const codecs = [
  ['-c:v', 'libx264', '-c:a', 'aac', '-f', 'mp4', '-movflags', 'frag_keyframe+empty_moov'],
  ['-c:v', 'libvpx', '-deadline', 'realtime', '-c:a', 'libopus', '-f', 'webm'],
];
const pressTimeoutMs = 60_000;

/** Encodes one second of video and sound with each codec. @throws Error when an encoding fails, with the reason */
export async function pressesVideo(program: string): Promise<void> {
  const formats = ['-f', 'lavfi', '-i', 'testsrc=s=64x64:d=1', '-f', 'lavfi', '-i', 'sine=d=1'];
  for (const pressed of codecs) {
    const args = ['-nostdin', '-hide_banner', '-loglevel', 'error', '-y', ...formats, ...pressed, os.devNull];
    await askProgram(program, args, { timeoutMs: pressTimeoutMs });
  }
}
