/**
 * Compiles an e-mail's content into HTML and plain text, once for all recipients. Slots mark the values that differ between recipients.
 * They replace the variables before the MJML compiler runs, because it rearranges text in double braces.
 */
import { escapeHtml } from '../../../platform/core/text/text.policy.ts';
import { noBranding, type Branding } from '../../branding/branding.ts';
import { footerHtml, footerText, logoHtml } from '../../branding/html.ts';
import { dirAttribute, type Direction } from '../../language/bidi.policy.ts';
import { languageOf } from '../../language/languages.ts';
import { wordingIn, type Wording } from '../../language/wording.ts';
import type { EmailBlock, EmailContent } from './email-content.ts';
import { frameMjml, mjmlToHtml } from './frame.ts';
import { parseMarkdown, type Inline, type Prose } from './markdown.ts';
import { parseTemplate, type Variable } from './variables.policy.ts';

/** A part of the e-mail that differs between recipients. */
export type Slot =
  | (Variable & { kind: 'variable' | 'url_variable' })
  /** A link with one target for all recipients, by its index in {@link CompiledEmail.links}. */
  | { kind: 'link'; link: number }
  /** An image of the library, by its index in {@link CompiledEmail.images}. */
  | { kind: 'image'; image: number }
  | { kind: 'unsubscribe' }
  /** The tracking picture, which reports that the mail was opened. The slot is empty if openings are not tracked. */
  | { kind: 'pixel' };

export type Piece = string | Slot;

/** A compiled e-mail, stored as JSON in the campaign or the automation's version. */
export interface CompiledEmail {
  subject: Piece[];
  html: Piece[];
  text: Piece[];
  /** Absent in an e-mail that an old release compiled. Such an e-mail is written from left to right. */
  direction?: Direction;
  /** The addresses, without duplicates. */
  links: string[];
  /** The ids of library images, without duplicates. */
  images: string[];
}

/** The sender and the language of an e-mail, for the footer. */
export interface Letterhead {
  /** BCP 47 tag of the club's language. */
  language: string;
  clubName: string;
  /** The postal address, with line breaks. */
  postalAddress: string;
  /** The club's branding; the standard branding if absent. */
  branding?: Branding;
}

/** In pixels, by id. An image without a known width is as wide as the column. */
export type ImageWidths = Readonly<Record<string, number>>;

/** The mark of a slot in an unfinished text: a number between two characters that are removed from authors' texts. */
const slotStart = '\uE000';
const slotEnd = '\uE001';
const digit = 0xe100;
const base = 4_096;
const slotPattern = /\uE000([\uE100-\uF0FF])([\uE100-\uF0FF])\uE001/g;
const privateUse = /[\uE000-\uF8FF]/g;

class Slots {
  readonly links: string[] = [];
  readonly images: string[] = [];
  private readonly slots: Slot[] = [];
  private readonly wording: Wording;

  constructor(wording: Wording) {
    this.wording = wording;
  }

  /** @returns the text with its variables as slots */
  template(text: string, kind: 'variable' | 'url_variable' = 'variable'): string {
    return parseTemplate(text, this.wording.say('mail.student_without_name'))
      .parts.map((part) => (typeof part === 'string' ? part : this.add({ kind, ...part })))
      .join('');
  }

  /** @param url may already contain slots, because variables are replaced before links are parsed */
  link(url: string): string {
    const parts = this.pieces(this.template(url, 'url_variable'));
    const [address] = parts;
    if (parts.length === 1 && typeof address === 'string' && /^https?:/i.test(address))
      return this.add({ kind: 'link', link: numberOf(this.links, address) });
    return parts
      .map((part) =>
        typeof part !== 'string' && part.kind === 'variable' ? { ...part, kind: 'url_variable' as const } : part,
      )
      .map((part) => (typeof part === 'string' ? part : this.add(part)))
      .join('');
  }

  image(mediaId: string): string {
    return this.add({ kind: 'image', image: numberOf(this.images, mediaId) });
  }

  add(slot: Slot): string {
    const number = this.slots.push(slot) - 1;
    return `${slotStart}${String.fromCharCode(digit + Math.floor(number / base), digit + (number % base))}${slotEnd}`;
  }

