/** Fields of a Word file: between its beginning and its separator stands an instruction, and then the result, which people see. */
import { childOf, childrenOf, type XmlElement } from '../../../../platform/core/xml.ts';
import { isOn, numberOf } from './docx-styles.ts';

export class DocxFields {
  /** For each that is open, the outermost first: whether its result has begun. */
  #open: boolean[] = [];

  /** Whether what comes now is shown. */
  isShown(): boolean {
    return this.#open.every((hasResult) => hasResult);
  }

  /** @param mark `w:fldChar` @returns what the field shows by itself: the state of a form's box or choice */
  read(mark: XmlElement): string {
    const type = mark.attributes['w:fldCharType'];
    if (type === 'separate' && this.#open.length > 0) this.#open[this.#open.length - 1] = true;
    if (type === 'end') this.#open.pop();
    if (type !== 'begin') return '';
    const shown = this.isShown() ? formText(childOf(mark, 'w:ffData')) : '';
    this.#open.push(false);
    return shown;
  }

  /** An instruction that has no end in its paragraph is a fault of the writer: the rest of the document is no part of it. */
  endParagraph(): void {
    this.#open = this.#open.filter((hasResult) => hasResult);
  }
}

function formText(data: XmlElement | undefined): string {
  const box = childOf(data, 'w:checkBox');
  if (box) return isOn(childOf(box, 'w:checked') ?? childOf(box, 'w:default')) ? '☒' : '☐';
  const choice = childOf(data, 'w:ddList');
  const at = numberOf(choice, 'w:result') ?? numberOf(choice, 'w:default') ?? 0;
  return [...childrenOf(choice, 'w:listEntry')][at]?.attributes['w:val'] ?? '';
}
