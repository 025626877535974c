/** Reads footnotes and endnotes of a Word file, and computes their marks, which the file does not store. */
import { childOf, childrenOf, type XmlElement } from '../../../../../platform/core/text/xml.ts';
import { numberOf, valueOf } from './docx-styles.ts';
import { formatNumber } from '../number-formats.policy.ts';

export type NoteKind = 'footnote' | 'endnote';

export interface Note {
  kind: NoteKind;
  /** Empty if the text of the note already begins with the mark. */
  mark: string;
  contents: XmlElement;
}

interface Marks {
  format: string;
  start: number;
  restartsInSections: boolean;
  count: number;
}

const usualFormats = { footnote: 'decimal', endnote: 'lowerRoman' } as const;

export class Notes {
  readonly #contents: Record<NoteKind, Map<string, XmlElement>>;
  readonly #marks: Record<NoteKind, Marks>;
  #referred: Note[] = [];

  /** @param sections the last `w:sectPr` of the document, which contains the format of the marks */
  constructor(parts: Record<NoteKind | 'settings', XmlElement | undefined>, sections: XmlElement | undefined) {
    const contentsOf = (kind: NoteKind) =>
      new Map([...childrenOf(parts[kind], `w:${kind}`)].map((note) => [note.attributes['w:id'] ?? '', note]));
    const marksOf = (kind: NoteKind): Marks => {
      const places = [childOf(sections, `w:${kind}Pr`), childOf(parts.settings, `w:${kind}Pr`)];
      const first = <T>(read: (place: XmlElement | undefined) => T | undefined) =>
        places.map((place) => read(place)).find((found) => found !== undefined);
      return {
        format: first((place) => valueOf(place, 'w:numFmt')) ?? usualFormats[kind],
        start: first((place) => numberOf(place, 'w:numStart')) ?? 1,
        restartsInSections: first((place) => valueOf(place, 'w:numRestart')) === 'eachSect',
        count: 0,
      };
    };
    this.#contents = { footnote: contentsOf('footnote'), endnote: contentsOf('endnote') };
    this.#marks = { footnote: marksOf('footnote'), endnote: marksOf('endnote') };
  }

  /**
   * @param reference `w:footnoteReference` or `w:endnoteReference`
   * @returns the mark of the note; undefined if the text after the reference has it already
   */
  refer(kind: NoteKind, reference: XmlElement, hasOwnMark: boolean): string | undefined {
    const id = reference.attributes['w:id'] ?? '';
    const contents = this.#contents[kind].get(id);
    const mark = hasOwnMark ? undefined : this.#nextMark(kind);
    if (contents) this.#referred.push({ kind, mark: mark ?? '', contents });
    this.#contents[kind].delete(id); // each note is read only once
    return mark;
  }

  #nextMark(kind: NoteKind): string {
    const marks = this.#marks[kind];
    marks.count += 1;
    return formatNumber(marks.start + marks.count - 1, marks.format);
  }

  endSection(): void {
    for (const marks of Object.values(this.#marks)) if (marks.restartsInSections) marks.count = 0;
  }

  /** @returns the notes that the text has referred to since the last call, each once */
  take(kind: NoteKind): Note[] {
    const pendingNotes = this.#referred.filter((note) => note.kind === kind);
    this.#referred = this.#referred.filter((note) => note.kind !== kind);
    return pendingNotes;
  }
}
