/** Renders the copy of a compiled e-mail for one recipient. */
import { escapeHtml } from '../../../platform/core/text/text.policy.ts';
import { isolated } from '../../language/bidi.policy.ts';
import type { Wording } from '../../language/wording.ts';
import type { CompiledEmail, Piece, Slot } from './compile.ts';
import { parseTemplate, type Variable, type VariableName } from './variables.policy.ts';

export interface RecipientCopy {
  /** The author's fallback replaces a value that is absent or empty. */
  values: Readonly<Partial<Record<VariableName, string>>>;
  /** Returns the address of a link by its index. */
  linkUrl: (link: number) => string;
  imageUrl: (image: number) => string;
  unsubscribeUrl: string;
  /** Absent if openings are not tracked. */
  pixelUrl?: string;
}

/** @returns the subject, HTML and plain text, with every value escaped for its format */
export function renderEmail(
  email: CompiledEmail,
  copy: RecipientCopy,
): { subject: string; html: string; text: string } {
  const { direction = 'ltr' } = email;
  return {
    subject: fill(email.subject, copy, {
      ...plain,
      value: (text) => text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' '),
    }).trim(),
    html: fill(email.html, copy, { value: (text) => escapeHtml(isolated(text, direction)), address: escapeHtml }),
    text: fill(email.text, copy, plain),
  };
}

/** @returns the text of one line for one recipient, such as the preheader. The text is not escaped */
export function renderLine(line: string, values: RecipientCopy['values'], wording: Wording): string {
  return parseTemplate(line, wording.say('mail.student_without_name'))
    .parts.map((part) => (typeof part === 'string' ? part : valueOf(part, values)))
    .join('');
}

interface Escaping {
  value: (text: string) => string;
  address: (url: string) => string;
}

const plain: Escaping = { value: (text) => text, address: (url) => url };

function fill(pieces: readonly Piece[], copy: RecipientCopy, escaping: Escaping): string {
  return pieces.map((piece) => (typeof piece === 'string' ? piece : slotText(piece, copy, escaping))).join('');
}

function slotText(slot: Slot, copy: RecipientCopy, { value, address }: Escaping): string {
  switch (slot.kind) {
    case 'variable':
      return value(valueOf(slot, copy.values));
    case 'url_variable':
      return encodeURIComponent(valueOf(slot, copy.values).toWellFormed());
    case 'link':
      return address(copy.linkUrl(slot.link));
    case 'image':
      return address(copy.imageUrl(slot.image));
    case 'unsubscribe':
      return address(copy.unsubscribeUrl);
    case 'pixel':
      return copy.pixelUrl === undefined
        ? ''
        : `<img src="${address(copy.pixelUrl)}" width="1" height="1" alt="" style="display:block">`;
  }
}

const valueOf = ({ variable, fallback }: Variable, values: RecipientCopy['values']) => {
  const value = values[variable]?.replaceAll(/\p{Cc}+/gu, ' ').trim();
  return value === undefined || value === '' ? fallback : value;
};