  /** @returns a finished text, split at its slots */
  pieces(text: string): Piece[] {
    const pieces: Piece[] = [];
    let from = 0;
    for (const match of text.matchAll(slotPattern)) {
      const [whole, high = '', low = ''] = match;
      const slot = this.slots[(high.charCodeAt(0) - digit) * base + low.charCodeAt(0) - digit];
      if (!slot) throw new Error('The MJML compiler changed the number of a slot');
      pieces.push(text.slice(from, match.index), slot);
      from = match.index + whole.length;
    }
    pieces.push(text.slice(from));
    return pieces.filter((piece) => piece !== '');
  }
}

function numberOf(list: string[], value: string): number {
  const at = list.indexOf(value);
  return at === -1 ? list.push(value) - 1 : at;
}

/**
 * @param content the content, which must have no problems (`contentProblems`)
 * @returns the e-mail that {@link renderEmail} fills in for each recipient
 */
export async function compileEmail(
  content: EmailContent,
  letterhead: Letterhead,
  widths: ImageWidths = {},
): Promise<CompiledEmail> {
  const wording = wordingIn(languageOf(letterhead.language));
  const slots = new Slots(wording);
  const [own, footer] = [withoutPrivateUse(content), withoutPrivateUse(letterhead)];
  const html = await mjmlToHtml(mjmlOf(own, { footer, wording }, slots, widths));
  return {
    subject: slots.pieces(slots.template(own.subject)),
    html: slots.pieces(html),
    text: slots.pieces(textOf(own, { footer, wording }, slots)),
    direction: wording.direction,
    links: slots.links,
    images: slots.images,
  };
}

/** Removes the characters that mark slots. They have no meaning in authors' texts. */
const withoutPrivateUse = <Value>(value: Value): Value =>
  JSON.parse(JSON.stringify(value), (_key, each) => (typeof each === 'string' ? each.replace(privateUse, '') : each));

const headingSizes = [28, 24, 20, 18, 16, 16] as const;

function mjmlOf(
  { preheader, blocks }: EmailContent,
  { footer: { clubName, postalAddress, branding = noBranding }, wording }: { footer: Letterhead; wording: Wording },
  slots: Slots,
  widths: ImageWidths,
): string {
  const { language, direction } = wording;
  const address = postalAddress
    .split(/\r?\n/)
    .map((line) => escapeHtml(line))
    .join('<br>');
  // The parts are created in the order of the document, because each new slot gets the next number.
  const preview = preheader === undefined ? undefined : escapeHtml(slots.template(preheader));
  const body = blocks.map((block) => blockMjml(block, { slots, widths, direction })).join('\n');
  const footer = `<p${dirAttribute(clubName + address, direction)}>${escapeHtml(clubName)}<br>${address}</p>
<p><a href="${slots.add({ kind: 'unsubscribe' })}">${escapeHtml(wording.say('footer.unsubscribe'))}</a></p>${footerHtml(branding, direction)}`;
  const { accentColor } = branding;
  const logo = logoHtml(branding, clubName);
  return frameMjml({
    accentColor,
    logo,
    language,
    direction,
    preheader: preview,
    body,
    footer,
    end: slots.add({ kind: 'pixel' }),
  });
}

interface Place {
  slots: Slots;
  widths: ImageWidths;
  direction: Direction;
}

function blockMjml(block: EmailBlock, { slots, widths, direction }: Place): string {
  const text = block.text ?? '';
  switch (block.kind) {
    case 'heading': {
      const level = block.level ?? 2;
      return `<mj-text font-size="${headingSizes[level - 1]}px" line-height="1.25"><h${level}${dirAttribute(textWithoutVariables(text), direction)} style="margin:0;font-size:inherit">${escapeHtml(slots.template(text))}</h${level}></mj-text>`;
    }
    case 'text':
      return `<mj-text>${proseHtml(parseMarkdown(slots.template(text)), slots, direction)}</mj-text>`;
    case 'image': {
      const width = widths[block.media_id ?? ''];
      // The image gets its own width, so that mail programs do not enlarge it. The compiler limits the width to the width of the column.
      return `<mj-image src="${slots.image(block.media_id ?? '')}"${width === undefined ? '' : ` width="${width}px"`} alt="${escapeHtml(slots.template(block.alt ?? ''))}"${block.url === undefined ? '' : ` href="${escapeHtml(slots.link(block.url))}"`} />`;
    }
    case 'button':
      return `<mj-button href="${escapeHtml(slots.link(block.url ?? ''))}">${escapeHtml(slots.template(text))}</mj-button>`;
    case 'divider':
      return '<mj-divider />';
  }
}

