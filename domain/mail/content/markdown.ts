/**
 * The Markdown of text blocks: paragraphs, emphasis, lists and links. All other constructs, including HTML, are shown as they were typed.
 */
import MarkdownIt, { type Token } from 'markdown-it';

const deepestLists = 10;
/** The parser omits deeper content. A list counts as two levels (list and item), so even the deepest allowed lists are read. */
const maxNesting = 2 * deepestLists + 4;
const markdown = new MarkdownIt('zero', { maxNesting }).enable([
  'list',
  'newline',
  'escape',
  'emphasis',
  'link',
  'image',
  'autolink',
]);
// The parser must not change or refuse addresses. They may contain variables, and `contentProblems` validates them.
markdown.validateLink = () => true;
markdown.normalizeLink = (url) => url;
markdown.normalizeLinkText = (text) => text;

export type Inline =
  | { kind: 'text'; text: string }
  | { kind: 'break' }
  | { kind: 'strong' | 'emphasis'; children: Inline[] }
  | { kind: 'link'; href: string; children: Inline[] };

export type Prose =
  | { kind: 'paragraph'; children: Inline[] }
  | { kind: 'list'; start: number | null; items: Prose[][] };

/**
 * @returns the structure of the Markdown, in time that grows linearly with the text. An unsupported construct appears as its source text.
 */
export function parseMarkdown(text: string): Prose[] {
  return proseOf(nested(markdown.parse(text, {})));
}

/** An opening token, with the tokens up to its closing token. */
interface Node {
  token: Token;
  children: Node[];
}

/** @returns a tree, built from a flat list of opening and closing tokens */
function nested(tokens: readonly Token[]): Node[] {
  const top: Node[] = [];
  const open = [top];
  for (const token of tokens) {
    if (token.nesting < 0) {
      open.pop();
      continue;
    }
    const node: Node = { token, children: [] };
    open.at(-1)?.push(node);
    if (token.nesting > 0) open.push(node.children);
  }
  return top;
}

function proseOf(nodes: readonly Node[]): Prose[] {
  return nodes.map(({ token, children }): Prose => {
    if (token.type === 'paragraph_open') {
      const inline = children.flatMap((child) => child.token.children ?? []);
      return { kind: 'paragraph', children: nested(inline).map(inlineOf) };
    }
    const start = token.type === 'ordered_list_open' ? Number(token.attrGet('start') ?? 1) : null;
    return { kind: 'list', start, items: children.map((item) => proseOf(item.children)) };
  });
}

function inlineOf({ token, children }: Node): Inline {
  switch (token.type) {
    case 'strong_open':
      return { kind: 'strong', children: children.map(inlineOf) };
    case 'em_open':
      return { kind: 'emphasis', children: children.map(inlineOf) };
    case 'link_open':
      return { kind: 'link', href: String(token.attrGet('href') ?? ''), children: children.map(inlineOf) };
    case 'hardbreak':
      return { kind: 'break' };
    case 'image':
      return { kind: 'text', text: `![${token.content}](${token.attrGet('src') ?? ''})` };
    case 'softbreak':
      return { kind: 'text', text: '\n' };
    default:
      return { kind: 'text', text: token.content };
  }
}

/** @returns whether the parser may have omitted lists that are nested too deep */
export function isTooDeep(prose: readonly Prose[], levelsLeft: number = deepestLists): boolean {
  return prose.some(
    (block) =>
      block.kind === 'list' && (levelsLeft === 0 || block.items.some((item) => isTooDeep(item, levelsLeft - 1))),
  );
}

/** @returns the addresses of all links, in the order of the text */
export function linksIn(prose: readonly Prose[]): string[] {
  const ofInline = (inline: Inline): string[] => {
    if (inline.kind === 'link') return [inline.href, ...inline.children.flatMap(ofInline)];
    return 'children' in inline ? inline.children.flatMap(ofInline) : [];
  };
  return prose.flatMap((block) =>
    block.kind === 'list' ? block.items.flatMap(linksIn) : block.children.flatMap(ofInline),
  );
}
