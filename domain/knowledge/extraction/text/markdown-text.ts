/** Reads Markdown through its HTML form: CommonMark with tables, LaTeX formulas and marks of notes. */
import MarkdownIt, { type StateBlock, type StateInline } from 'markdown-it';
import { readHtml } from '../html/html-text.ts';
import { elementNamesFor } from '../html/html-names.ts';
import type { SectionBuilder } from '../sections.ts';
import { readingTheFile } from '../unreadable.ts';

/** No real text is nested so deep. The parser drops deeper content. */
const maxNesting = 10_000;
const markdown = new MarkdownIt('default', { html: true, maxNesting });
const { escapeHtml } = markdown.utils;

interface TextEnv {
  elementNames: ReadonlySet<string>;
  /**
   * For each sign that ends a formula, the last line up to which a search has not found the sign. So these lines are not searched for the
   * sign again.
   */
  searchedTo: Map<string, number>;
}
const envOf = (state: { env: unknown }) => state.env as TextEnv;

/** @throws Unreadable too_large, file_corrupt */
export async function readMarkdown(text: string, into: SectionBuilder): Promise<void> {
  const { title, body } = withoutFrontMatter(text);
  if (title !== '' && !/^#\s/m.test(body)) into.heading(1, title);
  const env: TextEnv = { elementNames: elementNamesFor(body), searchedTo: new Map() };
  const html = await readingTheFile(() => markdown.render(body, { ...env }));
  readHtml(html, into);
}

/** Matches a line of front matter, in YAML or TOML. */
const lineOfFrontMatter = /^(?:$|[ \t#}\]]|- |\[|[\w"'.-]+[ \t]*[:=])/;

/** Separates the front matter (metadata between two lines of `---` or `+++`) from the text. Readers see only its title. */
function withoutFrontMatter(text: string): { title: string; body: string } {
  const lines = /^(?:---|\+\+\+)[ \t]*$/m.test(text.slice(0, 10)) ? text.split('\n') : [];
  const [sign = ''] = (lines[0] ?? '').split(/\s/);
  const end = lines.findIndex(
    (line, at) => at > 0 && (line.trimEnd() === sign || (line.trimEnd() === '...' && sign === '---')),
  );
  const matter = lines.slice(1, Math.max(end, 1)).map((line) => line.trimEnd());
  if (!/^[-+]/.test(sign) || matter.length === 0 || !matter.every((line) => lineOfFrontMatter.test(line)))
    return { title: '', body: text };
  const [, title = ''] = /^title[ \t]*[:=](.*)$/m.exec(matter.join('\n')) ?? [];
  return { title: title.trim().replace(/^(["'])(.*)\1$/, '$2'), body: lines.slice(end + 1).join('\n') };
}

function ruleOfBlocks(name: string) {
  const { ruler } = new MarkdownIt('default', { html: true }).block;
  ruler.enableOnly([name]);
  const [rule] = ruler.getRules('');
  if (!rule) throw new Error(`markdown-it has no rule ${name}`);
  return rule;
}

const htmlBlock = ruleOfBlocks('html_block');
const reference = ruleOfBlocks('reference');

const lineAt = ({ src, bMarks, tShift, eMarks }: StateBlock, line: number): string =>
  src.slice((bMarks[line] ?? 0) + (tShift[line] ?? 0), eMarks[line]);

// Words in angle brackets that name no HTML element do not begin an HTML block.
markdown.block.ruler.at(
  'html_block',
  (state, line, lastLine, silent) =>
    beginsWithElement(lineAt(state, line), envOf(state).elementNames) && htmlBlock(state, line, lastLine, silent),
  { alt: ['paragraph', 'reference', 'blockquote'] },
);
// `[^1]: …` is a note with visible words, not the address of a link.
markdown.block.ruler.at(
  'reference',
  (state, line, lastLine, silent) => !lineAt(state, line).startsWith('[^') && reference(state, line, lastLine, silent),
);

function beginsWithElement(line: string, names: ReadonlySet<string>): boolean {
  const [, name] = /^<\/?([a-z][^\s/>]*)/i.exec(line) ?? [];
  return name === undefined ? !line.startsWith('<?') : names.has(name.toLowerCase());
}

/** A tag whose name is not an HTML element is read as plain words. */
function withoutOtherTags(content: string, names: ReadonlySet<string>): string {
  return content.replace(/<(?:\?|\/?([a-z][^\s/>]*))/gi, (tag, name: string | undefined) =>
    name !== undefined && names.has(name.toLowerCase()) ? tag : `&lt;${tag.slice(1)}`,
  );
}

markdown.renderer.rules['html_block'] = markdown.renderer.rules['html_inline'] = (tokens, at, _options, env) =>
  withoutOtherTags(tokens[at]?.content ?? '', envOf({ env }).elementNames);

// In HTML, a picture with an empty alternative text is a decoration. In Markdown, an empty alternative text means that the author wrote
// none. So the HTML of such a picture must have no attribute `alt`.
const image = markdown.renderer.rules['image'];
markdown.renderer.rules['image'] = (tokens, at, options, env, renderer) =>
  tokens[at]?.content.trim() === '' ? '<img>' : (image?.(tokens, at, options, env, renderer) ?? '');

/** Formulas keep their source form, because characters such as `*` in a formula do not mean emphasis. */
markdown.inline.ruler.before('escape', 'formula', (state, silent) => {
  const [begin = '', end = ''] = signsAt(state.src, state.pos);
  if (begin === '') return false;
  const stop = endOfFormula(state, begin, end);
  if (stop < 0) return false;
  if (!silent) state.push('formula', '', 0).content = state.src.slice(state.pos, stop);
  state.pos = stop;
  return true;
});

const formulaSigns = [
  ['$$', '$$'],
  ['$', '$'],
  [String.raw`\(`, String.raw`\)`],
  [String.raw`\[`, String.raw`\]`],
] as const;

function signsAt(text: string, at: number): readonly [string, string] | [] {
  return formulaSigns.find(([begin]) => text.startsWith(begin, at)) ?? [];
}

/**
 * A `$` must touch the formula, and no digit may follow the second `$`. So "$5 or 10 $" is not a formula.
 * @returns -1 if the formula has no end
 */
function endOfFormula(state: StateInline, begin: string, end: string): number {
  const { src, pos } = state;
  const failedPositions = unended.get(state) ?? new Map<string, number>();
  if ((failedPositions.get(end) ?? Infinity) <= pos || (begin === '$' && /\s/.test(src[pos + 1] ?? ' '))) return -1;
  let at = src.indexOf(end, pos + begin.length + 1);
  if (begin === '$')
    while (at >= 0 && (/[\s\\]/.test(src[at - 1] ?? '') || /\d/.test(src[at + 1] ?? ''))) at = src.indexOf(end, at + 1);
  if (at >= 0) return at + end.length;
  unended.set(state, failedPositions.set(end, pos));
  return -1;
}

/**
 * For each sign that ends a formula, a position after which the sign does not occur. So the text after this position is not searched for
 * the sign again.
 */
const unended = new WeakMap<StateInline, Map<string, number>>();

/** Reads a formula that has several lines. */
markdown.block.ruler.before(
  'fence',
  'formula',
  (state, line, lastLine, silent) => {
    const first = lineAt(state, line);
    const [begin = '', end = ''] = signsAt(first, 0);
    const { searchedTo } = envOf(state);
    if (begin.length < 2 || begin === String.raw`\(` || first.includes(end, 2) || (searchedTo.get(end) ?? -1) > line)
      return false;
    let last = line + 1;
    while (last < lastLine && !state.isEmpty(last) && !lineAt(state, last).includes(end)) last += 1;
    if (last >= lastLine || state.isEmpty(last) || !lineAt(state, last).trimEnd().endsWith(end)) {
      searchedTo.set(end, last);
      return false;
    }
    if (silent) return true;
    state.push('formula_block', '', 0).content = state.getLines(line, last + 1, state.blkIndent, false);
    state.line = last + 1;
    return true;
  },
  { alt: ['paragraph', 'reference', 'blockquote', 'list'] },
);

// Lessons store the character `<` as `&lt;`, even in formulas (DEC-148).
const formula = (text: string): string => escapeHtml(text.replaceAll('&lt;', '<'));
markdown.renderer.rules['formula'] = (tokens, at) => formula(tokens[at]?.content ?? '');
markdown.renderer.rules['formula_block'] = (tokens, at) => `<p>${formula(tokens[at]?.content ?? '')}</p>\n`;

/** Reads the mark of a note, such as `[^1]`. */
markdown.inline.ruler.before('link', 'note_mark', (state, silent) => {
  noteMark.lastIndex = state.pos;
  const [whole = '', label = ''] = noteMark.exec(state.src) ?? [];
  if (whole === '') return false;
  if (!silent) state.push('note_mark', '', 0).content = label;
  state.pos += whole.length;
  return true;
});
const noteMark = /\[\^([^\s[\]^]{1,200})\]/y;
markdown.renderer.rules['note_mark'] = (tokens, at) =>
  `<sup role="doc-noteref">${escapeHtml(tokens[at]?.content ?? '')}</sup>`;

const unspaced =
  /[\p{Script=Han}\p{Script=Hira}\p{Script=Kana}\p{Script=Bopo}\p{Script=Hang}\u3000-\u303f\uff01-\uff60]/u;

/** Allows emphasis to begin and end beside a full stop in scripts without spaces: `**重要。**次`. */
markdown.inline.State = class extends markdown.inline.State {
  override scanDelims(start: number, canSplitWord: boolean) {
    const delimiters = super.scanDelims(start, canSplitWord);
    const [before = ' ', after = ' '] = [this.src[start - 1], this.src[start + delimiters.length]];
    if (!canSplitWord) return delimiters;
    if (unspaced.test(before) && !/\s/.test(after)) delimiters.can_open = true;
    if (unspaced.test(after) && !/\s/.test(before)) delimiters.can_close = true;
    return delimiters;
  }
};
