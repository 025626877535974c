/** The Markdown of text blocks: paragraphs, emphasis, lists and links. Everything else, HTML too, is shown as it was typed. */
import { Marked, type Token, type Tokens } from 'marked';

/** Returning nothing turns a rule of Markdown off. */
const off = () => undefined;
const markdown = new Marked({
  gfm: false,
  tokenizer: {
    heading: off,
    lheading: off,
    hr: off,
    fences: off,
    code: off,
    blockquote: off,
    table: off,
    html: off,
    tag: off,
    def: off,
    reflink: off,
    codespan: off,
    del: off,
    url: off,
  },
});

export type Inline =
  | { kind: 'text'; text: string }
  | { kind: 'break' }
  | { kind: 'strong' | 'emphasis'; children: Inline[] }
  | { kind: 'link'; href: string; children: Inline[] };

export type Prose =
  | { kind: 'paragraph'; children: Inline[] }
  | { kind: 'list'; start: number | null; items: Prose[][] };

/** @returns what the Markdown says; a construct outside the five stays as its source */
export function parseMarkdown(text: string): Prose[] {
  return markdown.lexer(text).flatMap(proseOf);
}

function proseOf(token: Token): Prose[] {
  switch (token.type) {
    case 'space':
      return [];
    case 'list': {
      const list = token as Tokens.List;
      return [
        {
          kind: 'list',
          start: list.ordered && list.start !== '' ? list.start : null,
          items: list.items.map((item) => item.tokens.flatMap(proseOf)),
        },
      ];
    }
    case 'paragraph':
    case 'text':
      return [{ kind: 'paragraph', children: inlinesOf((token as Tokens.Paragraph).tokens ?? [], token.raw) }];
    default:
      return [{ kind: 'paragraph', children: [{ kind: 'text', text: token.raw }] }];
  }
}

function inlinesOf(tokens: readonly Token[], source: string): Inline[] {
  if (tokens.length === 0) return [{ kind: 'text', text: source }];
  return tokens.map((token): Inline => {
    switch (token.type) {
      case 'strong':
        return { kind: 'strong', children: inlinesOf((token as Tokens.Strong).tokens, '') };
      case 'em':
        return { kind: 'emphasis', children: inlinesOf((token as Tokens.Em).tokens, '') };
      case 'br':
        return { kind: 'break' };
      case 'link': {
        const link = token as Tokens.Link;
        return { kind: 'link', href: link.href, children: inlinesOf(link.tokens, link.text) };
      }
      case 'text':
      case 'escape':
        return { kind: 'text', text: (token as Tokens.Text).text };
      default:
        return { kind: 'text', text: token.raw };
    }
  });
}

/** @returns the addresses of all links, in their order */
export function linksIn(prose: readonly Prose[]): string[] {
  const ofInline = (inline: Inline): string[] => {
    if (inline.kind === 'link') return [inline.href, ...inline.children.flatMap(ofInline)];
    return 'children' in inline ? inline.children.flatMap(ofInline) : [];
  };
  return prose.flatMap((block) =>
    block.kind === 'list' ? block.items.flatMap(linksIn) : block.children.flatMap(ofInline),
  );
}
