/** Reads fields of a Word file. A field has an invisible instruction before its separator, and a visible result after the separator. */
import { childOf, childrenOf, type XmlElement } from '../../../../../platform/core/text/xml.ts';
import { isOn, numberOf } from './docx-styles.ts';

export class DocxFields {
  /**
   * The fields that have not ended yet, with the outermost field first. A value is true if the result of the field has begun. Only the
   * result is visible.
   */
  #open: boolean[] = [];

  isShown(): boolean {
    return this.#open.every((hasResult) => hasResult);
  }

  /**
   * @param mark `w:fldChar`
   * @returns the words that the field itself shows, such as the state of a check box or the chosen entry of a list
   */
  read(mark: XmlElement): string {
    const type = mark.attributes['w:fldCharType'];
    if (type === 'separate' && this.#open.length > 0) this.#open[this.#open.length - 1] = true;
    if (type === 'end') this.#open.pop();
    if (type !== 'begin') return '';
    const formState = this.isShown() ? formText(childOf(mark, 'w:ffData')) : '';
    this.#open.push(false);
    return formState;
  }

  /**
   * Closes each field whose instruction has no end in this paragraph. Otherwise one incorrect field would hide the rest of the document.
   */
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
