/** Builds small audio and video files. The containers are valid, but no test decodes the packets in them. */
import {
  BufferTarget,
  EncodedAudioPacketSource,
  EncodedPacket,
  EncodedVideoPacketSource,
  MkvOutputFormat,
  MovOutputFormat,
  Mp4OutputFormat,
  Output,
  WavOutputFormat,
  WebMOutputFormat,
  type OutputFormat,
} from 'mediabunny';

const formats = {
  mp4: () => new Mp4OutputFormat(),
  mov: () => new MovOutputFormat(),
  webm: () => new WebMOutputFormat(),
  mkv: () => new MkvOutputFormat(),
} as const;

async function written(format: OutputFormat, write: (output: Output) => Promise<() => Promise<void>>): Promise<Buffer> {
  const target = new BufferTarget();
  const output = new Output({ format, target });
  const addPackets = await write(output);
  await output.start();
  await addPackets();
  await output.finalize();
  return Buffer.from(target.buffer ?? new ArrayBuffer(0));
}

/** A video that lasts this number of seconds, with one packet for each second. */
export function video(
  format: keyof typeof formats,
  { width = 320, height = 240, seconds = 2 }: { width?: number; height?: number; seconds?: number } = {},
): Promise<Buffer> {
  return written(formats[format](), async (output) => {
    const source = new EncodedVideoPacketSource('vp9');
    output.addVideoTrack(source);
    const decoderConfig = { codec: 'vp09.00.10.08', codedWidth: width, codedHeight: height };
    return async () => {
      for (let at = 0; at < seconds; at++)
        await source.add(new EncodedPacket(new Uint8Array([0x82, 0x49, at]), 'key', at, 1), { decoderConfig });
    };
  });
}

/** Silence in PCM format, in a WAV file or in an MP4 file without video. */
export function sound(format: 'wav' | 'm4a', seconds = 1): Promise<Buffer> {
  const [numberOfChannels, sampleRate] = [1, 8_000];
  return written(format === 'wav' ? new WavOutputFormat() : new Mp4OutputFormat(), async (output) => {
    const source = new EncodedAudioPacketSource('pcm-s16');
    output.addAudioTrack(source);
    const decoderConfig = { codec: 'pcm-s16', numberOfChannels, sampleRate };
    return () =>
      source.add(new EncodedPacket(new Uint8Array(sampleRate * 2 * seconds), 'key', 0, seconds), { decoderConfig });
  });
}

/** Frames of an MPEG stream (layer III, 128 kbit/s, 44.1 kHz). Each frame lasts 26 ms. */
export function mp3(frames = 40): Buffer {
  const frame = Buffer.alloc(417);
  frame.set([0xff, 0xfb, 0x90, 0x00]);
  return Buffer.concat(Array.from({ length: frames }, () => frame));
}
