/** Builds videos with ffmpeg, so that a decoder can really decode them. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { runCommand } from '../../../dev/stack/commands.ts';
import { components } from '../../../dev/components/catalogue.ts';
import { locate } from '../../../dev/components.ts';

/** A moving test picture and a tone, with metadata. @param size such as `1920x1080` */
export async function realVideo(
  size: string,
  { seconds = 1, format = 'mp4' }: { seconds?: number; format?: 'mp4' | 'mov' | 'webm' } = {},
): Promise<Buffer> {
  const directory = await mkdtemp(path.join(tmpdir(), 'real-video-'));
  const file = path.join(directory, `video.${format}`);
  const source = ['-f', 'lavfi', '-i', `testsrc=s=${size}:r=5:d=${seconds}`, '-f', 'lavfi', '-i', `sine=d=${seconds}`];
  const codecs =
    format === 'webm'
      ? ['-c:v', 'libvpx', '-deadline', 'realtime', '-cpu-used', '8', '-c:a', 'libopus']
      : ['-c:v', 'libx264', '-preset', 'ultrafast', '-c:a', 'aac'];
  try {
    const words = ['-metadata', 'title=Quixotic', '-metadata', 'location=+51.5-000.1/'];
    await runCommand(await locate(components.ffmpeg), [
      '-nostdin',
      '-loglevel',
      'error',
      ...source,
      ...codecs,
      ...words,
      file,
    ]);
    return await readFile(file);
  } finally {
    await rm(directory, { recursive: true });
  }
}
