/** pdf.js, Mozilla's reader of PDF, in this thread: it draws nothing here, and opens no picture. */
import { createRequire, registerHooks } from 'node:module';
import path from 'node:path';
import type { PDFDocumentProxy } from 'pdfjs-dist';
import type * as Pdfjs from 'pdfjs-dist/legacy/build/pdf.mjs';

type Engine = typeof Pdfjs;

const canvas = '@napi-rs/canvas';

/**
 * pdf.js tells which letters a file has, and not the text that the file says they stand for (ActualText): vowel signs, joiners and
 * ligatures that have no letter of their own. So one line of it is changed as it is loaded.
 */
const markedContent = {
  given: 'args = [args[0].name, args[1] instanceof Dict ? args[1].get("MCID") : null];',
  changed:
    'args = [args[0].name, args[1] instanceof Dict ? args[1].get("MCID") : null, args[1] instanceof Dict ? args[1].get("ActualText") : null];',
};

/** What pdf.js warns of, while a document is read. */
let onWarning: (message: string) => void = () => {};

/** Loads it without the canvas that it draws on, which is native code. */
async function loadEngine(): Promise<Engine> {
  // oxlint-disable-next-line no-console -- pdf.js has no other way to say it
  console.warn = (message: unknown) => onWarning(String(message));
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      if (specifier === canvas) throw new Error(`${canvas} is not loaded: no page is drawn here`);
      return next(specifier, context);
    },
    load(url, context, next) {
      const loaded = next(url, context);
      if (!url.endsWith('/pdf.worker.mjs')) return loaded;
      const source = Buffer.from(loaded.source as Uint8Array).toString();
      if (!source.includes(markedContent.given))
        throw new Error('pdf.js reads marked content in another way than it did');
      return { ...loaded, source: source.replace(markedContent.given, () => markedContent.changed) };
    },
  });
  try {
    const worker = 'pdfjs-dist/legacy/build/pdf.worker.mjs'; // without types
    await import(worker);
    return await import('pdfjs-dist/legacy/build/pdf.mjs');
  } finally {
    hooks.deregister();
  }
}

/** Has the maps of the letters of fonts that are not embedded, and the widths of the standard fonts. */
const files = path.dirname(createRequire(import.meta.url).resolve('pdfjs-dist/package.json'));

let engine: Promise<Engine> | undefined;

export async function loadPdfEngine(): Promise<Engine> {
  engine ??= loadEngine();
  return engine;
}

/**
 * @param bytes given away: pdf.js may take them over
 * @param warned gets what pdf.js warns of, until another document is opened
 * @throws whatever pdf.js has against the file
 */
export async function openPdf(
  bytes: Uint8Array,
  warned: (message: string) => void = () => {},
): Promise<PDFDocumentProxy> {
  const { getDocument, VerbosityLevel } = await loadPdfEngine();
  onWarning = warned;
  return getDocument({
    data: bytes,
    verbosity: VerbosityLevel.WARNINGS,
    stopAtErrors: false,
    cMapUrl: path.join(files, 'cmaps', path.sep),
    cMapPacked: true,
    standardFontDataUrl: path.join(files, 'standard_fonts', path.sep),
    maxImageSize: 0, // no picture is decoded
    fontExtraProperties: true, // whether a font's codes are of several bytes, and the codes of its letters
    useSystemFonts: false,
    useWasm: false,
  }).promise;
}
