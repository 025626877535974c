/** ffmpeg from a package on npm that carries the program. */
import { chmod, rename } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { runCommand } from '../commands.ts';
import type { Source } from './catalogue.ts';
import { withNpmPackage } from './npm-package.ts';

const executable = 'ffmpeg';

/**
 * A source that takes the program out of a package of @ffmpeg-installer: others download it when they are installed. Each platform has
 * a package of its own.
 * @param names what `npm pack` takes, package@version, by platform and architecture
 */
export function npmFfmpeg(names: Readonly<Record<string, string>>): Source {
  const platform = `${os.platform()}-${os.arch()}`;
  const name = names[platform];
  return {
    title: `npm, ${name ?? '@ffmpeg-installer'}`,
    async fetch(directory, report) {
      if (name === undefined) throw new Error(`there is none for ${platform}`);
      report('  copying a package that carries ffmpeg with npm: 25 MB');
      const program = path.join(directory, executable);
      await withNpmPackage(name, { directory, report }, (unpacked) => rename(path.join(unpacked, executable), program));
      await chmod(program, 0o755);
    },
  };
}

/** Presses a second of video and sound, as the worker does. @throws Error when that fails; its message says why */
export async function pressesVideo(program: string): Promise<void> {
  const made = ['-f', 'lavfi', '-i', 'testsrc=s=64x64:d=1', '-f', 'lavfi', '-i', 'sine=d=1'];
  const pressed = ['-c:v', 'libx264', '-c:a', 'aac', '-f', 'mp4', '-movflags', 'frag_keyframe+empty_moov', os.devNull];
  await runCommand(program, ['-nostdin', '-hide_banner', '-loglevel', 'error', '-y', ...made, ...pressed]);
}
