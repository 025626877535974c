/** Validates an e-mail's content. A draft may have problems, but the service sends no e-mail that has a problem (CAMP-4). */
import { LRUCache } from 'lru-cache';
import type { MailPictureProblem } from '../../../entities/media/values.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { contentRules, type EmailBlock, type EmailContent } from './email-content.ts';
import { isTooDeep, linksIn, parseMarkdown } from './markdown.ts';
import { parseTemplate } from './variables.policy.ts';

export interface ContentProblem {
  /** The JSON path of the problem, such as `$.blocks[2].url`. */
  path: string;
  code: ContentProblemCode;
  message: string;
}

export type ContentProblemCode =
  | 'missing_field'
  | 'field_of_another_kind'
  | 'too_long'
  | 'line_break'
  | 'unknown_variable'
  | 'unclosed_variable'
  | 'invalid_url'
  | 'invalid_address'
  | 'unknown_media'
  | MailPictureProblem
  | 'nested_too_deep';

type TextField = Exclude<keyof EmailBlock, 'kind' | 'level'>;

/** The fields of each kind of block, and whether each field is required. */
const fieldsOf: Readonly<
  Record<EmailBlock['kind'], Readonly<Partial<Record<TextField | 'level', 'required' | 'optional'>>>>
> = {
  heading: { text: 'required', level: 'optional' },
  text: { text: 'required' },
  image: { media_id: 'required', alt: 'optional', url: 'optional' },
  button: { text: 'required', url: 'required' },
  divider: {},
};

/** Further problems are only counted, because a response with all of them could have many megabytes. */
const describedProblems = 100;

/** The problems that are described, and the number of all problems. */
export interface FoundProblems<Problem> {
  /** The first problems. */
  problems: Problem[];
  count: number;
}

/** @returns the first problems, and the number of all problems */
export function firstOf<Problem>(all: Iterable<Problem>): FoundProblems<Problem> {
  const problems: Problem[] = [];
  let count = 0;
  for (const problem of all) {
    count++;
    if (problems.length < describedProblems) problems.push(problem);
  }
  return { problems, count };
}

/** The known facts about the images of an e-mail. */
interface KnownImages {
  isImage: (mediaId: Id) => boolean;
  /** Why e-mails cannot show an image, by id. */
  imageProblems?: Readonly<Record<Id, MailPictureProblem>> | undefined;
}

/**
 * @param context.path the JSON path of the content in the checked document @returns all problems, in the order of the content
 */
export function contentProblems(
  content: Partial<EmailContent>,
  context: { path?: string } & KnownImages,
): ContentProblem[] {
  return [...eachProblem(content, context)];
}

/** Yields the problems of {@link contentProblems} one by one, because an e-mail may have hundreds of thousands of problems. */
export function* eachProblem(
  content: Partial<EmailContent>,
  { path = '$', ...images }: { path?: string } & KnownImages,
): Generator<ContentProblem> {
  const { subject, preheader, reply_to: replyTo, blocks = [] } = content;
  if (isBlank(subject)) yield missing(`${path}.subject`, 'subject');
  else yield* lineProblems(`${path}.subject`, subject);
  if (preheader !== undefined) yield* lineProblems(`${path}.preheader`, preheader);
  if (replyTo !== undefined) yield* addressProblems(`${path}.reply_to`, replyTo);
  if (blocks.length === 0) yield missing(`${path}.blocks`, 'block');
  if (blocks.length > contentRules.blocks)
    yield { path: `${path}.blocks`, code: 'too_long', message: `An e-mail has at most ${contentRules.blocks} blocks.` };
  for (const [index, block] of blocks.entries()) yield* blockProblems(`${path}.blocks[${index}]`, block, images);
}

function* blockProblems(path: string, block: EmailBlock, images: KnownImages): Generator<ContentProblem> {
  const fields = fieldsOf[block.kind];
  for (const field of ['text', 'level', 'url', 'media_id', 'alt'] as const) {
    const at = `${path}.${field}`;
    const need = fields[field];
    const value = block[field];
    if (need === undefined) {
      if (value !== undefined)
        yield { path: at, code: 'field_of_another_kind', message: `A ${block.kind} has no ${field}.` };
    } else if (typeof value !== 'number' && isBlank(value)) {
      if (need === 'required') yield missing(at, field);
    } else if (typeof value === 'string') {
      yield* fieldProblems(at, block.kind, field as TextField, value, images);
    }
  }
}

function* fieldProblems(
  path: string,
  kind: EmailBlock['kind'],
  field: TextField,
  value: string,
  images: KnownImages,
): Generator<ContentProblem> {
  switch (field) {
    case 'url':
      yield* urlProblems(path, value);
      return;
    case 'media_id':
      yield* imageProblem(path, value, images);
      return;
    case 'alt':
      yield* textProblems(path, value);
      return;
    case 'text': {
      const problems = textProblems(path, value);
      yield* problems;
      if (kind !== 'text' || problems.length > 0) return;
      const { tooDeep, links } = readProse(value);
      if (tooDeep)
        yield { path, code: 'nested_too_deep', message: 'Lists are nested too deep. Use fewer lists within lists.' };
      else for (const href of links) yield* urlProblems(path, href);
    }
  }
}

