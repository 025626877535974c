/**
 * The gold set: small files of every kind, each with the text that a person reads in it. See
 * test/domain/knowledge/extraction/gold/README.md.
 */
import { readFile, readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { SourceWarningCode } from '../../entities/knowledge/values.ts';

export const goldKinds = ['docx', 'pptx', 'pdf', 'html', 'markdown', 'lesson', 'plain', 'csv'] as const;
export type GoldKind = (typeof goldKinds)[number];

/** A paragraph, a heading, a row of a table (cells between ` | `), or an item of a list with its number. */
export interface GoldBlock {
  text: string;
  /** The block may come at any position, such as a footnote or a box beside the text. */
  anywhere?: true;
  /** Only OCR can read these words. A reader without OCR must return this warning. */
  unreadable?: SourceWarningCode;
  /** The page of an unreadable block, from 1. */
  page?: number;
}

/** A value, the header of its column, and another cell of its row. An empty value means an empty cell. */
export interface GoldCell {
  column: string;
  row: string;
  value: string;
}

export interface Gold {
  file: string;
  kind: GoldKind;
  /** The announced media type. */
  says: string | null;
  language: string;
  writer: string;
  /** The script that creates the file. */
  made: string;
  /** The difficult features that the file tests, such as empty cells. */
  covers: readonly string[];
  /** The blocks in reading order. Empty if the file must be refused. */
  text: readonly GoldBlock[];
  /** Words that must stay next to each other, mostly with superscripts or subscripts. */
  numbers: readonly string[];
  cells: readonly GoldCell[];
  /** Headers and merged cells, which a reader may repeat. */
  repeatable: readonly string[];
  /** A person does not see these words. A reader may return them or not. */
  hidden: readonly string[];
  /** A reader must not return these words. */
  absent: readonly string[];
  /** Other spellings of words that are also right. */
  same: Readonly<Record<string, readonly string[]>>;
  /** The reader must refuse the file with one of these codes. */
  refused: readonly string[];
}

const folder = new URL('../../test/domain/knowledge/extraction/gold/', import.meta.url);

/** @returns the gold texts in the order of the file names @throws Error if a description lacks its file */
export async function readGoldSet(): Promise<Gold[]> {
  const names = (await readdir(new URL('files/', folder))).toSorted();
  const descriptions = (await readdir(new URL('texts/', folder))).toSorted();
  const set: Gold[] = [];
  for (const name of descriptions) {
    const gold = JSON.parse(await readFile(new URL(`texts/${name}`, folder), 'utf8')) as Gold;
    if (name !== `${gold.file}.json` || !names.includes(gold.file)) throw new Error(`texts/${name} lacks its file`);
    set.push(gold);
  }
  if (names.length !== set.length) throw new Error(`${names.length} files have ${set.length} descriptions`);
  return set;
}

export async function readGoldFile({ file }: Gold): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await readFile(new URL(`files/${file}`, folder)));
}

/** The known faults of each file, in the words of `judge`. */
export type KnownFaults = Readonly<Record<string, readonly string[]>>;

export const knownFaultsFile = fileURLToPath(new URL('known-faults.json', folder));

export async function readKnownFaults(): Promise<KnownFaults> {
  return JSON.parse(await readFile(knownFaultsFile, 'utf8')) as KnownFaults;
}
