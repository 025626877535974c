/** Renders the first page of a PDF with PDFium. */
import { makePictures, type PictureProcess, type SmallPicture } from './pictures.ts';

/** The process and its limits. A page of text takes half a second, and PDFium keeps the whole file in its memory. */
const drawing: PictureProcess = {
  module: new URL('page-child.mjs', import.meta.url),
  workMs: 90_000,
  cpuSeconds: 20,
  maxHeapMb: 128,
  maxWasmMb: 512,
};

/**
 * @param pdf an uploaded file of at most 100 MB
 * @param box the box that the page fills
 * @param options.signal ends the process
 * @param options.bounds the bounds that tests use instead of the usual bounds
 * @returns undefined if no page can be rendered within the bounds, or if the file needs a password
 * @throws the error of the input stream, the signal's reason, and Error if the process failed for another reason
 */
export async function drawFirstPage(
  pdf: Iterable<Buffer> | AsyncIterable<Buffer>,
  box: { width: number; height: number },
  { signal, bounds }: { signal: AbortSignal; bounds?: Partial<PictureProcess> },
): Promise<SmallPicture | undefined> {
  const [page] = (await makePictures({ ...drawing, ...bounds }, pdf, [box], signal)) ?? [];
  return page;
}