/** @param direction the direction of the document; a block with the opposite direction gets a `dir` attribute */
function proseHtml(prose: readonly Prose[], slots: Slots, direction: Direction): string {
  return prose.map((block) => blockHtml(block, slots, dirAttribute(wordsOf([block]), direction))).join('');
}

/** Items get no `dir` attribute of their own, so that bullets and numbers stay aligned. */
const itemHtml = (item: readonly Prose[], slots: Slots): string =>
  item.map((block) => blockHtml(block, slots, '')).join('');

function blockHtml(block: Prose, slots: Slots, dir: string): string {
  if (block.kind === 'paragraph') return `<p${dir}>${inlineHtml(block.children, slots)}</p>`;
  const tag = block.start === null ? 'ul' : 'ol';
  const start = block.start === null || block.start === 1 ? '' : ` start="${block.start}"`;
  return `<${tag}${start}${dir}>${block.items.map((item) => `<li>${itemHtml(item, slots)}</li>`).join('')}</${tag}>`;
}

/** Returns the words of a text without the variables, because variables do not show the language of the text. */
function wordsOf(prose: readonly Prose[]): string {
  const inlineWords = (inlines: readonly Inline[]): string =>
    inlines
      .map((inline) =>
        inline.kind === 'text' ? inline.text : inline.kind === 'break' ? ' ' : inlineWords(inline.children),
      )
      .join('');
  return prose
    .map((block) => (block.kind === 'paragraph' ? inlineWords(block.children) : block.items.map(wordsOf).join(' ')))
    .join(' ')
    .replace(slotPattern, '');
}

const textWithoutVariables = (text: string) =>
  parseTemplate(text)
    .parts.filter((part) => typeof part === 'string')
    .join(' ');

function inlineHtml(inlines: readonly Inline[], slots: Slots): string {
  return inlines
    .map((inline): string => {
      switch (inline.kind) {
        case 'text':
          return escapeHtml(inline.text);
        case 'break':
          return '<br>';
        case 'strong':
          return `<strong>${inlineHtml(inline.children, slots)}</strong>`;
        case 'emphasis':
          return `<em>${inlineHtml(inline.children, slots)}</em>`;
        case 'link':
          return `<a href="${escapeHtml(slots.link(inline.href))}">${inlineHtml(inline.children, slots)}</a>`;
      }
    })
    .join('');
}

function textOf(
  { blocks }: EmailContent,
  { footer: { clubName, postalAddress, branding = noBranding }, wording }: { footer: Letterhead; wording: Wording },
  slots: Slots,
): string {
  const own = footerText(branding)
    .map((part) => `${part}\n\n`)
    .join('');
  const ending = `-- \n${clubName}\n${postalAddress}\n\n${own}${wording.say('footer.unsubscribe')}: ${slots.add({ kind: 'unsubscribe' })}`;
  return `${[...blocks.map((block) => blockText(block, slots)), ending].filter((part) => part !== '').join('\n\n')}\n`;
}

function blockText(block: EmailBlock, slots: Slots): string {
  switch (block.kind) {
    case 'heading':
      return slots.template(block.text ?? '');
    case 'text':
      return proseText(parseMarkdown(slots.template(block.text ?? '')), slots);
    case 'image': {
      const words = slots.template(block.alt ?? '');
      return [words === '' ? '' : `[${words}]`, block.url === undefined ? '' : slots.link(block.url)]
        .filter(Boolean)
        .join(' ');
    }
    case 'button':
      return `${slots.template(block.text ?? '')}: ${slots.link(block.url ?? '')}`;
    case 'divider':
      return '----------';
  }
}

function proseText(prose: readonly Prose[], slots: Slots, indent = ''): string {
  return prose
    .map((block) => {
      if (block.kind === 'paragraph') return inlineText(block.children, slots);
      return block.items
        .map((item, index) => {
          const mark = block.start === null ? '- ' : `${block.start + index}. `;
          return `${mark}${proseText(item, slots, ' '.repeat(mark.length)).replaceAll('\n', `\n${' '.repeat(mark.length)}`)}`;
        })
        .join('\n');
    })
    .join(indent === '' ? '\n\n' : '\n');
}

function inlineText(inlines: readonly Inline[], slots: Slots): string {
  return inlines
    .map((inline): string => {
      if (inline.kind === 'text') return inline.text;
      if (inline.kind === 'break') return '\n';
      const words = inlineText(inline.children, slots);
      if (inline.kind !== 'link') return words;
      return words === inline.href ? slots.link(inline.href) : `${words} (${slots.link(inline.href)})`;
    })
    .join('');
}
