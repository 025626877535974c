/**
 * The worker thread that identifies files one after another. The thread requests the bytes that it needs, and keeps nothing of a file
 * afterwards.
 */
import { serveThread } from '../../../platform/infra/threads/thread-work.ts';
import { identifyContent, type ArrivedFile } from '../formats/file-content.ts';

/** The bytes of a file that the thread has requested. */
export interface Piece {
  offset: number;
  length: number;
}

serveThread((file, orderer) =>
  identifyContent(async (offset, length) => {
    const bytes = await orderer.ask({ offset, length } satisfies Piece);
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }, file as ArrivedFile),
);