const imageMessages: Readonly<Record<MailPictureProblem, string>> = {
  image_unreadable:
    'No picture for e-mails can be made of this image: it is damaged, has no size, or is an animated AVIF. Use a PNG, JPEG, GIF or WEBP.',
  image_too_large: 'The image has more than 50 megapixels. Use a smaller image.',
  image_too_heavy: 'The picture for e-mails would have more than 5 MB. Use an image with fewer pixels, or a JPEG.',
};

function imageProblem(path: string, mediaId: Id, { isImage, imageProblems = {} }: KnownImages): ContentProblem[] {
  if (!isImage(mediaId))
    return [{ path, code: 'unknown_media', message: 'There is no ready image with this id in the library.' }];
  const code = imageProblems[mediaId];
  return code === undefined ? [] : [{ path, code, message: imageMessages[code] }];
}

const textProblems = (path: string, text: string): ContentProblem[] => [
  ...tooLong(path, text),
  ...variableProblems(path, text),
];

interface ReadProse {
  tooDeep: boolean;
  links: readonly string[];
}

/**
 * The maximum size of the cache of parsed texts, in characters. Each read of a draft needs the parsed texts again, and parsing the largest
 * texts takes 0.15 s.
 */
const cacheCharacters = 10_000_000;
const parsedTexts = new LRUCache<string, ReadProse>({
  maxSize: cacheCharacters,
  sizeCalculation: ({ links }, text) => text.length + links.join('').length,
});

/**
 * @param text a Markdown text whose variables have no problems
 * @returns whether the text's lists are nested too deep, and the text's links
 */
function readProse(text: string): ReadProse {
  const cached = parsedTexts.get(text);
  if (cached) return cached;
  const prose = parseMarkdown(shortVariables(text));
  const facts = isTooDeep(prose) ? { tooDeep: true, links: [] } : { tooDeep: false, links: linksIn(prose) };
  parsedTexts.set(text, facts);
  return facts;
}

/**
 * Removes the fallbacks of variables, which may contain spaces. The Markdown parser must see each variable as one word, as in the compiled
 * text.
 */
const shortVariables = (text: string) =>
  parseTemplate(text)
    .parts.map((part) => (typeof part === 'string' ? part : `{{${part.variable}}}`))
    .join('');

const isBlank = (value: string | undefined): value is undefined => value === undefined || value.trim() === '';

const missing = (path: string, what: string): ContentProblem => ({
  path,
  code: 'missing_field',
  message: `The ${what.replace('_', ' ')} is missing.`,
});

const tooLong = (path: string, text: string, characters: number = contentRules.blockCharacters): ContentProblem[] =>
  Array.from(text).length <= characters
    ? []
    : [{ path, code: 'too_long', message: `At most ${characters} characters may stand here.` }];

const variableProblems = (path: string, text: string): ContentProblem[] =>
  parseTemplate(text).problems.map((problem) => ({ path, ...problem }));

/** A text that becomes a mail header must have only one line. */
const lineProblems = (path: string, text: string): ContentProblem[] => [
  ...(/\p{Cc}/u.test(text) ? [{ path, code: 'line_break' as const, message: 'Only one line may stand here.' }] : []),
  ...tooLong(path, text, contentRules.lineCharacters),
  ...variableProblems(path, text),
];

const mailbox = /^[^\s\p{Cc}@<>(),;:\\"[\]]+@[^\s\p{Cc}@<>(),;:\\"[\].]+(?:\.[^\s\p{Cc}@<>(),;:\\"[\].]+)+$/u;

/** Accepts only a single e-mail address without a name, because any further text could add a recipient or a header to the mail. */
function addressProblems(path: string, address: string): ContentProblem[] {
  return address.length <= 254 && mailbox.test(address)
    ? []
    : [{ path, code: 'invalid_address', message: 'This is not an e-mail address.' }];
}

/**
 * Accepts http, https and mailto. Variables are allowed only after the host, because a recipient's name must not decide the host of a
 * link.
 */
function urlProblems(path: string, url: string): ContentProblem[] {
  const { parts, problems } = parseTemplate(url);
  if (problems.length > 0) return problems.map((problem) => ({ path, ...problem }));
  const [first = ''] = parts;
  const wrong: ContentProblem = {
    path,
    code: 'invalid_url',
    message: 'A link is an address with http://, https:// or mailto:.',
  };
  if (url.length > contentRules.urlCharacters || typeof first !== 'string') return [wrong];
  if (parts.length > 1 && !/^https?:\/\/[^/?#]+[/?#]/i.test(first)) return [wrong];
  const sample = parts.map((part) => (typeof part === 'string' ? part : 'x')).join('');
  const parsed = /[\s\p{Cc}]/u.test(sample) ? null : URL.parse(sample);
  return parsed !== null &&
    ['http:', 'https:', 'mailto:'].includes(parsed.protocol) &&
    (parsed.protocol === 'mailto:' || parsed.hostname !== '')
    ? []
    : [wrong];
}
