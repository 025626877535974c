/** Reads an Office Open XML file: its parts and the relations between them. */
import {
  contentTypesPart,
  mainPartOf,
  packageRelations,
  relationsIn,
  type Relation,
} from '../../../../platform/core/text/office-parts.ts';
import { MalformedXml, parseXml, type XmlElement } from '../../../../platform/core/text/xml.ts';
import type { Archive } from '../archive.ts';
import type { SectionBuilder } from '../sections.ts';
import { BrokenPart, Unreadable } from '../unreadable.ts';

/** The usual names of the main part of a file. */
const usualParts = ['word/document.xml', 'ppt/presentation.xml'];

export interface MainPart {
  name: string;
  root: XmlElement;
}

export class OfficeFile {
  readonly #archive: Archive;
  readonly #into: SectionBuilder;

  /** @param into receives a warning for each unreadable part */
  constructor(archive: Archive, into: SectionBuilder) {
    this.#archive = archive;
    this.#into = into;
  }

  /** @throws Unreadable unsupported_type (the file is not an office file), too_large, file_corrupt */
  async main(): Promise<MainPart> {
    const has = (name: string) => this.#archive.has(name);
    const parts = {
      relations: await this.#archive.text(packageRelations),
      contentTypes: await this.#archive.text(contentTypesPart),
    };
    const name = mainPartOf(parts, has)?.name ?? usualParts.find(has);
    if (name === undefined) throw new Unreadable('unsupported_type');
    return { name, root: await this.part(name) };
  }

  /** @throws BrokenPart when the part is broken or absent; Unreadable too_large, file_corrupt */
  async part(name: string): Promise<XmlElement> {
    const text = await this.#archive.text(name);
    if (text === undefined) throw new BrokenPart();
    return this.#parsed(text);
  }

  /**
   * Reads a part that the main part does not need.
   * @returns undefined if the part cannot be read, with a warning
   * @throws Unreadable too_large, file_corrupt
   */
  async partBeside(name: string): Promise<XmlElement | undefined> {
    try {
      return await this.part(name);
    } catch (error) {
      if (!(error instanceof BrokenPart)) throw error;
      this.#into.warn('part_skipped');
      return undefined;
    }
  }

  /** @throws BrokenPart */
  async relationsOf(part: string): Promise<Relation[]> {
    const folder = folderOf(part);
    const xml = await this.#archive.text(`${folder}_rels/${part.slice(folder.length)}.rels`);
    return xml === undefined ? [] : relationsIn(this.#parsed(xml), folder);
  }

  /**
   * Finds the part of the given kind, such as `styles`, that belongs to the main part. If the file has no relations, the function looks for
   * the usual name of the part.
   * @returns undefined if the part is absent or cannot be read
   */
  async onlyPart(main: string, relations: readonly Relation[], type: string): Promise<XmlElement | undefined> {
    const usual = `${folderOf(main)}${type}.xml`;
    const name = relations.find((relation) => relation.type === type)?.target ?? usual;
    return name === usual && !this.#archive.has(name) ? undefined : this.partBeside(name);
  }

  #parsed(xml: string): XmlElement {
    try {
      return parseXml(xml);
    } catch (error) {
      throw error instanceof MalformedXml ? new BrokenPart() : error;
    }
  }
}

function folderOf(part: string): string {
  return part.slice(0, part.lastIndexOf('/') + 1);
}
