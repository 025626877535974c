/** Subsets a font to the glyphs of a file and fixes its weight, with HarfBuzz's own subsetter in WebAssembly. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { LoadedFont } from './fonts.ts';

/** WebAssembly is part of the platform, but Node's types do not declare it. */
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object, imports: object) => { exports: unknown };
};

/** The functions of hb-subset in use. Both pointers and numbers have the type `number`. */
interface SubsetModule {
  memory: { buffer: ArrayBuffer };
  _initialize(): void;
  malloc(bytes: number): number;
  free(pointer: number): void;
  hb_blob_create(data: number, length: number, mode: number, userData: number, destroy: number): number;
  hb_blob_destroy(blob: number): void;
  hb_blob_get_data(blob: number, length: number): number;
  hb_blob_get_length(blob: number): number;
  hb_face_create(blob: number, index: number): number;
  hb_face_destroy(face: number): void;
  hb_face_reference_blob(face: number): number;
  hb_set_add(set: number, value: number): void;
  hb_subset_input_create_or_fail(): number;
  hb_subset_input_destroy(input: number): void;
  hb_subset_input_glyph_set(input: number): number;
  hb_subset_input_set(input: number, kind: number): number;
  hb_subset_input_set_flags(input: number, flags: number): void;
  hb_subset_input_pin_axis_location(input: number, face: number, axis: number, value: number): number;
  hb_subset_or_fail(face: number, input: number): number;
}

let started: SubsetModule | undefined;

function subsetModule(): SubsetModule {
  if (started) return started;
  const file = createRequire(import.meta.url).resolve('harfbuzzjs/dist/harfbuzz-subset.wasm');
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(file)), {});
  started = exports as SubsetModule;
  started._initialize();
  return started;
}

/** Constants of hb.h: HB_MEMORY_MODE_WRITABLE, HB_SUBSET_FLAGS_NO_HINTING and _RETAIN_GIDS, HB_SUBSET_SETS_DROP_TABLE_TAG. */
const writable = 2;
const noHinting = 0x1;
const retainGlyphIds = 0x2;
const droppedTables = 3;
/** A PDF does not need these tables, because it has the names, widths and order of the glyphs itself. */
const unneeded = [
  'GSUB',
  'GPOS',
  'GDEF',
  'BASE',
  'STAT',
  'OS/2',
  'name',
  'cmap',
  'post',
  'DSIG',
  'meta',
  'vhea',
  'vmtx',
  'VORG',
];

/**
 * @param glyphs the numbers of the glyphs that the subset keeps. The glyphs keep these numbers
 * @returns a TrueType font of one weight
 * @throws Error if the font cannot be subset
 */
export function subsetFont({ bytes, file }: LoadedFont, glyphs: Iterable<number>): Uint8Array {
  const module = subsetModule();
  const data = module.malloc(bytes.length);
  new Uint8Array(module.memory.buffer).set(bytes, data);
  const blob = module.hb_blob_create(data, bytes.length, writable, 0, 0);
  const face = module.hb_face_create(blob, 0);
  const input = module.hb_subset_input_create_or_fail();
  try {
    module.hb_subset_input_set_flags(input, noHinting | retainGlyphIds);
    const glyphSet = module.hb_subset_input_glyph_set(input);
    for (const glyph of glyphs) module.hb_set_add(glyphSet, glyph);
    const dropped = module.hb_subset_input_set(input, droppedTables);
    for (const table of unneeded) module.hb_set_add(dropped, tagOf(table));
    if (file.weight !== undefined) module.hb_subset_input_pin_axis_location(input, face, tagOf('wght'), file.weight);
    const subset = module.hb_subset_or_fail(face, input);
    if (subset === 0) throw new Error(`The font ${file.path} cannot be subset`);
    return bytesOf(module, subset);
  } finally {
    module.hb_subset_input_destroy(input);
    module.hb_face_destroy(face);
    module.hb_blob_destroy(blob);
    module.free(data);
  }
}

function bytesOf(module: SubsetModule, face: number): Uint8Array {
  const blob = module.hb_face_reference_blob(face);
  const start = module.hb_blob_get_data(blob, 0);
  const bytes = new Uint8Array(module.memory.buffer).slice(start, start + module.hb_blob_get_length(blob));
  module.hb_blob_destroy(blob);
  module.hb_face_destroy(face);
  return bytes;
}

/** @param tag four characters */
function tagOf(tag: string): number {
  return Buffer.from(tag.padEnd(4), 'latin1').readUInt32BE();
}
