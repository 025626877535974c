/** Renders the first page of a PDF with PDFium. */
import { makePictures, type PictureProcess, type SmallPicture } from './pictures.ts';

/** For comparison: a page of text takes half a second. PDFium keeps the whole file in memory. */
const drawing: PictureProcess = {
  module: new URL('page-child.mjs', import.meta.url),
  workMs: 90_000,
  cpuSeconds: 20,
  maxHeapMb: 128,
  maxWasmMb: 512,
};

/**
 * @param pdf at most 100 MB
 * @param options.signal ends the process
 * @param options.bounds for tests
 * @returns undefined if no page can be rendered within the bounds, or if the file needs a password
 * @throws the error of the input stream; the signal's reason
 */
export async function drawFirstPage(
  pdf: Iterable<Buffer> | AsyncIterable<Buffer>,
  box: { width: number; height: number },
  { signal, bounds }: { signal: AbortSignal; bounds?: Partial<PictureProcess> },
): Promise<SmallPicture | undefined> {
  const [page] = (await makePictures({ ...drawing, ...bounds }, pdf, [box], signal)) ?? [];
  return page;
}
