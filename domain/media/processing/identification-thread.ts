/** The thread that looks into files, one after another. It asks for the bytes that it needs, and keeps nothing of a file. */
import { serveThread } from '../../../platform/infra/threads/thread-work.ts';
import { lookInto, type ArrivedFile } from '../formats/file-content.ts';

/** The bytes of the file that are asked for. */
export interface Piece {
  offset: number;
  length: number;
}

serveThread((file, orderer) =>
  lookInto(async (offset, length) => {
    const bytes = await orderer.ask({ offset, length } satisfies Piece);
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }, file as ArrivedFile),
);
