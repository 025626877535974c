/** Loads pdf.js, Mozilla's PDF reader, in this thread. The reader draws no page and decodes no picture. */
import { createRequire, registerHooks } from 'node:module';
import path from 'node:path';
import type { PDFDocumentProxy } from 'pdfjs-dist';
import type * as Pdfjs from 'pdfjs-dist/legacy/build/pdf.mjs';

type Engine = typeof Pdfjs;

const canvas = '@napi-rs/canvas';

/**
 * A PDF can contain a replacement text for letters (ActualText). The replacement text contains vowel signs, joiners and ligatures that have
 * no code of their own in the font. pdf.js returns the letters, but not the replacement text. So this module changes one line of pdf.js
 * while it loads pdf.js.
 */
const markedContent = {
  given: 'args = [args[0].name, args[1] instanceof Dict ? args[1].get("MCID") : null];',
  changed:
    'args = [args[0].name, args[1] instanceof Dict ? args[1].get("MCID") : null, args[1] instanceof Dict ? args[1].get("ActualText") : null];',
};

/** Receives the warnings of pdf.js while a document is read. */
let onWarning: (message: string) => void = () => {};

/** Loads pdf.js without its canvas package, because that package is native code. */
async function loadEngine(): Promise<Engine> {
  // oxlint-disable-next-line no-console -- pdf.js reports warnings only here
  console.warn = (message: unknown) => onWarning(String(message));
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      if (specifier === canvas) throw new Error(`${canvas} is not available: no page is drawn here`);
      return next(specifier, context);
    },
    load(url, context, next) {
      const loaded = next(url, context);
      if (!url.endsWith('/pdf.worker.mjs')) return loaded;
      const source = Buffer.from(loaded.source as Uint8Array).toString();
      if (!source.includes(markedContent.given))
        throw new Error('The code of pdf.js that reads marked content has changed: adapt `markedContent`');
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

/** This folder holds the character maps of fonts that are not embedded, and the widths of the standard fonts. */
const files = path.dirname(createRequire(import.meta.url).resolve('pdfjs-dist/package.json'));

let engine: Promise<Engine> | undefined;

export async function loadPdfEngine(): Promise<Engine> {
  engine ??= loadEngine();
  return engine;
}

/**
 * @param bytes the file; the caller can no longer use them afterwards
 * @param warned receives the warnings of pdf.js, until another document is opened
 * @throws the error that pdf.js throws for an unreadable file
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
    fontExtraProperties: true, // loads the properties of fonts that contain the codes of letters and the length of codes
    useSystemFonts: false,
    useWasm: false,
  }).promise;
}
