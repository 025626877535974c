/**
 * Scene: the video of a lecture is uploaded in pieces. The connection is cut, and the upload continues. A lesson shows the video, and then
 * the video is replaced.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { BufferTarget, EncodedPacket, EncodedVideoPacketSource, Mp4OutputFormat, Output } from 'mediabunny';
import { Problem } from '../problem.ts';
import { requireOk, until, type Club, type Scene } from './scene.ts';

/** A VP9 picture of 160 × 90 pixels. */
const picture = Buffer.from(
  [
    'gkmDQgAJ8AWWADgkHBhCAALAf5HjOP+/23bOHfCD330WkXUPg/0eq3f6/2P6H9/8Aeoq+kdB19I7R17QAAB46/+3wsAdF5PqvGvRFTWP',
    'WMkujnl7aakhF/hCriy5urXZyjFEuly7DjMbpbawU+mkEtugD9ybmKLQVcQwUL5dvsZcA+/chcqsSuOefjItBm3VxstUtIVRRj8qQyBP',
    'r+NA1NnSWW8NsIdQa9+MVEyoWE11YGKtImy1sJZ+oQiOinwvPTk4+fktW7Lg3/xX//qlpMu8E4+3ntspzpLEM39XKl9RloVEzJMxBnF8',
    '7qfXr1TBdgQ2hKyCnXDeSxOPz/ypEvr/vVVAyjlKmPx1uBIpxRihP1J/PJSzWIK7/h1qzOuix9Rkf6Zgts6VXfGgEsuQHGmm0eygp+6m',
    'fEHhSA4+eQhGga3Mjz1Dk5j0JO93VAJyf31JjVT+YGMjHmIylYQAfH32EOsUPDFVngtFw0xcAA==',
  ].join(''),
  'base64',
);
async function videoOf(seconds: number): Promise<Buffer> {
  const target = new BufferTarget();
  const output = new Output({ format: new Mp4OutputFormat(), target });
  const source = new EncodedVideoPacketSource('vp9');
  output.addVideoTrack(source);
  await output.start();
  const decoderConfig = { codec: 'vp09.00.10.08', codedWidth: 160, codedHeight: 90 };
  for (let at = 0; at < seconds; at++) await source.add(new EncodedPacket(picture, 'key', at, 1), { decoderConfig });
  await output.finalize();
  return Buffer.from(target.buffer ?? new ArrayBuffer(0));
}

/** @param lessonId a lesson of the club, whose content is replaced */
export async function lectureIsUploaded(scene: Scene, club: Club, lessonId: string): Promise<void> {
  const { clubId, token } = club;
  const administrator = scene.client(token);
  const lecture = await uploadInPieces(scene, club, 'Bends.mp4', await videoOf(5));
  const params = { path: { clubId, mediaId: lecture } };
  requireOk(
    await administrator.PATCH('/v1/clubs/{clubId}/lessons/{lessonId}', {
      params: { path: { clubId, lessonId } },
      body: { content: `# Bends\n\n![The lecture](media:${lecture})` },
    }),
  );
  const { data: places } = requireOk(await administrator.GET('/v1/clubs/{clubId}/media/{mediaId}/usage', { params }));
  if (places.length !== 1) throw new Problem('The library does not know where the video is used.');
  const better = await uploadInPieces(scene, club, 'Bends, second take.mp4', await videoOf(7));
  const quiet = scene.quietClient(token);
  const { duration_seconds: seconds } = await until('The end of the processing of both videos', async () => {
    const body = { with: better };
    const { data, error } = await quiet.POST('/v1/clubs/{clubId}/media/{mediaId}/replace', { params, body });
    if (error && error.error.code !== 'media_mismatch')
      throw new Problem(`The video was not replaced: ${error.error.code}.`);
    if (error) await sleep(500); // one of the two videos is still being processed
    return data?.data;
  });
  if (seconds !== 7) throw new Problem('The lesson does not show the second take.');
  scene.tell('lecture.replaced', { title: places[0]?.title ?? '', seconds });
}

/** Uploads half of the video, and then the other half with a second session token. @returns the file's id once it is ready */
async function uploadInPieces(scene: Scene, { clubId, token }: Club, name: string, video: Buffer): Promise<string> {
  const administrator = scene.client(token);
  const { data: file, upload } = requireOk(
    await administrator.POST('/v1/clubs/{clubId}/media', {
      params: { path: { clubId } },
      body: { file_name: name, mime: 'video/mp4', size_bytes: video.length },
    }),
  );
  const params = { path: { clubId, mediaId: file.id } };
  const protocol = { 'tus-resumable': '1.0.0' };
  const created = await fetch(upload.url, {
    method: 'POST',
    headers: { ...upload.headers, ...protocol, 'upload-length': String(video.length) },
  });
  const location = created.headers.get('location');
  if (location === null) throw new Problem(`The upload in pieces did not begin: ${created.status}.`);
  const send = async (headers: Record<string, string>, from: number, to: number) => {
    const pieceResponse = await fetch(location, {
      method: 'PATCH',
      headers: {
        ...headers,
        ...protocol,
        'upload-offset': String(from),
        'content-type': 'application/offset+octet-stream',
      },
      body: new Uint8Array(video.subarray(from, to)),
    });
    if (pieceResponse.status !== 204)
      throw new Problem(`The store answered a piece of the video with ${pieceResponse.status}.`);
  };
  await send(upload.headers, 0, Math.floor(video.length / 2));

  // Continues the upload after a broken connection, like a second browser that knows only the file's id.
  const { upload: renewed } = requireOk(
    await administrator.POST('/v1/clubs/{clubId}/media/{mediaId}/upload', { params }),
  );
  const statusResponse = await fetch(location, { method: 'HEAD', headers: { ...renewed.headers, ...protocol } });
  const offset = Number(statusResponse.headers.get('upload-offset'));
  scene.tell('lecture.cut', { arrived: offset, total: video.length });
  await send(renewed.headers, offset, video.length);
  await until('The video', async () => {
    const { data } = requireOk(await administrator.POST('/v1/clubs/{clubId}/media/{mediaId}/complete', { params }));
    if (data.status === 'failed') throw new Problem(`The processing of the video failed: ${data.error}.`);
    return data.status === 'ready' ? data : undefined;
  });
  return file.id;
}
